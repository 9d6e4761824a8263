"""What a pool would have said of each source's rows if it had never met the source."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ensemblage.messages import expect_array
from ensemblage.parallel import Fold, run_tasks
from ensemblage.pool._conformal import Codes, held_out_scores
from ensemblage.pool._fitted_pool import Learned
from ensemblage.pool._held_out import Candidate, Failure, try_part
from ensemblage.pool._pool_rows import Array, PoolRows
from ensemblage.pool._recipe import Recipe

MOST_GROUPS = 5
"""More sources than these are left out in groups."""


@dataclass(frozen=True)
class LeftOutScores:
    """Scores of rows whose source was left out, and its number; see ``_conformal``."""

    scores: Array
    sources: Codes
    weights: Array

    def __check_state__(self) -> None:
        """Refuse scores that are no shares."""
        expect_array(self, "scores", (None,), low=-1e-6, high=1 + 1e-6)
        expect_array(self, "sources", (len(self.scores),), "integer", low=0)
        expect_array(self, "weights", (len(self.scores),), low=0)


def leave_sources_out(
    learned: Learned, rows: PoolRows, codes: Codes, n_jobs: int | None
) -> LeftOutScores | None:
    """Fit the members that count without each group of sources; None where that is not possible.

    The fusion stays as it is: choosing by new sources is no better than by ordinary folds.
    """
    folds = source_groups(codes)
    chosen = [learned.verdict.candidates[k] for k in learned.verdict.counting]
    tasks = [_task(each, rows, fold) for each in chosen for fold in folds]
    tried = run_tasks(try_part, tasks, n_jobs)
    if not folds or any(isinstance(each, Failure) for each in tried):
        return None
    outputs, said = np.empty((len(chosen), len(rows.y), rows.n_outputs)), iter(tried)
    for own in outputs:
        for fold in folds:
            own[fold.test] = next(said).outputs[0]
    known = np.flatnonzero(codes >= 0)
    proba = learned.fusion.combine(outputs[:, known])
    weights = np.ones(len(known)) if rows.weights is None else rows.weights[known]
    return LeftOutScores(held_out_scores(proba, rows.y[known]), codes[known], weights)


def _task(candidate: Candidate, rows: PoolRows, fold: Fold) -> tuple[Recipe, PoolRows, Fold, int]:
    """Ask for one fit of a member as it was chosen."""
    recipe, seed, held = candidate
    alone = Recipe(
        recipe.name, recipe.place, (recipe.build(held.chosen),), most_rows=recipe.most_rows
    )
    return alone, recipe.view(rows), fold, seed


def source_groups(codes: Codes) -> list[Fold]:
    """Leave sources out, in five groups of about the same number of rows; none for one source."""
    sizes = np.bincount(codes[codes >= 0])
    if len(sizes) < 2:
        return []
    groups, loads = np.zeros(len(sizes), dtype=int), np.zeros(min(MOST_GROUPS, len(sizes)))
    for source in np.argsort(-sizes, kind="stable"):
        groups[source] = loads.argmin()
        loads[groups[source]] += sizes[source]
    of_row = np.where(codes >= 0, groups[codes], -1)
    numbers = range(len(loads))
    return [Fold(np.flatnonzero(of_row != k), np.flatnonzero(of_row == k)) for k in numbers]
