"""From members' held-out outputs to a pool: the fusion learns, those who count are fitted again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ensemblage.fusion import DensityPool, Fusion, LogPool, resolve_fusion, take_rows
from ensemblage.parallel import Fold, deal_folds, run_tasks
from ensemblage.pool._held_out import Candidate, Failure, LeftOut, refit_member
from ensemblage.pool._leaderboard import NumberStanding, Standing
from ensemblage.pool._pool_rows import Array, Indices, PoolRows
from ensemblage.pool._pool_targets import FLOOR, mean_loss
from ensemblage.pool._recipe import calibrated
from ensemblage.strata import fused_outputs

N_FOLDS = 5
TIMED_ROWS = 100
TIMED_CALLS = 3


class Verdict(NamedTuple):
    """Candidates, the fusion that they taught, and their outputs on rows that they had not seen.

    ``outputs`` are (n_members, n_known, n_outputs), of the rows ``known``.
    """

    candidates: list[Candidate]
    fusion: Fusion
    outputs: Array
    known: Indices

    @property
    def counting(self) -> Indices:
        """Members that have a say."""
        if isinstance(self.fusion, LogPool | DensityPool):
            return np.flatnonzero(self.fusion.weights_)
        return np.arange(len(self.candidates))

    def without(self, members: Sequence[int]) -> list[Candidate]:
        """Give the candidates but for some."""
        return [each for k, each in enumerate(self.candidates) if k not in members]


class Member(NamedTuple):
    """A fitted member: its name, how it is asked, and how long it took to fit and to ask.

    It sees the ``"table"``, or the ``"numbers"`` made of it.
    """

    name: str
    model: Any
    response: str
    sees: str
    fit_seconds: float
    predict_seconds: float  # for a hundred rows


def make_fusion(fusion: Any, *, grouped: bool, numbers: bool = False) -> Fusion:
    """Give the fusion by name; a log-linear pool with all its options.

    Class biases are left out where rows belong to groups: they do not hold for new ones.
    """
    if fusion == "logpool" and not numbers:
        return LogPool(bias_ridge=None if grouped else 10.0, tempered=True, floor=FLOOR)
    resolved: Fusion = clone(resolve_fusion(fusion, offered=frozenset(), numbers=numbers))
    return resolved


def fuse(candidates: list[Candidate], rows: PoolRows, fusion: Fusion) -> Verdict:
    """Let a fusion learn from what members say of rows that they have not seen."""
    known = rows.held_out
    outputs = np.stack([each.held.outputs[known] for each in candidates])
    fitted = clone(fusion).fit(outputs, rows.y[known], sample_weight=rows.weights_at(known))
    return Verdict(candidates, fitted, outputs, known)


def fit_counting(
    verdict: Verdict, rows: PoolRows, n_jobs: int | None
) -> tuple[list[Member], dict[int, LeftOut]]:
    """Fit the members that have a say to all rows; tell which cannot be, by their number."""
    counting = verdict.counting
    chosen = [verdict.candidates[k] for k in counting]
    tasks = [(each, each.recipe.view(rows), each.recipe.sees(rows)) for each in chosen]
    members, failed = [], {}
    for k, done in zip(counting, run_tasks(_fit_member, tasks, n_jobs), strict=True):
        if isinstance(done, Failure):
            name = verdict.candidates[k].recipe.name
            failed[int(k)] = LeftOut(name, f"it could not be fitted to all rows ({done.reason})")
        else:
            members.append(done)
    return members, failed


def _fit_member(candidate: Candidate, rows: PoolRows, sees: str) -> Member | Failure:
    recipe, seed, held = candidate
    start = time.perf_counter()
    model = refit_member(recipe, rows, held, seed)
    if isinstance(model, Failure):
        return model
    seconds = time.perf_counter() - start
    latency = _latency(model, rows, recipe.response)
    return Member(recipe.name, model, recipe.response, sees, seconds, latency)


def _latency(model: Any, rows: PoolRows, response: str) -> float:
    """Seconds for a hundred rows, the best of some calls: the first may have to compile."""
    asked = take_rows(rows.X, np.arange(len(rows.y))[:TIMED_ROWS])
    best = np.inf
    for _ in range(TIMED_CALLS):
        start = time.perf_counter()
        rows.target.ask(model, asked, response)
        best = min(best, time.perf_counter() - start)
    return float(best * TIMED_ROWS / min(TIMED_ROWS, len(rows.y)))


def cross_fitted(fusion: Fusion, verdict: Verdict, rows: PoolRows) -> Array:
    """Fuse held-out outputs by fusions that have not seen the row either, (n_known, n_outputs)."""
    y = rows.y[verdict.known]
    folds = folds_of_known(verdict.known, rows)
    weights = rows.weights_at(verdict.known)
    fused = fused_outputs(clone(fusion), verdict.outputs, y, folds, sample_weight=weights)
    lacking = np.isnan(fused).any(axis=1)
    if lacking.any():
        fused[lacking] = verdict.fusion.combine(verdict.outputs[:, lacking])
    return fused


def folds_of_known(known: Indices, rows: PoolRows) -> list[Fold]:
    """Restrict the shared folds to rows that are held out; where there is one fold, deal five."""
    if len(rows.folds) == 1:
        return deal_folds(rows.labels[known], N_FOLDS, np.random.default_rng(0))
    tests = [np.searchsorted(known, fold.test) for fold in rows.folds]
    every = np.arange(len(known))
    return [Fold(np.setdiff1d(every, test), test) for test in tests]


def standings(
    verdict: Verdict, members: list[Member], rows: PoolRows, pooled: Array
) -> list[Standing | NumberStanding]:
    """Write the lines of the leaderboard, the pool first; ``pooled`` are its held-out outputs."""
    known, fitted = verdict.known, {each.name: each for each in members}
    y, weights, target = rows.y[known], rows.weights_at(known), rows.target
    line = Standing if target.of_classes else NumberStanding
    shares = verdict.fusion.importance(len(verdict.candidates))
    lines = []
    for k, (recipe, _, held) in enumerate(verdict.candidates):
        alone, own = calibrated(held.outputs, rows, known), fitted.get(recipe.name)
        lines.append(
            line(
                recipe.name,
                recipe.place,
                mean_loss(target.row_losses(alone, y), weights),
                target.score(alone, y, weights),
                None if shares is None else float(shares[k]),
                held.seconds + (0.0 if own is None else own.fit_seconds),
                None if own is None else own.predict_seconds,
                min(len(rows.y), recipe.most_rows or len(rows.y)),
            )
        )
    everybody = line(
        "pool",
        "all",
        mean_loss(target.row_losses(pooled, y), weights),
        target.score(pooled, y, weights),
        1.0,
        sum(each.fit_seconds for each in lines),
        sum(each.predict_seconds or 0.0 for each in lines),
        len(rows.y),
    )
    return [everybody, *sorted(lines, key=lambda each: each.log_loss)]
