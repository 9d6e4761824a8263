"""Growing, pruning and shrinking of inner trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ensemblage._core import (
    LARGEST_FLOAT32,
    ColumnUnits,
    Fold,
    draw_seeds,
    expect,
    expect_array,
    make_folds,
    run_tasks,
    set_module,
)
from ensemblage.inner._inner_ensemble import InnerEnsemble
from ensemblage.inner._tree_decisions import (
    SplitSearch,
    as_counts,
    grow_by_views,
    splits_kept_by_views,
    weigh_by_residual,
)
from ensemblage.inner._tree_kernels import (
    ENTROPY,
    GINI,
    LEAF,
    POISSON,
    SQUARED,
    RowTargets,
    SoftTree,
    TreeRows,
    Views,
    bin_sums,
    bins_of,
    candidate_cuts,
    count_draws,
    cut_gains,
    leaf_memberships,
    node_means,
    node_sums,
    parents_of,
    predict_soft,
    pruning_alphas,
    rows_of_side,
    shrinkage_factors,
    shrunk_losses,
)

Counts = NDArray[np.uint8]
Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]
Integers = NDArray[np.int64]

CRITERIA = {
    "gini": GINI,
    "entropy": ENTROPY,
    "log_loss": ENTROPY,
    "squared_error": SQUARED,
    "poisson": POISSON,
}
"""Scikit-learn's names of the kernels' criteria."""
LARGEST = float(LARGEST_FLOAT32)
"""Threshold of a node that separates missing values from all others; rows are float32."""
LARGEST_RESTORED = 1e308
"""The same for a column that is shifted or scaled down, in its own units."""
SHRINKAGE_GRID = (100.0, 50.0, 25.0, 10.0, 1.0, 0.1)
"""Candidate strengths of shrinkage, as in Agarwal et al. (2022)."""


def pruned(tree: SoftTree, ccp_alphas: Doubles, alpha: float) -> SoftTree:
    """Prune all nodes whose alpha is at most ``alpha``, and renumber the others."""
    split = (tree.left >= 0) & (ccp_alphas > alpha)
    kept = np.zeros(len(split), dtype=bool)
    kept[0] = True
    for node in np.flatnonzero(split):  # parents come first
        kept[[tree.left[node], tree.right[node]]] = kept[node]
    split &= kept
    new_index = np.append(np.cumsum(kept) - 1, -1)  # the last for -1
    return SoftTree(
        new_index[np.where(split, tree.left, -1)][kept],
        new_index[np.where(split, tree.right, -1)][kept],
        np.where(split, tree.feature, -1)[kept],
        (tree.missing_left & split)[kept],
        np.where(split[:, None], tree.thresholds, 0.0)[kept],
    )


def writable(array: Any) -> Any:
    """Copy a read-only array, such as a memory-mapped one.

    Numba would compile every kernel again for it.
    """
    return np.require(array, requirements=["C", "W"])


@set_module("ensemblage.inner")
@dataclass(frozen=True, eq=False)
class FittedTree:
    """Nodes of a tree, the root first and children after their parent; arrays of length n_nodes.

    ``left``, ``right`` and ``feature`` are -1 at leaves. ``thresholds``, of shape (n_nodes,
    n_views), ascend in each node. ``values``, (n_nodes, n_columns), are the shrunk class
    proportions or the shrunk mean, ``weights`` the weight of the training rows in each node.
    ``offsets`` and ``exponents``, (n_features,), are the units in which rows and thresholds are
    compared, see ``ColumnUnits``; without them, the columns' own.
    """

    left: Integers
    right: Integers
    feature: Integers
    missing_left: NDArray[np.bool_]
    thresholds: Doubles
    values: Doubles
    weights: Doubles
    offsets: Doubles | None = None
    exponents: Integers | None = None

    def restored(self, units: ColumnUnits) -> FittedTree:
        """Give a tree that was grown in these units, with thresholds in the columns' own."""
        thresholds, inner = self.thresholds.copy(), ~self.is_leaf
        columns, scaled = self.feature[inner][:, None], thresholds[inner]
        thresholds[inner] = np.where(
            scaled < LARGEST,
            units.restore_thresholds(np.where(scaled < LARGEST, scaled, 0.0), columns),
            _largest_restored(units)[columns],
        )
        return replace(self, thresholds=thresholds, **units._asdict())

    @property
    def units(self) -> ColumnUnits:
        """The units in which rows and thresholds are compared."""
        if self.offsets is None or self.exponents is None:
            n_columns = int(self.feature.max()) + 1
            return ColumnUnits(np.zeros(n_columns), np.zeros(n_columns, dtype=np.int64))
        return ColumnUnits(self.offsets, self.exponents)

    @property
    def nodes(self) -> SoftTree:
        """The nodes, for the kernels, in the units of ``scale``."""
        units, thresholds, inner = self.units, self.thresholds.copy(), ~self.is_leaf
        columns, own = self.feature[inner][:, None], thresholds[inner]
        known = own < _largest_restored(units)[columns]
        scaled = units.scale_values(np.where(known, own, 0.0), columns)
        thresholds[inner] = np.where(known, scaled, LARGEST)
        parts = (self.left, self.right, self.feature, self.missing_left, thresholds)
        return SoftTree(*map(writable, parts))

    def separates_missing(self, node: int) -> bool:
        """Whether a split has all values at one side, and missing values at the other."""
        return bool(self.thresholds[node, 0] >= _largest_restored(self.units)[self.feature[node]])

    def scale(self, X: NDArray[Any]) -> NDArray[np.float32]:
        """Convert rows to the units of the nodes, for the methods below."""
        rows: NDArray[np.float32] = writable(self.units.scale(X))
        return rows

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Whether each node is a leaf."""
        return np.asarray(self.left == LEAF)

    @property
    def depths(self) -> Integers:
        """Number of splits above each node."""
        depths = np.zeros(len(self.left), dtype=np.int64)
        for node in np.flatnonzero(~self.is_leaf):  # parents come first
            depths[[self.left[node], self.right[node]]] = depths[node] + 1
        return depths

    def harden(self) -> FittedTree:
        """Replace the thresholds of each node by their median."""
        return replace(self, thresholds=_middle(self.thresholds))

    def predict(self, X: NDArray[np.float32]) -> Doubles:
        """Average the leaves by each row's memberships: (n_rows, n_columns)."""
        values: Doubles = predict_soft(self.nodes, X, writable(self.values))
        return values

    def leaf_memberships(self, X: NDArray[np.float32]) -> tuple[Integers, Integers, Doubles]:
        """Memberships of rows in the leaves that they reach; see the kernel."""
        found: tuple[Integers, Integers, Doubles] = leaf_memberships(self.nodes, X)
        return found

    def importances(self, n_features: int) -> Doubles:
        r"""Share of each feature in the sum of squares explained by all splits.

        A split of :math:`t` into :math:`l, r` explains
        :math:`\max(0, N_l |v_l|^2 + N_r |v_r|^2 - N_t |v_t|^2)`.
        """
        explained = np.zeros(n_features)
        changes = self.values - self.values[0]
        changes = np.ldexp(changes, -np.frexp(np.abs(changes).max())[1])  # squares do not underflow
        squares = self.weights * (changes**2).sum(axis=1)
        inner = ~self.is_leaf
        gains = squares[self.left[inner]] + squares[self.right[inner]] - squares[inner]
        np.add.at(explained, self.feature[inner], np.maximum(gains, 0.0))
        total = explained.sum()
        return explained / total if total > 0 else explained

    def _check_fitted(self) -> None:
        """Reject nodes that no fit produces, before compiled code reads them."""
        n_nodes = len(self.left)
        for name in ("left", "right", "feature"):
            expect_array(self, name, (n_nodes,), "integer", low=LEAF)
        expect_array(self, "missing_left", (n_nodes,), "truth")
        expect_array(self, "thresholds", (n_nodes, None))
        expect_array(self, "values", (n_nodes, None))
        expect_array(self, "weights", (n_nodes,), low=0)
        inner = np.flatnonzero(self.left != LEAF)
        expect(n_nodes > 0 and self.thresholds.shape[1] > 0, "the tree has no nodes")
        expect(bool((self.thresholds[:, 1:] >= self.thresholds[:, :-1]).all()),
               "thresholds are not sorted")  # fmt: skip
        for ends in (self.right, self.feature):
            expect(inner.tolist() == np.flatnonzero(ends != LEAF).tolist(), "a split is incomplete")
        # a node that is reached twice would be written beyond the kernels' buffers
        children = np.concatenate([self.left[inner], self.right[inner]])
        expect(sorted(children.tolist()) == list(range(1, n_nodes)),
               "a node does not have exactly one parent")  # fmt: skip
        expect(bool((self.left[inner] > inner).all() and (self.right[inner] > inner).all()),
               "a node comes before its parent")  # fmt: skip


def _largest_restored(units: ColumnUnits) -> Doubles:
    """Threshold that separates missing values from all others, in each column's own units."""
    own = (units.offsets == 0) & (units.exponents <= 0)
    return np.where(own, LARGEST, LARGEST_RESTORED)


class ThresholdMeasure:
    """Gain of each candidate cut over the tree's own, for the rows at a node.

    Candidates are the cuts and the index of the tree's own among them.
    """

    def __init__(self, bins: Counts, targets: RowTargets, criterion: int, min_rows: int) -> None:
        self.n_items = len(bins)
        self.bins = bins
        self.targets = targets
        self.criterion = criterion
        self.min_rows = min_rows

    def __call__(self, candidates: tuple[Doubles, int], view: NDArray[Any]) -> Doubles:
        """Score the cuts on one view: how often each row was drawn."""
        scores: Doubles = self.score_views(candidates, view[None])[0]
        return scores

    def score_views(self, candidates: tuple[Doubles, int], views: NDArray[Any]) -> Doubles:
        """Score the cuts on all views together: (n_views, n_cuts)."""
        cuts, own = candidates
        counts = as_counts(views)
        sums = bin_sums(self.bins, counts, self.targets, len(cuts) + 1)
        gains: Doubles = cut_gains(sums, own, self.criterion, self.min_rows)
        return gains


def draw_bootstraps(n_rows: int, seeds: Sequence[int]) -> Counts:
    """Draw one bootstrap per seed: how often each row is in it, (n_rows, n_views)."""
    counts = np.empty((n_rows, len(seeds)), dtype=np.uint8)
    for e, seed in enumerate(seeds):
        view = np.zeros(n_rows, dtype=np.uint8)
        # 32-bit indices and 8-bit counts stay in the cache
        drawn = np.random.default_rng(seed).integers(n_rows, size=n_rows, dtype=np.uint32)
        count_draws(drawn, view)
        counts[:, e] = view
    return counts


def _centred(targets: RowTargets, criterion: int) -> RowTargets:
    """Shift a numeric target to mean 0: centred squares lose the fewest digits."""
    if criterion != SQUARED or targets.n_classes:
        return targets
    counted = targets.weights > 0
    mean = np.average(targets.values[counted], weights=targets.weights[counted])
    return targets._replace(values=targets.values - mean)


def thresholds_of_views(
    tree: SoftTree,
    rows: TreeRows,
    counts: Views,
    window: float,
    criterion: int,
    min_rows: int,
    *,
    weighted: bool = False,
) -> SoftTree:
    """Choose each node's threshold again in each view; its rows follow its own thresholds.

    ``counts``, (n_rows, n_views), are how often each view drew each row with a positive weight;
    ``weighted`` multiplies the rows' weights by their residuals.
    """
    targets = _centred(rows.targets, criterion)
    thresholds = np.repeat(tree.thresholds, counts.shape[1], axis=1)
    drawn = counts.max(axis=1) > 0
    waiting = {0: (rows.counted[drawn], counts if drawn.all() else counts[drawn])}
    for node in np.flatnonzero(tree.left >= 0).tolist():  # parents come first
        here, views = waiting.pop(node)
        x, own = rows.X[here, tree.feature[node]], float(tree.thresholds[node, 0])
        candidates = candidate_cuts(x, targets.weights[here], own, window if own < LARGEST else 0.0)
        bins = bins_of(x, candidates[0], tree.missing_left[node])
        part = _read_at(targets, here)
        if weighted:
            part = weigh_by_residual(part, views)
        measure = ThresholdMeasure(bins, part, criterion, min_rows)
        ensemble = InnerEnsemble(measure, lambda _, v=views: v.T, _best_of_each_view)  # type: ignore[misc]
        chosen = ensemble(candidates)
        thresholds[node] = np.sort(candidates[0][chosen])
        for child, is_left in ((int(tree.left[node]), True), (int(tree.right[node]), False)):
            if tree.left[child] >= 0:
                places, drawn_there = rows_of_side(bins, views, chosen, is_left)
                waiting[child] = here[places], drawn_there
    return tree._replace(thresholds=thresholds)


def _best_of_each_view(scores: Doubles) -> Indices:
    return np.asarray(scores.argmax(axis=-1))


def _read_at(targets: RowTargets, rows: Indices) -> RowTargets:
    """Select rows; arrays that the kernels do not read are left empty."""
    weights, codes, values, n_classes = targets
    if n_classes:
        return RowTargets(weights[rows], codes[rows], values[:0], n_classes)
    return RowTargets(weights[rows], codes[:0], values[rows], n_classes)


def harden(tree: SoftTree) -> SoftTree:
    """Keep the median of each node's thresholds."""
    return tree._replace(thresholds=_middle(tree.thresholds))


def _middle(thresholds: Doubles) -> Doubles:
    middle = thresholds.shape[1] // 2
    return thresholds[:, middle : middle + 1]


@dataclass(frozen=True)
class TreeSettings:
    """Settings that all trees of a fit share.

    ``drawn``, (n_rows, n_views), are a sampler's views; None for bootstraps.
    """

    criterion: str
    max_leaf_nodes: int | None
    min_samples_leaf: int
    n_views: int
    window: float
    hard_thresholds: bool = False
    split: str = "cart"
    prune: str = "cv"
    views: str = "uniform"
    combine: str = "mean"
    drawn: Views | None = None

    def draw(self, rows: TreeRows, seed: int) -> Views:
        """Draw the views of the rows with a positive weight, (n_counted, n_views)."""
        if self.drawn is not None:
            return self.drawn[rows.counted]
        return draw_bootstraps(len(rows.counted), draw_seeds(seed, self.n_views))

    def grow(self, rows: TreeRows, seed: int) -> tuple[SoftTree, Doubles]:
        r"""Grow a tree on the rows with a positive weight: one threshold per node.

        Also returns the :math:`\alpha` at which each node is pruned; if the views prune, 1 for the
        splits that stay and 0 for the others.
        """
        if self.split == "cart" and self.prune == "cv":
            return self._grow_cart(rows, seed)
        counts, rows = self.draw(rows, seed), rows.take(rows.counted)
        criterion, weighted = CRITERIA[self.criterion], self.views == "weighted"
        if self.split == "cart":
            tree, ccp_alphas = self._grow_cart(rows, seed)
        else:
            search = SplitSearch(criterion, self.min_samples_leaf, self.combine, weighted)
            centred = rows._replace(targets=_centred(rows.targets, criterion))
            tree, ccp_alphas = grow_by_views(centred, counts, search, self.max_leaf_nodes)
        if self.prune == "ensemble":
            kept = splits_kept_by_views(tree, rows, counts, self.combine, weighted)
            ccp_alphas = kept.astype(np.float64)
        return tree, ccp_alphas

    def _grow_cart(self, rows: TreeRows, seed: int) -> tuple[SoftTree, Doubles]:
        grower = DecisionTreeClassifier if rows.targets.n_classes else DecisionTreeRegressor
        estimator = grower(
            criterion=self.criterion,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=self.min_samples_leaf,
            random_state=seed,
        )
        weights = rows.targets.weights
        unweighted = bool((weights == 1.0).all())
        grown = estimator.fit(rows.X, rows.y, sample_weight=None if unweighted else weights).tree_
        left, right = grown.children_left.astype(np.int64), grown.children_right.astype(np.int64)
        costs = grown.impurity * grown.weighted_n_node_samples / grown.weighted_n_node_samples[0]
        tree = SoftTree(
            left,
            right,
            np.where(left < 0, -1, grown.feature).astype(np.int64),
            grown.missing_go_to_left.astype(np.bool_),
            np.where(left < 0, 0.0, np.minimum(grown.threshold, LARGEST))[:, None],
        )
        return tree, pruning_alphas(left, right, costs)

    def place_thresholds(self, tree: SoftTree, rows: TreeRows, seed: int) -> SoftTree:
        """Choose the thresholds on the views, or their medians if thresholds are hard."""
        if self.window == 0:
            return tree
        soft = thresholds_of_views(
            tree, rows, self.draw(rows, seed), self.window, CRITERIA[self.criterion],
            self.min_samples_leaf, weighted=self.views == "weighted",
        )  # fmt: skip
        return harden(soft) if self.hard_thresholds else soft

    def means(self, tree: SoftTree, rows: TreeRows) -> tuple[Doubles, Doubles]:
        """Average the rows in each node, by their memberships: means and weights."""
        sums = node_sums(tree, rows.X, rows.targets)
        return node_means(tree, sums, rows.targets.n_classes > 0)


def alpha_grid(tree: SoftTree, ccp_alphas: Doubles) -> Doubles:
    r"""Alphas between those at which the tree changes: :math:`\sqrt{\alpha_k \alpha_{k+1}}`.

    They descend from infinity (the root) to 0 (the whole tree).
    """
    changes = np.unique(np.append(0.0, ccp_alphas[tree.left >= 0]))
    between = np.sqrt(changes[:-1] * changes[1:])
    return np.append(between, np.inf)[::-1]


def learn_tree(
    rows: TreeRows,
    settings: TreeSettings,
    strengths: Sequence[float],
    *,
    cv: int,
    random_state: Any,
    groups: Any = None,
    n_jobs: int | None = None,
) -> tuple[FittedTree, float, float, float | None]:
    """Fit a tree; growth, folds and views have separate seeds.

    Returns the tree, the chosen alpha (for a single node the one at which the root is pruned), the
    chosen strength, and their cross-validated loss, None without folds.
    """
    grow_seed, fold_seed, view_seed = draw_seeds(random_state, 3)
    tree, ccp_alphas = settings.grow(rows, grow_seed)
    alphas, shrinkages = alpha_grid(tree, ccp_alphas), np.array(strengths, dtype=np.float64)
    alpha, strength, loss = choose(
        rows, settings, alphas, shrinkages, cv, fold_seed, groups, n_jobs
    )
    soft = settings.place_thresholds(pruned(tree, ccp_alphas, alpha), rows, view_seed)
    means, weights = settings.means(soft, rows)
    values = shrunk_values(soft, means, weights, strength)
    fitted = FittedTree(*soft, values, weights)
    return fitted, min(alpha, float(ccp_alphas[0])), strength, loss


def choose(
    rows: TreeRows,
    settings: TreeSettings,
    alphas: Doubles,
    strengths: Doubles,
    cv: int,
    seed: int,
    groups: Any,
    n_jobs: int | None,
) -> tuple[float, float, float | None]:
    """Choose alpha and strength by cross-validated loss, and return it; ties: the smaller tree.

    If no class has two rows there are no folds: the result is the whole tree and a middle strength.
    """
    labels = rows.y if rows.targets.n_classes else np.zeros(len(rows.y), dtype=np.int32)
    n_folds = min(cv, int(np.bincount(labels).max()))
    if n_folds < 2:
        return 0.0, float(strengths[len(strengths) // 2]), None
    fold_seed, *seeds = draw_seeds(seed, 1 + n_folds)
    folds = make_folds(labels, n_folds, fold_seed, groups)
    tasks = [
        (rows, fold, settings, alphas, strengths, own)
        for fold, own in zip(folds, seeds, strict=False)
    ]
    losses = np.sum(run_tasks(fold_losses, tasks, n_jobs), axis=0)
    a, s = np.unravel_index(np.argmin(losses), losses.shape)
    loss = float(losses[a, s] / rows.targets.weights.sum())
    return float(alphas[a]), float(strengths[s]), loss


def fold_losses(
    rows: TreeRows,
    fold: Fold,
    settings: TreeSettings,
    alphas: Doubles,
    strengths: Doubles,
    seed: int,
) -> Doubles:
    """Losses on a fold's test rows of the tree grown on the other rows: (n_alphas, n_strengths)."""
    grow_seed, view_seed = draw_seeds(seed, 2)
    train, test = rows.only(fold.train), rows.only(fold.test)
    tree, ccp_alphas = settings.grow(train, grow_seed)
    soft = settings.place_thresholds(tree, train, view_seed)
    means, weights = settings.means(soft, train)
    parents = parents_of(soft.left, soft.right)
    changes = means - means[np.maximum(parents, 0)]
    changes[0] = means[0]
    # a node exists if alpha is below that at which its parent is pruned
    steps = np.searchsorted(-alphas, -ccp_alphas[np.maximum(parents, 0)], side="right")
    steps[0] = 0
    factors = shrinkage_factors(weights, parents, strengths)
    losses: Doubles = shrunk_losses(
        soft, test.X, test.targets, changes, factors, steps.astype(np.int64), len(alphas)
    )
    return losses


def shrunk_values(tree: SoftTree, means: Doubles, weights: Doubles, strength: float) -> Doubles:
    """Shrink the means of all nodes towards those of their parents."""
    parents = parents_of(tree.left, tree.right)
    factors = shrinkage_factors(weights, parents, np.array([strength]))
    values = means.copy()
    for node in range(1, len(values)):  # parents come first
        if factors[node, 0] < 1.0:
            change = means[node] - means[parents[node]]
            values[node] = values[parents[node]] + factors[node, 0] * change
    return values
