"""How much sources share: penalties of partial pooling, chosen on held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels import SourceRows
from ensemblage.parallel import Fold, deal_folds
from ensemblage.strata._pooled_fit import Penalties, Pooled, fit_pooled, held_out_loss
from ensemblage.strata._source_codes import source_classes

INF = float("inf")
SHARED = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, INF)
OWN = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, INF)
SEARCH_TOL = 1e-3
SEARCH_ROWS = 20_000
"""Penalties say how coefficients vary, whatever the number of rows: so many are enough."""
MAX_TURNS = 4


class SourcedRows(NamedTuple):
    """Rows in any order, a one behind their columns, with numbers of classes and sources."""

    rows: NDArray[np.float64]
    labels: NDArray[np.int64]
    sources: NDArray[np.int64]
    weights: NDArray[np.float64]

    def by_source(self, n_sources: int, chosen: NDArray[np.intp] | None = None) -> SourceRows:
        """Sort the rows, or those chosen, by source."""
        order = np.argsort(self.sources if chosen is None else self.sources[chosen], kind="stable")
        order = order if chosen is None else chosen[order]
        starts = np.searchsorted(self.sources[order], np.arange(n_sources + 1))
        rows = np.ascontiguousarray(self.rows[order])
        return SourceRows(rows, self.labels[order], self.weights[order], starts.astype(np.int64))


class Grid(NamedTuple):
    """Penalties to choose from; one value where it is given."""

    shared: tuple[float, ...] = SHARED
    own: tuple[float, ...] = OWN


class _Part(NamedTuple):
    """Rows to learn from and rows to judge by."""

    train: SourceRows
    test: SourceRows


class _WarmFits:
    """Held-out log loss at penalties; fits start where the last one ended."""

    def __init__(self, parts: list[_Part], start: Pooled) -> None:
        self.parts = parts
        self.at = [start] * len(parts)

    def __call__(self, penalties: Penalties) -> float:
        """Average the log loss over the held-out rows."""
        total = weight = 0.0
        for k, (train, test) in enumerate(self.parts):
            self.at[k], _ = fit_pooled(train, penalties, self.at[k], tol=SEARCH_TOL)
            own = float(test.weights.sum())
            total += own * held_out_loss(test, self.at[k].coefs)
            weight += own
        return total / weight


class _Search:
    """Held-out loss at penalties, each looked at once."""

    def __init__(self, judge: Callable[[Penalties], float], grid: Grid) -> None:
        self.judge = judge
        self.grid = grid
        self.losses: dict[Penalties, float] = {}

    def loss(self, penalties: Penalties) -> float:
        """Look up the loss, or find it out."""
        if penalties not in self.losses:
            self.losses[penalties] = self.judge(penalties)
        return self.losses[penalties]

    def best(self, candidates: Iterable[Penalties]) -> Penalties:
        """Choose; of equals the more severe, which come last."""
        return min(reversed(list(candidates)), key=self.loss)

    def turn(self, found: Penalties) -> Penalties:
        """Choose one penalty at a time, until neither changes."""
        for _ in range(MAX_TURNS):
            before = found
            found = self.best(Penalties(found.shared, own) for own in self.grid.own)
            found = self.best(Penalties(shared, found.own) for shared in self.grid.shared)
            if found == before:
                break
        return found


def choose_penalties(
    data: SourcedRows, start: Pooled, folds: Sequence[Fold], grid: Grid
) -> Penalties:
    """Take the penalties with the least log loss on held-out rows."""
    n_sources = len(start.own)
    parts = [
        _Part(*(data.by_source(n_sources, side) for side in fold))
        for fold in folds
        if all(data.weights[side].sum() > 0 for side in fold)
    ]
    return search_penalties(_WarmFits(parts, start), n_sources, grid)


def search_penalties(judge: Callable[[Penalties], float], n_sources: int, grid: Grid) -> Penalties:
    """Search from two ends: sources that differ in their intercepts only, and in everything."""
    search = _Search(judge, grid)
    if n_sources == 1:  # deviations would be a second name for the same coefficients
        return search.best(Penalties(shared, INF) for shared in grid.shared)
    together = search.best(Penalties(shared, grid.own[-1]) for shared in grid.shared)
    apart = search.best(Penalties(grid.shared[-1], own) for own in grid.own)
    return search.best([search.turn(apart), search.turn(together)])


def search_folds(data: SourcedRows, n_folds: int, rng: np.random.Generator) -> list[Fold]:
    """Deal rows so that sources and classes keep their shares; of many, only some."""
    chosen, pairs = np.arange(len(data.labels)), source_classes(data.sources, data.labels)
    if len(chosen) > SEARCH_ROWS:
        chosen = deal_folds(pairs, -(-len(chosen) // SEARCH_ROWS), rng)[0].test
    folds = deal_folds(pairs[chosen], n_folds, rng)
    return [Fold(chosen[train], chosen[test]) for train, test in folds]
