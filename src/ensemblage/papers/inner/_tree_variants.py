"""Variants of inner trees: other decisions taken by the ensemble, or thresholds without one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import draw_seeds
from ensemblage.inner import (
    LARGEST,
    SoftTree,
    TreeRows,
    TreeSettings,
    bin_sums,
    bins_of,
    candidate_cuts,
    draw_bootstraps,
    pruning_alphas,
)

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]


RAMP = 0.1
"""Half the width of a fixed ramp, as a share of the node's rows."""


class LaplaceSettings(TreeSettings):
    """Leaves with Laplace smoothing in the place of shrinkage."""

    def means(self, tree: SoftTree, rows: TreeRows) -> tuple[Doubles, Doubles]:
        """Add one to each class's weight; means of a numeric target stay as they are."""
        means, weights = super().means(tree, rows)
        n_classes = rows.targets.n_classes
        if not n_classes:
            return means, weights
        smoothed = (means * weights[:, None] + 1) / (weights[:, None] + n_classes)
        return smoothed, weights


class RampSettings(TreeSettings):
    """Soft thresholds over a fixed share of each node's rows, without an ensemble."""

    def place_thresholds(self, tree: SoftTree, rows: TreeRows, seed: int) -> SoftTree:
        """Place the thresholds at equal distances in rank around CART's."""
        rows = rows.take(rows.counted)
        thresholds = np.repeat(tree.thresholds, self.n_views, axis=1)
        for node, here in rows_at_splits(tree, rows):
            x = np.sort(rows.X[here, tree.feature[node]].astype(np.float64))
            x = x[~np.isnan(x)]
            if tree.thresholds[node, 0] < LARGEST and len(x):
                rank = np.searchsorted(x, tree.thresholds[node, 0], side="right") - 1
                ranks = rank + np.linspace(-RAMP, RAMP, self.n_views) * len(x)
                thresholds[node] = x[np.clip(np.round(ranks).astype(int), 0, len(x) - 1)]
        return tree._replace(thresholds=thresholds)


class EnsembleLeavesSettings(TreeSettings):
    """Node means that are averages over bootstraps; thresholds are CART's."""

    def means(self, tree: SoftTree, rows: TreeRows) -> tuple[Doubles, Doubles]:
        """Average the bootstraps' means; a node without rows in one counts by its plain mean."""
        rows = rows.take(rows.counted)
        plain, plain_weights = super().means(tree, rows)
        total = np.zeros_like(plain)
        for counts in draw_bootstraps(len(rows.X), range(self.n_views)).T:
            drawn = rows._replace(targets=rows.targets._replace(weights=counts.astype(np.float64)))
            means, weights = super().means(tree, drawn)
            total += np.where(weights[:, None] > 0, means, plain)
        return total / self.n_views, plain_weights


class EnsembleStoppingSettings(TreeSettings):
    """Keep a split if it lowers the out-of-bag log loss of most bootstraps."""

    def grow(self, rows: TreeRows, seed: int) -> tuple[SoftTree, Doubles]:
        """Grow CART, and remove the splits that the bootstraps vote against."""
        rows = rows.take(rows.counted)
        tree, _ = super().grow(rows, seed)
        counts = draw_bootstraps(len(rows.X), draw_seeds(seed, self.n_views))
        strengths = np.zeros(len(tree.left))
        kept = {0}
        for node, here in rows_at_splits(tree, rows):
            if node in kept and improves_most_views(tree, node, rows.take(here), counts[here]):
                strengths[node] = 1.0
                kept |= {int(tree.left[node]), int(tree.right[node])}
        return tree, strengths


def improves_most_views(
    tree: SoftTree, node: int, rows: TreeRows, counts: NDArray[np.uint8]
) -> bool:
    """Whether a split lowers the out-of-bag log loss of most views."""
    left, votes = goes_left(tree, node, rows.X), 0
    n_classes, codes = rows.targets.n_classes, rows.targets.codes
    judged = 0
    for drawn in counts.T.astype(np.float64):
        out_of_bag = drawn == 0
        if not out_of_bag.any():
            continue
        both = [np.bincount(codes, drawn * side, n_classes) + 1 for side in (~left, left)]
        shares = np.array([each / each.sum() for each in both])
        alone = np.bincount(codes, drawn, n_classes) + 1
        split = np.log(shares[left[out_of_bag].astype(int), codes[out_of_bag]]).sum()
        votes += split > np.log(alone[codes[out_of_bag]] / alone.sum()).sum()
        judged += 1
    return 2 * votes > judged


class EnsembleSplitsSettings(TreeSettings):
    """Splits with the largest mean gain over bootstraps: the paper's inner score, for trees."""

    def grow(self, rows: TreeRows, seed: int) -> tuple[SoftTree, Doubles]:
        """Grow best-first, up to ``max_leaf_nodes``."""
        rows = rows.take(rows.counted)
        counts = draw_bootstraps(len(rows.X), draw_seeds(seed, self.n_views))
        made = [GrownNode(np.arange(len(rows.X)), best_split(rows, counts))]
        for _ in range((self.max_leaf_nodes or 16) - 1):
            gains = [each.split.gain if each.left < 0 else 0.0 for each in made]
            best = int(np.argmax(gains))
            if gains[best] <= 0:
                break
            here, split = made[best].rows, made[best].split
            x = rows.X[here, split.feature]
            left = np.where(np.isnan(x), split.missing_left, x <= split.cut)
            made[best] = made[best]._replace(left=len(made))
            parts = (here[left], here[~left])
            made += [GrownNode(part, best_split(rows.take(part), counts[part])) for part in parts]
        return _structure(made, rows)


class Split(NamedTuple):
    """Threshold of a feature and its mean gain; 0 where no split is possible."""

    gain: float = 0.0
    feature: int = -1
    cut: float = 0.0
    missing_left: bool = False


class GrownNode(NamedTuple):
    """Rows of a node, its best split, and its first child if it has been split."""

    rows: Indices
    split: Split
    left: int = -1


def best_split(rows: TreeRows, counts: NDArray[np.uint8]) -> Split:
    """Find the cut with the largest Gini gain on average over the views."""
    best = Split()
    for feature in range(rows.X.shape[1]):
        x = rows.X[:, feature]
        known = np.unique(x[~np.isnan(x)]).astype(np.float64)
        if len(known) < 2:
            continue
        middle = len(known) // 2
        own = (known[middle - 1] + known[middle]) / 2
        cuts = candidate_cuts(x, rows.targets.weights, own, 1.0)[0]
        missing_left = bool(np.median(x[~np.isnan(x)]) <= own)  # to the larger side
        sums = bin_sums(bins_of(x, cuts, missing_left), counts, rows.targets, len(cuts) + 1)
        gains = _gini_gains(sums[:, 1:]).mean(axis=1)
        c = int(np.argmax(gains))
        if gains[c] > best.gain:
            best = Split(float(gains[c]), feature, float(cuts[c]), missing_left)
    return best


def _gini_gains(sums: Doubles) -> Doubles:
    """Gain of each cut in each view: (n_cuts, n_views)."""

    def score(parts: Doubles) -> Doubles:
        totals = parts.sum(axis=1)
        return np.asarray((parts**2).sum(axis=1) / np.maximum(totals, 1.0))

    left = np.cumsum(sums, axis=0)
    right = left[-1:] - left
    return score(left[:-1]) + score(right[:-1]) - score(left[-1:])


def _structure(made: list[GrownNode], rows: TreeRows) -> tuple[SoftTree, Doubles]:
    left = np.array([node.left for node in made], dtype=np.int64)
    right = np.where(left < 0, -1, left + 1)
    inner = left >= 0
    splits = [node.split for node in made]
    tree = SoftTree(
        left, right,
        np.where(inner, [each.feature for each in splits], -1).astype(np.int64),
        inner & np.array([each.missing_left for each in splits]),
        np.where(inner, [each.cut for each in splits], 0.0)[:, None],
    )  # fmt: skip
    codes, n_classes = rows.targets.codes, rows.targets.n_classes
    counts = np.array([np.bincount(codes[node.rows], minlength=n_classes) for node in made])
    totals = counts.sum(axis=1)
    costs = (totals - (counts**2).sum(axis=1) / totals) / totals[0]
    return tree, pruning_alphas(left, right, costs)


def goes_left(tree: SoftTree, node: int, X: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Mark the rows that go left at a node by its first threshold."""
    x = X[:, tree.feature[node]]
    left = np.where(np.isnan(x), tree.missing_left[node], x <= tree.thresholds[node, 0])
    return np.asarray(left, dtype=np.bool_)


def rows_at_splits(tree: SoftTree, rows: TreeRows) -> list[tuple[int, Indices]]:
    """List each split with the rows that reach it, parents first."""
    found, waiting = [], {0: np.arange(len(rows.X))}
    for node in np.flatnonzero(tree.left >= 0).tolist():
        here = waiting.pop(node)
        found.append((node, here))
        left = goes_left(tree, node, rows.X[here])
        waiting[int(tree.left[node])], waiting[int(tree.right[node])] = here[left], here[~left]
    return found
