"""A crowd places the thresholds of a tree: in each node, each view cuts its rows once more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.inner._inner_ensemble import InnerEnsemble, Scores
from ensemblage.inner._tree_structure import LARGEST, TreeRows
from ensemblage.kernels import (
    SQUARED,
    CutRule,
    Cuts,
    NodeRows,
    RowTargets,
    SoftTree,
    bin_sums,
    bins_of,
    candidate_cuts,
    count_draws,
    cut_gains,
    rows_of_side,
)

Counts = NDArray[np.uint8]


class Crowd(NamedTuple):
    """How often each view drew each row that has weight, (n_rows, n_views), and how it cuts."""

    counts: Counts
    window: float
    rule: CutRule


class ThresholdMeasure:
    """Gain of each candidate cut over the tree's own, for the rows at a node."""

    def __init__(self, bins: Counts, targets: RowTargets, rule: CutRule) -> None:
        self.n_items = len(bins)
        self.bins = bins
        self.targets = targets
        self.rule = rule

    def __call__(self, candidates: Cuts, view: NDArray[Any]) -> Scores:
        """Score the cuts on one view, which says how often each row was drawn."""
        scores: Scores = self.score_views(candidates, view[None])[0]
        return scores

    def score_views(self, candidates: Cuts, views: NDArray[Any]) -> Scores:
        """Score the cuts on all views together: (n_views, n_cuts)."""
        counts = np.ascontiguousarray(views.T, dtype=np.uint8)
        sums = bin_sums(self.bins, counts, self.targets, len(candidates.values) + 1)
        gains: Scores = cut_gains(sums, candidates.own, self.rule)
        return gains


def best_of_each_view(scores: Scores) -> NDArray[np.intp]:
    """Which candidate each view scores highest; of equal ones the first."""
    return np.asarray(scores.argmax(axis=-1))


def draw_bootstraps(n_rows: int, seeds: Sequence[int]) -> Counts:
    """Draw one bootstrap per seed: how often each row is in it, (n_rows, n_views)."""
    counts = np.empty((n_rows, len(seeds)), dtype=np.uint8)
    for e, seed in enumerate(seeds):
        view = np.zeros(n_rows, dtype=np.uint8)
        # numbers of half the size, and counts of a byte, stay in cache
        drawn = np.random.default_rng(seed).integers(n_rows, size=n_rows, dtype=np.uint32)
        count_draws(drawn, view)
        counts[:, e] = view
    return counts


def place_thresholds(tree: SoftTree, rows: TreeRows, crowd: Crowd) -> SoftTree:
    """Let each view place each node's threshold again; its rows follow its own thresholds."""
    targets = _centred(rows.targets, crowd.rule)
    thresholds = np.repeat(tree.thresholds, crowd.counts.shape[1], axis=1)
    waiting = {0: _drawn_rows(rows, crowd.counts)}
    for node in np.flatnonzero(tree.left >= 0).tolist():  # parents come first
        here, counts = waiting.pop(node)
        x, own = rows.X[here, tree.feature[node]], float(tree.thresholds[node, 0])
        window = crowd.window if own < LARGEST else 0.0
        cuts = candidate_cuts(x, targets.weights[here], own, window)
        bins = bins_of(x, cuts.values, tree.missing_left[node])
        measure = ThresholdMeasure(bins, _at(targets, here), crowd.rule)
        chosen = InnerEnsemble(measure, _these(counts.T), best_of_each_view)(cuts)
        thresholds[node] = np.sort(cuts.values[chosen])
        for child, is_left in ((int(tree.left[node]), True), (int(tree.right[node]), False)):
            if tree.left[child] >= 0:
                part = rows_of_side(bins, counts, chosen, is_left)
                waiting[child] = NodeRows(here[part.places], part.counts)
    return tree._replace(thresholds=thresholds)


def _drawn_rows(rows: TreeRows, counts: Counts) -> NodeRows:
    """Leave out the rows that no view drew."""
    drawn = counts.max(axis=1) > 0
    return NodeRows(rows.counted[drawn], counts if drawn.all() else counts[drawn])


def _these(views: Any) -> Callable[[int], Any]:
    return lambda _: views


def _centred(targets: RowTargets, rule: CutRule) -> RowTargets:
    """Move numbers to where squares lose the fewest digits."""
    if rule.criterion != SQUARED or targets.n_classes:
        return targets
    counted = targets.weights > 0
    mean = np.average(targets.numbers[counted], weights=targets.weights[counted])
    return targets._replace(numbers=targets.numbers - mean)


def _at(targets: RowTargets, rows: NDArray[np.intp]) -> RowTargets:
    """Take some of the rows, and what is read of them."""
    weights, codes, numbers, n_classes = targets
    if n_classes:
        return RowTargets(weights[rows], codes[rows], numbers[:0], n_classes)
    return RowTargets(weights[rows], codes[:0], numbers[rows], n_classes)
