"""Members that have held-out outputs of their own: forests out of bag, strata by their folds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from sklearn.base import clone

from ensemblage.parallel import Fold, set_seed
from ensemblage.pool._pool_rows import PoolRows
from ensemblage.pool._recipe import Attempt, Recipe, fit_fresh
from ensemblage.strata import fit_held_out


@dataclass(frozen=True)
class OutOfBag(Recipe):
    """A forest: each row is judged by the trees whose bootstrap left it out.

    Where rows belong together that would not be honest, and folds are used.
    """

    def sample(self) -> tuple[Self, float]:
        """Give a tenth of the forest."""
        (forest,) = self.candidates
        n_trees = max(1, forest.n_trees // 10)
        fewer = clone(forest).set_params(n_trees=n_trees)
        return replace(self, candidates=(fewer,)), forest.n_trees / n_trees

    def parts(self, rows: PoolRows) -> Sequence[Fold | None]:
        """List all rows at once, or the folds."""
        alone = rows.all_held_out and self.sees_all(rows) and not rows.grouped
        return [None] if alone else rows.folds

    def attempt(self, rows: PoolRows, part: Fold | None, seed: int) -> Attempt:
        """Fit to all rows, and ask each tree about the others."""
        if part is not None:
            return super().attempt(rows, part, seed)
        start = time.perf_counter()
        (forest,) = self.candidates
        judged = clone(forest).set_params(judged=True)
        model = fit_fresh(judged, rows, np.arange(len(rows.y)), seed)
        outputs = rows.target.out_of_bag(model.out_of_bag_, rows.prior)
        del model.out_of_bag_
        return Attempt(outputs[None], time.perf_counter() - start, model)


@dataclass(frozen=True)
class OwnFolds(Recipe):
    """An ensemble on strata: its members are held out by its own folds, only its gate again."""

    def parts(self, rows: PoolRows) -> Sequence[Fold | None]:
        """List all rows at once, or the folds."""
        return [None] if rows.all_held_out and self.sees_all(rows) else rows.folds

    def attempt(self, rows: PoolRows, part: Fold | None, seed: int) -> Attempt:
        """Fit to all rows with the shared folds, and cross-fit the gate."""
        if part is not None:
            return super().attempt(rows, part, seed)
        start = time.perf_counter()
        (ensemble,) = self.candidates
        model = set_seed(clone(ensemble), seed).set_params(cv=rows.folds)
        outputs = fit_held_out(model, rows.X, rows.y, sample_weight=rows.weights)
        model.set_params(cv=len(rows.folds))  # folds need not be kept
        lacking = np.isnan(outputs).any(axis=1)  # in a fold without which a class is missing
        outputs[lacking] = rows.prior
        return Attempt(outputs[None], time.perf_counter() - start, model)
