"""How an inner tree is grown, pruned and shrunk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ensemblage._core import (
    Fold,
    draw_seeds,
    expect,
    expect_array,
    make_folds,
    run_tasks,
    set_module,
)
from ensemblage.inner._inner_ensemble import InnerEnsemble
from ensemblage.inner._tree_kernels import (
    ENTROPY,
    GINI,
    LEAF,
    POISSON,
    SQUARED,
    CostedTree,
    CutRule,
    Cuts,
    Memberships,
    NodeRows,
    RowTargets,
    ShrunkPaths,
    SoftTree,
    bin_sums,
    bins_of,
    candidate_cuts,
    count_draws,
    cut_gains,
    leaf_memberships,
    link_strengths,
    node_means,
    node_sums,
    parents_of,
    predict_soft,
    rows_of_side,
    shrinkage_factors,
    shrunk_losses,
)

Counts = NDArray[np.uint8]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]


CRITERIA = {
    "gini": GINI,
    "entropy": ENTROPY,
    "log_loss": ENTROPY,
    "squared_error": SQUARED,
    "poisson": POISSON,
}
"""What scikit-learn calls what the kernels score by."""

LARGEST = float(np.finfo(np.float32).max)
"""The threshold of a node that tells missing values from all others; rows are float32."""


class TreeRows(NamedTuple):
    """Rows as trees read them, float32 in C order, with their weights and targets.

    Rows of no weight are not there: the rows of a fold are all rows, the others without weight,
    so that no fold copies them.
    """

    X: NDArray[np.float32]
    targets: RowTargets

    @property
    def y(self) -> NDArray[Any]:
        """Classes as codes, or numbers."""
        return self.targets.codes if self.targets.n_classes else self.targets.numbers

    @property
    def counted(self) -> NDArray[np.intp]:
        """Places of the rows that have weight."""
        return np.flatnonzero(self.targets.weights)

    def only(self, rows: NDArray[np.intp]) -> TreeRows:
        """Take the weight of all other rows."""
        weights = np.zeros(len(self.targets.weights))
        weights[rows] = self.targets.weights[rows]
        return self._replace(targets=self.targets._replace(weights=weights))

    def at(self, rows: NDArray[np.intp]) -> TreeRows:
        """Copy some of the rows."""
        weights, codes, numbers, n_classes = self.targets
        return TreeRows(
            self.X[rows], RowTargets(weights[rows], codes[rows], numbers[rows], n_classes)
        )


class GrowthRule(NamedTuple):
    """How a structure is grown; ``max_leaf_nodes`` None has no limit."""

    criterion: str
    max_leaf_nodes: int | None
    min_samples_leaf: int


class Structure(NamedTuple):
    r"""A tree with one threshold per node, and the :math:`\alpha` at which each node is pruned."""

    tree: SoftTree
    strengths: NDArray[np.float64]


def grow_structure(rows: TreeRows, rule: GrowthRule, seed: int) -> Structure:
    """Grow CART on the rows that have weight."""
    grower = DecisionTreeClassifier if rows.targets.n_classes else DecisionTreeRegressor
    estimator = grower(
        criterion=rule.criterion,
        max_leaf_nodes=rule.max_leaf_nodes,
        min_samples_leaf=rule.min_samples_leaf,
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
    return Structure(tree, link_strengths(CostedTree(left, right, costs)))


def pruned(structure: Structure, alpha: float) -> SoftTree:
    """Collapse all nodes whose strength is no more than alpha, and number the rest anew."""
    tree, strengths = structure
    split = (tree.left >= 0) & (strengths > alpha)
    kept = np.zeros(len(split), dtype=bool)
    kept[0] = True
    for node in np.flatnonzero(split):  # parents come first
        kept[[tree.left[node], tree.right[node]]] = kept[node]
    split &= kept
    numbers = np.append(np.cumsum(kept) - 1, -1)  # the last for -1
    return SoftTree(
        numbers[np.where(split, tree.left, -1)][kept],
        numbers[np.where(split, tree.right, -1)][kept],
        np.where(split, tree.feature, -1)[kept],
        (tree.missing_left & split)[kept],
        np.where(split[:, None], tree.thresholds, 0.0)[kept],
    )


def writable(array: Any) -> Any:
    """Copy an array that cannot be written, as those of memory-mapped files.

    Numba would compile every kernel once more for it.
    """
    return np.require(array, requirements=["C", "W"])


@set_module("ensemblage.inner")
@dataclass(frozen=True, eq=False)
class FittedTree:
    """Nodes of a tree, the root first and children after their parent; arrays of length n_nodes.

    ``left``, ``right`` and ``feature`` are -1 at leaves. ``thresholds``, of shape (n_nodes,
    n_views), ascend in each node. ``values``, (n_nodes, n_columns), are the shrunk shares of the
    classes or the mean number, ``weights`` the weight of the training rows in each node.
    """

    left: Integers
    right: Integers
    feature: Integers
    missing_left: NDArray[np.bool_]
    thresholds: Doubles
    values: Doubles
    weights: Doubles

    @classmethod
    def make(cls, tree: SoftTree, found: NodeValues) -> FittedTree:
        """Put nodes and their values together."""
        return cls(*tree, *found)

    @property
    def nodes(self) -> SoftTree:
        """The nodes, as kernels read them."""
        parts = (self.left, self.right, self.feature, self.missing_left, self.thresholds)
        return SoftTree(*map(writable, parts))

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Which nodes are leaves."""
        return np.asarray(self.left == LEAF)

    @property
    def depths(self) -> Integers:
        """Number of splits above each node."""
        depths = np.zeros(len(self.left), dtype=np.int64)
        for node in np.flatnonzero(~self.is_leaf):  # parents come first
            depths[[self.left[node], self.right[node]]] = depths[node] + 1
        return depths

    def harden(self) -> FittedTree:
        """Follow the medians of the thresholds, to the same leaves."""
        return replace(self, thresholds=harden(self.nodes).thresholds)

    def predict(self, X: NDArray[np.float32]) -> Doubles:
        """Average leaves by the rows' shares in them: (n_rows, n_columns)."""
        values: Doubles = predict_soft(self.nodes, X, writable(self.values))
        return values

    def leaf_memberships(self, X: NDArray[np.float32]) -> Memberships:
        """Shares of rows in the leaves that they touch."""
        found: Memberships = leaf_memberships(self.nodes, X)
        return found

    def importances(self, n_features: int) -> Doubles:
        r"""Share of each feature in what all splits explain.

        A split of :math:`t` into :math:`l, r` explains
        :math:`N_l |v_l|^2 + N_r |v_r|^2 - N_t |v_t|^2`, and no less than nothing.
        """
        explained = np.zeros(n_features)
        powers = self.weights * ((self.values - self.values[0]) ** 2).sum(axis=1)
        inner = ~self.is_leaf
        gains = powers[self.left[inner]] + powers[self.right[inner]] - powers[inner]
        np.add.at(explained, self.feature[inner], np.maximum(gains, 0.0))
        total = explained.sum()
        return explained / total if total > 0 else explained

    def _check_fitted(self) -> None:
        """Refuse nodes that no fit makes, before compiled code follows them."""
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
               "thresholds do not ascend")  # fmt: skip
        for ends in (self.right, self.feature):
            expect(inner.tolist() == np.flatnonzero(ends != LEAF).tolist(), "a split is not whole")
        # a node that was reached twice would be written beyond the kernels' room
        children = np.concatenate([self.left[inner], self.right[inner]])
        expect(sorted(children.tolist()) == list(range(1, n_nodes)), "a node has not one parent")
        expect(bool((self.left[inner] > inner).all() and (self.right[inner] > inner).all()),
               "a node stands before its parent")  # fmt: skip


class Learned(NamedTuple):
    """A tree, and what was chosen for it; a root alone has the alpha that made it one."""

    tree: FittedTree
    chosen: Chosen


def learn_tree(
    rows: TreeRows, recipe: TreeRecipe, strengths: Sequence[float], plan: FoldPlan
) -> Learned:
    """Learn a tree; growth, folds and views have seeds of their own."""
    grow_seed, fold_seed, view_seed = draw_seeds(plan.seed, 3)
    structure = recipe.grow(rows, grow_seed)
    choice = Choice(alpha_grid(structure), np.array(strengths, dtype=np.float64))
    chosen = choose(rows, recipe, choice, plan._replace(seed=fold_seed))
    tree = recipe.soften(pruned(structure, chosen.alpha), rows, view_seed)
    values = shrunk_values(tree, recipe.means(tree, rows), chosen.strength)
    alpha = min(chosen.alpha, float(structure.strengths[0]))
    return Learned(FittedTree.make(tree, values), chosen._replace(alpha=alpha))


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

    def __call__(self, candidates: Cuts, view: NDArray[Any]) -> Doubles:
        """Score the cuts on one view, which says how often each row was drawn."""
        scores: Doubles = self.score_views(candidates, view[None])[0]
        return scores

    def score_views(self, candidates: Cuts, views: NDArray[Any]) -> Doubles:
        """Score the cuts on all views together: (n_views, n_cuts)."""
        counts = np.ascontiguousarray(views.T, dtype=np.uint8)
        sums = bin_sums(self.bins, counts, self.targets, len(candidates.values) + 1)
        gains: Doubles = cut_gains(sums, candidates.own, self.rule)
        return gains


def best_of_each_view(scores: Doubles) -> NDArray[np.intp]:
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


STRENGTHS = (100.0, 50.0, 25.0, 10.0, 1.0, 0.1)
"""Strengths of shrinkage to choose from: those of Agarwal et al. (2022)."""


class NodeValues(NamedTuple):
    """Values (n_nodes, n_columns) of nodes, and the weight of the rows in them."""

    values: Doubles
    weights: Doubles


@dataclass(frozen=True)
class TreeRecipe:
    """What all trees of a fit have in common: how they are grown, softened and filled."""

    growth: GrowthRule
    n_views: int
    window: float
    hard_thresholds: bool

    def grow(self, rows: TreeRows, seed: int) -> Structure:
        """Grow CART."""
        return grow_structure(rows, self.growth, seed)

    def soften(self, tree: SoftTree, rows: TreeRows, seed: int) -> SoftTree:
        """Let a crowd of bootstraps place the thresholds; their medians, if thresholds are hard."""
        if self.window == 0:
            return tree
        counts = draw_bootstraps(len(rows.counted), draw_seeds(seed, self.n_views))
        rule = CutRule(CRITERIA[self.growth.criterion], self.growth.min_samples_leaf)
        soft = place_thresholds(tree, rows, Crowd(counts, self.window, rule))
        return harden(soft) if self.hard_thresholds else soft

    def means(self, tree: SoftTree, rows: TreeRows) -> NodeValues:
        """Average the rows in each node, by their memberships."""
        sums = node_sums(tree, rows.X, rows.targets)
        return NodeValues(*node_means(tree, sums, rows.targets.n_classes > 0))


class FoldPlan(NamedTuple):
    """How many folds there are to be at most, which rows stay together, and who computes them."""

    n_folds: int
    groups: NDArray[Any] | None
    seed: Any
    n_jobs: int | None


class Chosen(NamedTuple):
    """An alpha and a strength, and their mean loss over the folds; None without folds."""

    alpha: float
    strength: float
    loss: float | None


class Choice(NamedTuple):
    """The grid of a fit: alphas from the root alone to the whole tree, and strengths."""

    alphas: Doubles
    strengths: Doubles


def alpha_grid(structure: Structure) -> Doubles:
    r"""Alphas between those at which the tree changes: :math:`\sqrt{\alpha_k \ccp_alpha_{k+1}}`.

    They fall, from the root alone, at infinity, to the whole tree, at 0.
    """
    changes = np.unique(np.append(0.0, structure.strengths[structure.tree.left >= 0]))
    between = np.sqrt(changes[:-1] * changes[1:])
    return np.append(between, np.inf)[::-1]


def harden(tree: SoftTree) -> SoftTree:
    """Keep the median of each node's thresholds: the way that at least half of the views go."""
    middle = tree.thresholds.shape[1] // 2
    return tree._replace(thresholds=tree.thresholds[:, middle : middle + 1])


def fold_losses(
    rows: TreeRows, fold: Fold, recipe: TreeRecipe, choice: Choice, seed: int
) -> Doubles:
    """Losses on a fold's test rows of the tree grown on the others: (n_alphas, n_strengths)."""
    grow_seed, view_seed = draw_seeds(seed, 2)
    train, test = rows.only(fold.train), rows.only(fold.test)
    structure = recipe.grow(train, grow_seed)
    tree = recipe.soften(structure.tree, train, view_seed)
    paths = shrunk_paths(tree, recipe.means(tree, train), choice, structure.strengths)
    losses: Doubles = shrunk_losses(tree, test.X, test.targets, paths)
    return losses


def choose(rows: TreeRows, recipe: TreeRecipe, choice: Choice, plan: FoldPlan) -> Chosen:
    """Take the alpha and the strength of least loss; of equal ones the smaller tree.

    Where no class has two rows there are no folds: then it is the whole tree, middling shrunk.
    """
    labels = rows.y if rows.targets.n_classes else np.zeros(len(rows.y), dtype=np.int32)
    n_folds = min(plan.n_folds, int(np.bincount(labels).max()))
    if n_folds < 2:
        return Chosen(0.0, float(choice.strengths[len(choice.strengths) // 2]), None)
    fold_seed, *seeds = draw_seeds(plan.seed, 1 + n_folds)
    folds = make_folds(labels, n_folds, fold_seed, plan.groups)
    tasks = [(rows, fold, recipe, choice, seed) for fold, seed in zip(folds, seeds, strict=False)]
    losses = np.sum(run_tasks(fold_losses, tasks, plan.n_jobs), axis=0)
    a, s = np.unravel_index(np.argmin(losses), losses.shape)
    loss = float(losses[a, s] / rows.targets.weights.sum())
    return Chosen(float(choice.alphas[a]), float(choice.strengths[s]), loss)


def shrunk_paths(
    tree: SoftTree, found: NodeValues, choice: Choice, strengths: Doubles
) -> ShrunkPaths:
    """Tell what each node adds under each strength, and at which alpha it appears."""
    means, weights = found
    parents = parents_of(tree.left, tree.right)
    changes = means - means[np.maximum(parents, 0)]
    changes[0] = means[0]
    # a node is there where alpha is below its parent's strength
    steps = np.searchsorted(-choice.alphas, -strengths[np.maximum(parents, 0)], side="right")
    steps[0] = 0
    factors = shrinkage_factors(weights, parents, choice.strengths)
    return ShrunkPaths(changes, factors, steps.astype(np.int64), len(choice.alphas))


def shrunk_values(tree: SoftTree, found: NodeValues, strength: float) -> NodeValues:
    """Draw the means of all nodes towards their parents'."""
    means, weights = found
    parents = parents_of(tree.left, tree.right)
    factors = shrinkage_factors(weights, parents, np.array([strength]))
    values = means.copy()
    for node in range(1, len(values)):  # parents come first
        if factors[node, 0] < 1.0:
            change = means[node] - means[parents[node]]
            values[node] = values[parents[node]] + factors[node, 0] * change
    return NodeValues(values, weights)
