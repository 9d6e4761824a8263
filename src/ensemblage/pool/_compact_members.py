"""Forests and support vector machines as plain arrays: fast to predict, safe to save."""

from __future__ import annotations

import warnings
from itertools import combinations, pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import (
    ColumnUnits,
    compiled,
    expect,
    expect_array,
    expect_units,
    ovr_decision_function,
    set_module,
)

Doubles = NDArray[np.float64]
Floats = NDArray[np.float32]
Unsigned = NDArray[np.uint64]

MAX_KERNEL_ENTRIES = 4_000_000
"""Entries of the kernel matrix of rows and support vectors at one time."""
MAX_TREE_ROWS = 4096
"""Rows that a tree splits at one time; a column of them stays in the processor's cache."""


class PackedTrees(NamedTuple):
    """Trees one after the other; a node below zero is the leaf ``-1 - node`` of all leaves.

    ``roots`` are (n_trees,), ``features`` and ``thresholds`` of the inner nodes (n_nodes,), their
    ``children`` (n_nodes, 2), ``leaves`` (n_leaves, n_values). A row goes to the second child
    whose feature is above the threshold.
    """

    roots: NDArray[np.int32]
    features: NDArray[np.int32]
    thresholds: Floats | Doubles
    children: NDArray[np.int32]
    leaves: Floats | Doubles


def mean_leaf_values(trees: PackedTrees, rows: Floats) -> Doubles:
    """Average each row's leaves over the trees, (n_rows, n_values)."""
    return sum_leaf_values(trees, rows) / len(trees.roots)


def sum_leaf_values(
    trees: PackedTrees, rows: NDArray[Any], n_outputs: int | None = None
) -> Doubles:
    """Sum up each row's leaves, (n_rows, n_outputs), in the order of the trees.

    There are as many outputs as a leaf has values, or more: trees then take turns in adding to
    groups of them.
    """
    totals = np.zeros((len(rows), n_outputs or trees.leaves.shape[1]))
    # float64 holds float32 exactly, and needs only one variant of the kernel
    doubles = trees._replace(
        thresholds=trees.thresholds.astype(np.float64), leaves=trees.leaves.astype(np.float64)
    )
    buffers = np.empty((4, min(len(rows), MAX_TREE_ROWS) + 1), dtype=np.uint64)
    nodes = np.empty(buffers.shape[1], dtype=np.int64)
    for start in range(0, len(rows), MAX_TREE_ROWS):
        part = slice(start, start + MAX_TREE_ROWS)
        columns = np.array(rows[part].T, dtype=np.float64, order="C")
        _add_leaves(*doubles, columns, totals[part], *buffers, nodes)
    return totals


@compiled
def _add_leaves(  # noqa: C901  trees, nodes, rows
    roots: NDArray[np.int32],
    features: NDArray[np.int32],
    thresholds: Doubles,
    children: NDArray[np.int32],
    leaves: Doubles,
    columns: Doubles,
    totals: Doubles,
    rows: Unsigned,
    moved: Unsigned,
    starts: Unsigned,
    ends: Unsigned,
    nodes: NDArray[np.int64],
) -> None:
    """Add each tree's leaves, in place; a tree splits all rows, so that no row waits for its next.

    ``columns`` are (n_features, n_rows). The other arrays are buffers of n_rows + 1: ``rows`` in
    the order of the leaves, those ``moved`` to the second child, and ``nodes`` still to be split,
    with the ``starts`` and ``ends`` of their rows. Positions are unsigned, as Numba checks signed
    ones for being below zero.
    """
    n_rows, n_values = columns.shape[1], leaves.shape[1]
    n_groups = totals.shape[1] // n_values
    for tree in range(len(roots)):
        for i in range(n_rows):
            rows[i] = i
        nodes[0], starts[0], ends[0] = roots[tree], 0, n_rows
        n_waiting = 1
        while n_waiting > 0:
            n_waiting -= 1
            node, start, end = nodes[n_waiting], starts[n_waiting], ends[n_waiting]
            while node >= 0 and end > start:
                column, threshold = columns[features[node]], thresholds[node]
                n_moved = np.uint64(0)
                for place in range(start, end):
                    row = rows[place]
                    rows[place - n_moved] = row
                    moved[n_moved] = row
                    n_moved += np.uint64(column[row] > threshold)
                middle = end - n_moved
                for i in range(n_moved):
                    rows[middle + i] = moved[i]
                if n_moved > 0:
                    nodes[n_waiting] = children[node, 1]
                    starts[n_waiting], ends[n_waiting] = middle, end
                    n_waiting += 1
                node, end = children[node, 0], middle
            first = tree % n_groups * n_values
            for place in range(start, end):
                for k in range(n_values):
                    totals[rows[place], first + k] += leaves[-1 - node, k]


class PackedTreesMixin:
    """Trees as arrays, of columns in units that float32 resolves."""

    n_features_in_: int
    roots_: NDArray[np.int32]
    features_: NDArray[np.int32]
    thresholds_: Floats
    children_: NDArray[np.int32]
    leaves_: Floats
    offsets_: Doubles
    exponents_: NDArray[np.int64]

    def _store(self, trees: PackedTrees) -> None:
        for name, values in trees._asdict().items():
            setattr(self, f"{name}_", values)

    @property
    def _trees(self) -> PackedTrees:
        return PackedTrees(*(getattr(self, f"{name}_") for name in PackedTrees._fields))

    @property
    def _units(self) -> ColumnUnits:
        return ColumnUnits(self.offsets_, self.exponents_)

    def _check_trees(self, n_outputs: int) -> None:
        """Refuse nodes that point outside of the arrays: they are followed without checks."""
        nodes, leaves = len(self.features_), len(self.leaves_)
        high = self.n_features_in_ - 1
        expect_array(self, "features_", [None], "integer", low=0, high=high)
        expect_units(self, "offsets_", "exponents_", high + 1)
        expect_array(self, "thresholds_", [nodes])
        expect_array(self, "leaves_", [None, n_outputs])
        expect_array(self, "roots_", [None], "integer", low=-leaves, high=nodes - 1)
        expect_array(self, "children_", [nodes, 2], "integer", low=-leaves, high=nodes - 1)
        later = (self.children_ < 0) | (self.children_ > np.arange(nodes)[:, None])
        expect(bool(later.all()), "children_ come before their parent")
        expect(len(self.roots_) > 0, "there are no trees")
        sizes = {each.dtype.itemsize for each in self._trees}
        expect(sizes == {4}, "its trees are not of 4-byte values")


class BaseCompactForest(PackedTreesMixin, BaseEstimator):
    """A random forest, or extra trees on bootstraps; ``oob_score`` keeps out-of-bag predictions."""

    def __init__(
        self,
        n_trees: int = 100,
        *,
        extra_trees: bool = False,
        min_samples_leaf: int = 1,
        oob_score: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_trees = n_trees
        self.extra_trees = extra_trees
        self.min_samples_leaf = min_samples_leaf
        self.oob_score = oob_score
        self.random_state = random_state

    def _fit_forest(self, kind: Any, X: Any, y: Any, sample_weight: Any) -> Any:
        """Fit a forest of scikit-learn to columns in units that it resolves; pack its trees."""
        forest = kind(
            self.n_trees,
            min_samples_leaf=self.min_samples_leaf,
            bootstrap=True,
            oob_score=self.oob_score,
            random_state=self.random_state,
        )
        rows = np.asarray(X)
        counted = slice(None) if sample_weight is None else np.asarray(sample_weight) > 0
        self.offsets_, self.exponents_ = ColumnUnits.of(rows[counted])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
            forest.fit(self._units.scale(rows), y, sample_weight)
        self.n_features_in_ = forest.n_features_in_
        self._store(pack_trees([each.tree_ for each in forest.estimators_]))
        return forest

    def _mean_leaves(self, X: Any) -> Doubles:
        """Mean value of the leaves that rows reach, (n_samples, n_outputs)."""
        check_is_fitted(self)
        return mean_leaf_values(self._trees, self._units.scale(np.asarray(X)))


@set_module("ensemblage.pool")
class CompactForestClassifier(ClassifierMixin, BaseCompactForest):
    """A random forest for classification."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        kind = ExtraTreesClassifier if self.extra_trees else RandomForestClassifier
        forest = self._fit_forest(kind, X, y, sample_weight)
        self.classes_ = forest.classes_
        if self.oob_score:
            self.oob_predictions_ = forest.oob_decision_function_
        return self

    def predict_proba(self, X: Any) -> Doubles:
        return self._mean_leaves(X)

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _check_fitted(self) -> None:
        self._check_trees(len(self.classes_))
        expect_array(self, "leaves_", [None, len(self.classes_)], low=0, high=1)


@set_module("ensemblage.pool")
class CompactForestRegressor(RegressorMixin, BaseCompactForest):
    """A random forest for regression on the standardised target."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        kind = ExtraTreesRegressor if self.extra_trees else RandomForestRegressor
        self.mean_, self.scale_ = target_moments(y, sample_weight)
        forest = self._fit_forest(kind, X, (y - self.mean_) / self.scale_, sample_weight)
        if self.oob_score:
            # the mean for a row that is in every bootstrap
            self.oob_predictions_ = self.mean_ + self.scale_ * forest.oob_prediction_
        return self

    def predict(self, X: Any) -> Doubles:
        return np.asarray(self.mean_ + self.scale_ * self._mean_leaves(X)[:, 0])

    def _check_fitted(self) -> None:
        self._check_trees(1)
        check_target_moments(self)


def as_probabilities(raw: Any) -> Doubles:
    """Convert log-odds, (n_samples,), or scores, (n_samples, n_classes), to probabilities."""
    raw = np.asarray(raw, dtype=float)
    if raw.ndim == 1:
        raw = np.stack([np.zeros(len(raw)), raw], axis=1)
    raw = raw - raw.max(axis=1, keepdims=True)
    odds = np.exp(raw)
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def target_moments(y: Doubles, sample_weight: Any) -> tuple[float, float]:
    """Return mean and standard deviation; the latter is one for a constant target."""
    mean = float(np.average(y, weights=sample_weight))
    scale = float(np.sqrt(np.average((y - mean) ** 2, weights=sample_weight)))
    return mean, scale if scale > 0 else 1.0


def check_target_moments(member: Any) -> None:
    valid = np.isfinite(member.mean_) and 0 < member.scale_ < np.inf
    expect(bool(valid), "mean_ or scale_ is not finite and above zero")


def pack_trees(trees: list[Any]) -> PackedTrees:
    """Convert scikit-learn's trees to arrays: inner nodes and leaves separately, in order."""
    roots, n_nodes, n_leaves, parts = [], 0, 0, []
    for tree in trees:
        inner = tree.children_left >= 0
        nodes = np.where(inner, np.cumsum(inner) - 1 + n_nodes, -np.cumsum(~inner) - n_leaves)
        roots.append(nodes[0])
        values = tree.value[~inner, 0]
        of_classes = tree.n_classes[0] > 1
        parts.append(
            (
                tree.feature[inner],
                as_float32_thresholds(tree.threshold[inner]),
                nodes[np.stack([tree.children_left, tree.children_right], axis=1)[inner]],
                values / values.sum(axis=1, keepdims=True) if of_classes else values,
            )
        )
        n_nodes, n_leaves = n_nodes + inner.sum(), n_leaves + (~inner).sum()
    features, thresholds, children, leaves = map(np.concatenate, zip(*parts, strict=True))
    return PackedTrees(
        np.array(roots, dtype=np.int32),
        features.astype(np.int32),
        thresholds.astype(np.float32),
        children.astype(np.int32),
        leaves.astype(np.float32),
    )


def as_float32_thresholds(thresholds: Doubles) -> NDArray[np.float32]:
    """Round down to float32: rows of float32 values go to the same sides."""
    near = thresholds.astype(np.float32)
    lower: NDArray[np.float32] = np.nextafter(near, np.float32(-np.inf))
    return np.where(near > thresholds, lower, near)


class BaseCompactSVM(BaseEstimator):
    """A support vector machine with an RBF kernel on standardised columns."""

    def __init__(self, C: float = 1.0, *, gamma: Any = "scale") -> None:
        self.C = C
        self.gamma = gamma

    def _fit_svm(self, machine: Any, X: Any, y: Any, sample_weight: Any) -> Any:
        """Fit a machine of scikit-learn, and store its support vectors."""
        scaler = StandardScaler().fit(X, sample_weight=sample_weight)
        machine.fit(scaler.transform(X), y, sample_weight=sample_weight)
        self.n_features_in_ = machine.n_features_in_
        self.means_, self.scales_ = scaler.mean_, scaler.scale_
        self.gamma_ = float(machine._gamma)  # noqa: SLF001  the value of "scale"
        self.vectors_ = machine.support_vectors_
        return machine

    def _rbf_decision(self, X: Any) -> Doubles:
        """Weighted sums of the kernel, (n_samples, n_intercepts)."""
        check_is_fitted(self)
        rows = (np.asarray(X, dtype=np.float64) - self.means_) / self.scales_
        batch_rows = max(1, MAX_KERNEL_ENTRIES // max(1, len(self.vectors_)))
        sums = []
        for part in gen_batches(len(rows), batch_rows):
            kernel = 2 * rows[part] @ self.vectors_.T
            kernel -= (self.vectors_**2).sum(axis=1)
            kernel -= (rows[part] ** 2).sum(axis=1)[:, None]
            kernel *= self.gamma_
            np.minimum(kernel, 0, out=kernel)  # distances below zero are rounding
            sums.append(np.exp(kernel, out=kernel) @ self.weights_ + self.intercepts_)
        return np.concatenate(sums)

    def _check_vectors(self, n_sums: int) -> None:
        n_features = self.n_features_in_
        for name in ("means_", "scales_"):
            expect_array(self, name, [n_features])
        expect(bool((self.scales_ > 0).all()), "scales_ are not above zero")
        expect_array(self, "vectors_", [None, n_features])
        expect_array(self, "weights_", [len(self.vectors_), n_sums])
        expect_array(self, "intercepts_", [n_sums])
        expect(0 <= self.gamma_ < np.inf, "gamma_ is not a finite number above zero")


@set_module("ensemblage.pool")
class CompactSVC(ClassifierMixin, BaseCompactSVM):
    """A support vector classifier."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        machine = self._fit_svm(SVC(C=self.C, gamma=self.gamma), X, y, sample_weight)
        self.classes_ = machine.classes_
        self.weights_ = pairwise_weights(machine)
        self.intercepts_ = machine.intercept_
        return self

    def decision_function(self, X: Any) -> Doubles:
        """Return decision values: (n_samples,) for two classes, else (n_samples, n_classes)."""
        pairs = self._rbf_decision(X)
        if len(self.classes_) == 2:
            return np.asarray(pairs[:, 0])
        return np.asarray(ovr_decision_function(pairs < 0, -pairs, len(self.classes_)))

    def predict(self, X: Any) -> NDArray[Any]:
        values = self.decision_function(X)
        codes = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def _check_fitted(self) -> None:
        n_classes = len(self.classes_)
        self._check_vectors(n_classes * (n_classes - 1) // 2)


@set_module("ensemblage.pool")
class CompactSVR(RegressorMixin, BaseCompactSVM):
    """Support vector regression of a standardised target."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        mean, scale = target_moments(y, sample_weight)
        machine = SVR(C=self.C, gamma=self.gamma)
        self._fit_svm(machine, X, (y - mean) / scale, sample_weight)
        self.weights_ = scale * machine.dual_coef_.T
        self.intercepts_ = mean + scale * machine.intercept_
        return self

    def predict(self, X: Any) -> Doubles:
        return np.asarray(self._rbf_decision(X)[:, 0])

    def _check_fitted(self) -> None:
        self._check_vectors(1)


def pairwise_weights(machine: SVC) -> Doubles:
    """Return the coefficient of each support vector for each pair of classes.

    Its shape is (n_vectors, n_pairs); scikit-learn stores them packed, a vector's coefficients in
    the order of the other classes.
    """
    n_classes = len(machine.classes_)
    coefficients = machine.dual_coef_
    if n_classes == 2:
        return np.asarray(coefficients.T)
    ends = np.append(0, np.cumsum(machine.n_support_))
    own = [slice(*each) for each in pairwise(ends)]
    pairs = list(combinations(range(n_classes), 2))
    weights = np.zeros((coefficients.shape[1], len(pairs)))
    for k, (first, second) in enumerate(pairs):
        weights[own[first], k] = coefficients[second - 1, own[first]]
        weights[own[second], k] = coefficients[first, own[second]]
    return weights
