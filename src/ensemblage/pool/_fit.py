"""How a pool is fitted: out-of-fold predictions, fusion, refit on all rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from ensemblage._core import (
    Fold,
    deal_folds,
    draw_seeds,
    expect,
    expect_fitted,
    run_tasks,
    set_module,
    take_rows,
)
from ensemblage.fusion import Fusion, LogLinearPool, cross_val_combine, resolve_fusion
from ensemblage.pool._boosting import Boosting
from ensemblage.pool._leaderboard import (
    HeldOutRecord,
    Leaderboard,
    NumberStanding,
    Standing,
    keep_held_out,
)
from ensemblage.pool._member_spec import (
    NUMBERS,
    TABLE,
    Attempt,
    HeldOut,
    PoolRows,
    Recipe,
    calibrated,
    thin,
)
from ensemblage.pool._members import RECIPES
from ensemblage.pool._targets import FLOOR, mean_loss

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]


class Failure(NamedTuple):
    """Why a member could not be fitted."""

    reason: str


class Candidate(NamedTuple):
    """A member before the fusion: how it is made, its seed, and what it says of unseen rows."""

    recipe: Recipe
    seed: int
    held: HeldOut


class LeftOut(NamedTuple):
    """A member that is not in the pool, and why: the end of a sentence."""

    name: str
    reason: str


def try_part(recipe: Recipe, rows: PoolRows, part: Fold | None, seed: int) -> Attempt | Failure:
    """Try a recipe on a part of the rows; an error is a result like any other."""
    try:
        with threadpool_limits(1), _quietly():
            return recipe.attempt(rows, part, seed)
    except Exception as error:
        return Failure(_first_line(error))


def refit_member(recipe: Recipe, rows: PoolRows, held: HeldOut, seed: int) -> Any:
    """Fit a chosen member to all rows; give a failure in its place if it cannot."""
    try:
        with threadpool_limits(1), _quietly():
            return recipe.refit(rows, held, seed)
    except Exception as error:
        return Failure(_first_line(error))


def hold_out_members(
    recipes: Sequence[Recipe], rows: PoolRows, seeds: Sequence[int], n_jobs: int | None
) -> tuple[list[Candidate], list[LeftOut]]:
    """Try all members on the shared folds; give those that can be pooled, and the others."""
    tasks, owners = [], []
    for number, (recipe, seed) in enumerate(zip(recipes, seeds, strict=True)):
        parts = recipe.parts(rows)
        for part, part_seed in zip(parts, draw_seeds(seed, len(parts)), strict=True):
            tasks.append((recipe, recipe.view(rows), part, part_seed))
            owners.append(number)
    results = run_tasks(try_part, tasks, n_jobs)
    candidates, left_out = [], []
    for number, (recipe, seed) in enumerate(zip(recipes, seeds, strict=True)):
        own = [each for each, owner in zip(results, owners, strict=True) if owner == number]
        failed = [each for each in own if isinstance(each, Failure)]
        if failed:
            left_out.append(LeftOut(recipe.name, f"it could not be fitted ({failed[0].reason})"))
            continue
        candidates.append(Candidate(recipe, seed, recipe.choose(rows, own)))
    return candidates, left_out


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


class _quietly(warnings.catch_warnings):  # noqa: N801  reads as a verb
    """Keep to itself what members warn of while they are tried: most of them are not taken."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", RuntimeWarning)


MANY_ROWS = 10_000
"""Beyond, rows are held out once, and boosting comes first."""
PILOT_ROWS = 300
WARM_UP_ROWS = 30
LEAST_SHARE = 0.05
"""With less of the budget nothing new is begun."""
FEWEST_ROWS = 500
"""A member on fewer rows is not worth its time."""
KEPT_BACK = 0.12
"""Share of the budget for the fusion, and for what nobody foresees."""
BOOSTING_SHARE = 0.7
"""Share of the budget for boosting many rows; where it is used up, nothing is fitted again."""


class Clock:
    """Seconds that are left of a budget; fits to all rows that are still to come are set aside."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.perf_counter() + seconds
        self._set_aside = KEPT_BACK * seconds

    def left(self) -> float:
        """Give the seconds for what else is to be tried."""
        return self._end - time.perf_counter() - self._set_aside

    def set_aside(self, seconds: float) -> None:
        """Count on a fit to all rows at the end."""
        self._set_aside += seconds


class Limits(NamedTuple):
    """What there is to spend."""

    clock: Clock
    n_jobs: int | None

    @property
    def workers(self) -> int:
        """Fits at the same time."""
        return int(effective_n_jobs(self.n_jobs))


class Cost(NamedTuple):
    """Seconds that a member is expected to take: on the folds, and for the fit to all rows."""

    trials: float
    refit: float


def hold_out_in_time(
    recipes: Sequence[Recipe], rows: PoolRows, seeds: Sequence[int], limits: Limits
) -> tuple[list[Candidate], list[LeftOut]]:
    """Try members by what they are worth per second, as far as time allows.

    What is found is in the order of the recipes. One member there is in any case, however short
    the time.
    """
    found: dict[int, Candidate] = {}
    left_out: dict[int, LeftOut] = {}
    order = _by_value(recipes, rows)
    for number in order:
        held = _try_in_time(recipes[number], rows, seeds[number], limits)
        (left_out if isinstance(held, LeftOut) else found)[number] = held  # type: ignore[assignment]
    for number in () if found else order:
        least = recipes[number].limited(FEWEST_ROWS)
        held_out, _ = hold_out_members([least], rows, [seeds[number]], limits.n_jobs)
        if held_out:
            return held_out, [each for k, each in left_out.items() if k != number]
    return [found[number] for number in sorted(found)], [*left_out.values()]


def _by_value(recipes: Sequence[Recipe], rows: PoolRows) -> list[int]:
    """Order members: a user's own, then by value per second; at many rows boosting before all."""
    ranks = {name: rank for rank, name in enumerate(RECIPES)}

    def rank(number: int) -> int:
        recipe = recipes[number]
        return -2 if _comes_first(recipe, rows) else ranks.get(recipe.name, -1)

    return sorted(range(len(recipes)), key=rank)


def _comes_first(recipe: Recipe, rows: PoolRows) -> bool:
    return isinstance(recipe, Boosting) and len(rows.folds) == 1 and len(rows.y) > MANY_ROWS


def _try_in_time(recipe: Recipe, rows: PoolRows, seed: int, limits: Limits) -> Candidate | LeftOut:
    if isinstance(recipe, Boosting) and _comes_first(recipe, rows):
        return _boost(recipe, rows, seed, limits)
    planned = plan(recipe, rows, seed, limits)
    if isinstance(planned, LeftOut):
        return planned
    shorter, cost = planned
    held, failed = hold_out_members([shorter], rows, [seed], limits.n_jobs)
    limits.clock.set_aside(cost.refit)
    return held[0] if held else failed[0]


def _boost(recipe: Boosting, rows: PoolRows, seed: int, limits: Limits) -> Candidate | LeftOut:
    """Grow boosting to its end, if there is time for it; fit it to all rows if there is more."""
    clock = limits.clock
    seconds = min(BOOSTING_SHARE * clock.seconds, clock.left())
    held, failed = hold_out_members(
        [recipe.in_time(seconds, limits.workers)], rows, [seed], limits.n_jobs
    )
    if not held:
        return failed[0]
    grown = held[0].held
    again = grown.needed * grown.seconds * len(rows.y) / len(rows.folds[0].train)
    # one member is soon fused: what is kept back for that may be spent on all rows
    if grown.model is not None and again > clock.left() + KEPT_BACK * clock.seconds:
        return held[0]
    clock.set_aside(again)
    return held[0]._replace(held=grown._replace(model=None))


def plan(
    recipe: Recipe, rows: PoolRows, seed: int, limits: Limits
) -> tuple[Recipe, Cost] | LeftOut:
    """Find how many rows a member can learn in the time that is left, by a trial on few."""
    if limits.clock.left() <= LEAST_SHARE * limits.clock.seconds:
        return LeftOut(recipe.name, "the time was up")
    train, test = rows.folds[0]
    small, times = recipe.sample()
    n_pilot = min(PILOT_ROWS, len(train))
    pilot = Fold(train, thin(test, rows.y, PILOT_ROWS, seed))
    # what is compiled or imported at the first call says nothing of the next
    try_part(small.limited(WARM_UP_ROWS), recipe.view(rows), Fold(train, test[:1]), seed)
    start = time.perf_counter()
    tried = try_part(small.limited(n_pilot), recipe.view(rows), pilot, seed)
    if isinstance(tried, Failure):
        return LeftOut(recipe.name, f"it could not be fitted ({tried.reason})")
    rate = times * (time.perf_counter() - start) / recipe.effort(n_pilot)
    limit, room = min(len(rows.y), recipe.most_rows or len(rows.y)), limits.clock.left()
    shorter, cost = recipe, expected_cost(recipe, rows, rate, limits.workers)
    least = sum(cost)
    while sum(cost) > room:
        limit //= 2
        if limit < FEWEST_ROWS:
            reason = f"it needs about {least:.1f} s, and {max(room, 0):.1f} s are left"
            return LeftOut(recipe.name, reason)
        shorter = recipe.limited(limit)
        cost = expected_cost(shorter, rows, rate, limits.workers)
        least = min(least, sum(cost))
    return shorter, cost


def expected_cost(recipe: Recipe, rows: PoolRows, rate: float, workers: int) -> Cost:
    """Tell how long a member takes, if a fit takes ``rate`` times its effort."""
    whole = rate * recipe.effort(len(rows.y))
    parts = recipe.parts(rows)
    if parts[0] is None:
        return Cost(whole, 0.0)
    folds = [rate * recipe.effort(len(fold.train)) for fold in rows.folds]
    rounds = -(-len(folds) // workers)
    return Cost(max(folds) * rounds, whole / len(recipe.candidates))


N_FOLDS = 5
TIMED_ROWS = 100
TIMED_CALLS = 3


class Verdict(NamedTuple):
    """Candidates, the fusion that they taught, and their outputs on rows that they had not seen.

    ``outputs`` are (n_members, n_known, n_outputs), of the rows ``known``.
    """

    candidates: list[Candidate]
    fusion: Fusion
    outputs: Doubles
    known: Indices

    @property
    def counting(self) -> Indices:
        """Members that have a say."""
        if isinstance(self.fusion, LogLinearPool):
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
    if fusion == "log_linear" and not numbers:
        return LogLinearPool(
            bias_penalty=None if grouped else 10.0, temperature_scaling=True, prior_weight=FLOOR
        )
    resolved: Fusion = clone(resolve_fusion(fusion, offered=frozenset(), numeric=numbers))
    return resolved


def fuse(candidates: list[Candidate], rows: PoolRows, fusion: Fusion) -> Verdict:
    """Let a fusion learn from what members say of rows that they have not seen."""
    known = rows.held_out
    outputs = np.stack([each.held.outputs[known] for each in candidates])
    fitted = clone(fusion).fit(
        outputs,
        rows.y[known],
        numeric=not rows.target.is_classification,
        sample_weight=rows.weights_at(known),
    )
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
        rows.target.outputs(model, asked, response)
        best = min(best, time.perf_counter() - start)
    return float(best * TIMED_ROWS / min(TIMED_ROWS, len(rows.y)))


def cross_fitted(fusion: Fusion, verdict: Verdict, rows: PoolRows) -> Doubles:
    """Fuse held-out outputs by fusions that have not seen the row either, (n_known, n_outputs)."""
    y = rows.y[verdict.known]
    folds = folds_of_known(verdict.known, rows)
    weights = rows.weights_at(verdict.known)
    numeric = not rows.target.is_classification
    fused = cross_val_combine(
        clone(fusion), verdict.outputs, y, folds, numeric=numeric, sample_weight=weights
    )
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
    verdict: Verdict, members: list[Member], rows: PoolRows, pooled: Doubles
) -> list[Standing | NumberStanding]:
    """Write the lines of the leaderboard, the pool first; ``pooled`` are its held-out outputs."""
    known, fitted = verdict.known, {each.name: each for each in members}
    y, weights, target = rows.y[known], rows.weights_at(known), rows.target
    line = Standing if target.is_classification else NumberStanding
    shares = verdict.fusion.member_weights(len(verdict.candidates))
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


class PoolPlan(NamedTuple):
    """What a pool is to be made of: recipes with their seeds, a fusion, and the time for it."""

    recipes: Sequence[Recipe]
    seeds: Sequence[int]
    fusion: Fusion
    clock: Clock | None
    n_jobs: int | None


class Learned(NamedTuple):
    """A pool that has learned to fuse its members, those who count fitted to all rows."""

    verdict: Verdict
    members: list[Member]
    left_out: list[LeftOut]

    @property
    def fusion(self) -> Fusion:
        """Give the fusion of those who count."""
        fusion = self.verdict.fusion
        if isinstance(fusion, LogLinearPool):
            return fusion.subset(self.verdict.counting)
        return fusion


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class FittedPool:
    """Members that have a say, what each is asked for and sees of a row, and how they fuse."""

    names: list[str]
    estimators: list[Any]
    responses: list[str]
    views: list[str]
    fusion: Fusion
    leaderboard: Leaderboard
    held_out: HeldOutRecord

    def _check_fitted(self) -> None:
        """Refuse members that do not belong together."""
        rules = {"estimators": "list (members)", "names": "words (members)"}
        expect_fitted(self, {**rules, "responses": "words (members)", "views": "words (members)"})
        whole = all(hasattr(each, "get_params") for each in self.estimators)
        expect(whole and hasattr(self.fusion, "combine"), "a member or the fusion is none")
        expect(set(self.views) <= {NUMBERS, TABLE}, "views are not known")
        expect(isinstance(self.leaderboard, Leaderboard), "leaderboard is none")


def learn_pool(plan: PoolPlan, rows: PoolRows) -> Learned:
    """Try the members, learn to fuse them, and fit those who count; who fails is left out."""
    _, _, fusion, clock, n_jobs = plan
    recipes, seeds, too_wide = _narrow_enough(plan, rows)
    if clock is None:
        candidates, left_out = hold_out_members(recipes, rows, seeds, n_jobs)
    else:
        candidates, left_out = hold_out_in_time(recipes, rows, seeds, Limits(clock, n_jobs))
    left_out = too_wide + left_out
    verdict = fuse(_any(candidates, left_out), rows, fusion)
    members, failed = fit_counting(verdict, rows, n_jobs)
    while failed:
        left_out += failed.values()
        verdict = fuse(_any(verdict.without([*failed]), left_out), rows, fusion)
        members, failed = fit_counting(verdict, rows, n_jobs)
    return Learned(verdict, members, left_out)


def _narrow_enough(plan: PoolPlan, rows: PoolRows) -> tuple[list[Recipe], list[int], list[LeftOut]]:
    """Part the members that take so many columns, with their seeds, from those that do not."""
    members = list(zip(plan.recipes, plan.seeds, strict=True))
    left_out = [
        LeftOut(
            recipe.name,
            f"its time grows with the square of the columns, and there are more than "
            f"{recipe.most_columns}; name it in a list, pool=[...], to have it all the same",
        )
        for recipe, _ in members
        if recipe.too_wide(rows)
    ]
    kept = [each for each in members if not each[0].too_wide(rows)]
    return [recipe for recipe, _ in kept], [seed for _, seed in kept], left_out


def describe_pool(learned: Learned, rows: PoolRows, pooled: Doubles) -> FittedPool:
    """Keep the members that have a say; ``pooled`` are held-out outputs of the whole pool."""
    verdict, members, left_out = learned
    sentences = tuple(f"{each.name} is left out: {each.reason}." for each in left_out)
    return FittedPool(
        [each.name for each in members],
        [each.model for each in members],
        [each.response for each in members],
        [each.sees for each in members],
        learned.fusion,
        Leaderboard(tuple(standings(verdict, members, rows, pooled)), sentences),
        keep_held_out(verdict, pooled, rows),
    )


def _any(candidates: list[Candidate], left_out: list[LeftOut]) -> list[Candidate]:
    """Give the candidates back, or say why there are none."""
    if candidates:
        return candidates
    reasons = "; ".join(f"{each.name}: {each.reason}" for each in left_out)
    raise ValueError(f"No member of the pool could be fitted. {reasons}.")
