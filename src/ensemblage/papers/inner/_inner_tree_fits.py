"""Each method of the study of trees, fitted to rows and asked about others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ensemblage.inner import (
    STRENGTHS,
    FoldPlan,
    GrowthRule,
    Structure,
    TreeRecipe,
    TreeRows,
    alpha_grid,
    learn_tree,
    pruned,
)
from ensemblage.kernels import predict_softly
from ensemblage.papers.inner._inner_tree_variants import (
    CrowdLeavesRecipe,
    CrowdSplitsRecipe,
    CrowdStoppingRecipe,
    LaplaceRecipe,
    RampRecipe,
)
from ensemblage.parallel import draw_seeds, make_folds

Floats = NDArray[np.float64]

VIEWS, WINDOW, FOLDS = 30, 0.25, 5
"""The estimators' defaults."""
SMALL = 16


class Told(NamedTuple):
    """What a method says of new rows, (n_rows, n_columns), and its number of leaves."""

    values: Floats
    leaves: float | None


class Way(NamedTuple):
    """A way to learn a tree: its recipe, window, strengths and most leaves."""

    recipe: type[TreeRecipe]
    window: float
    strengths: tuple[float, ...] = STRENGTHS
    leaves: int | None = None
    crisp: bool = False


WAYS = {
    "cart-loss": Way(LaplaceRecipe, 0.0, (0.0,)),
    "shrunk": Way(TreeRecipe, 0.0),
    "thresholds": Way(LaplaceRecipe, WINDOW, (0.0,)),
    "ours": Way(TreeRecipe, WINDOW),
    "ramp": Way(RampRecipe, WINDOW),
    "cart-16": Way(LaplaceRecipe, 0.0, (0.0,), SMALL),
    "shrunk-16": Way(TreeRecipe, 0.0, leaves=SMALL),
    "ours-16": Way(TreeRecipe, WINDOW, leaves=SMALL),
    "crisp-16": Way(TreeRecipe, WINDOW, leaves=SMALL, crisp=True),
    "splits-16": Way(CrowdSplitsRecipe, 0.0, leaves=SMALL),
    "stopping-16": Way(CrowdStoppingRecipe, 0.0, leaves=SMALL),
    "leaves-16": Way(CrowdLeavesRecipe, 0.0, leaves=SMALL),
}


def tell(method: str, train: TreeRows, X: NDArray[np.float32], seed: int) -> Told:
    """Fit a method and ask it."""
    if method in WAYS:
        return _grown(WAYS[method], train, X, seed)
    return OTHERS[method](train, X, seed)


def _grown(way: Way, train: TreeRows, X: NDArray[np.float32], seed: int) -> Told:
    criterion = "gini" if train.targets.n_classes else "squared_error"
    recipe = way.recipe(GrowthRule(criterion, way.leaves, 1), VIEWS, way.window, way.crisp)
    tree, _ = learn_tree(train, recipe, way.strengths, FoldPlan(FOLDS, None, seed, 1))
    return Told(tree.predict(X), float(tree.is_leaf.sum()))


def _cart_by_accuracy(train: TreeRows, X: NDArray[np.float32], seed: int) -> Told:
    """Prune by the errors on the folds, as most users do; of equal alphas the largest."""
    recipe = LaplaceRecipe(GrowthRule("gini", None, 1), VIEWS, 0.0, crisp=False)
    grow_seed, fold_seed, *seeds = draw_seeds(seed, 2 + FOLDS)
    structure = recipe.grow(train, grow_seed)
    alphas = alpha_grid(structure)
    errors = np.zeros(len(alphas))
    n_folds = min(FOLDS, int(np.bincount(train.y).max()))
    for fold, own in zip(make_folds(train.y, n_folds, fold_seed), seeds, strict=False):
        part = train.at(fold.train)
        grown = recipe.grow(part, own)
        classes = recipe.means(grown.tree, part).values.argmax(axis=1)
        errors += errors_by_alpha(grown, classes, train.at(fold.test), alphas)
    tree = pruned(structure, float(alphas[errors.argmin()]))
    values = predict_softly(tree, X, recipe.means(tree, train).values)
    return Told(values, float((tree.left < 0).sum()))


def errors_by_alpha(
    structure: Structure, classes: NDArray[np.intp], rows: TreeRows, alphas: Floats
) -> Floats:
    """Errors of a tree pruned at each of the falling alphas, each node giving its class."""
    tree, strengths = structure
    jumps = np.zeros(len(alphas) + 1)
    node, start = np.zeros(len(rows.X), dtype=np.int64), np.zeros(len(rows.X), dtype=np.int64)
    here = np.arange(len(rows.X))
    while len(here):
        # a node is a leaf from where it appears until its own children do
        end = np.searchsorted(-alphas, -strengths[node], side="right")
        end = np.where(tree.left[node] < 0, len(alphas), np.maximum(end, start))
        wrong = (classes[node] != rows.y[here]).astype(np.float64)
        np.add.at(jumps, start, wrong)
        np.add.at(jumps, end, -wrong)
        on = end < len(alphas)
        here, node, start = here[on], node[on], end[on]
        x = rows.X[here, tree.feature[node]]
        left = np.where(np.isnan(x), tree.missing_left[node], x <= tree.thresholds[node, 0])
        node = np.where(left, tree.left[node], tree.right[node])
    return np.asarray(np.cumsum(jumps)[:-1])


def _bagging(train: TreeRows, X: NDArray[np.float32], seed: int) -> Told:
    """Average 30 whole trees on bootstraps, scikit-learn's."""
    n_classes = train.targets.n_classes
    if not n_classes:
        numbers = BaggingRegressor(DecisionTreeRegressor(), VIEWS, random_state=seed)
        return Told(numbers.fit(train.X, train.y).predict(X)[:, None], None)
    classes = BaggingClassifier(DecisionTreeClassifier(), VIEWS, random_state=seed)
    classes.fit(train.X, train.y)
    values = np.zeros((len(X), n_classes))
    values[:, classes.classes_] = classes.predict_proba(X)
    return Told(values, None)


OTHERS: dict[str, Callable[[TreeRows, Any, int], Told]] = {
    "cart-accuracy": _cart_by_accuracy,
    "bagging": _bagging,
}
