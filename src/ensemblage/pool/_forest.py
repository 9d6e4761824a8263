"""scikit-learn's forests in a few arrays: the same answer, and far sooner."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.utils.validation import check_is_fitted

from ensemblage.kernels import PackedTrees, forest_shares
from ensemblage.messages import expect, expect_array

Array = NDArray[np.float64]


class PackedForest(BaseEstimator):
    """A random forest, or extra trees on bootstraps; ``judged`` keeps its out-of-bag answers."""

    def __init__(
        self,
        n_trees: int = 100,
        *,
        extra: bool = False,
        min_leaf: int = 1,
        judged: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_trees = n_trees
        self.extra = extra
        self.min_leaf = min_leaf
        self.judged = judged
        self.random_state = random_state

    def _grow(self, kind: Any, X: Any, y: Any, sample_weight: Any) -> Any:
        """Grow a forest of scikit-learn, and pack its trees."""
        forest = kind(
            self.n_trees,
            min_samples_leaf=self.min_leaf,
            bootstrap=True,
            oob_score=self.judged,
            random_state=self.random_state,
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
            forest.fit(X, y, sample_weight)
        self.n_features_in_ = forest.n_features_in_
        packed = pack_trees([each.tree_ for each in forest.estimators_])
        for name, values in packed._asdict().items():
            setattr(self, f"{name}_", values)
        return forest

    @property
    def _trees(self) -> PackedTrees:
        return PackedTrees(*(getattr(self, f"{name}_") for name in PackedTrees._fields))

    def _mean_leaves(self, X: Any) -> Array:
        """Give the mean of the leaves that rows reach, (n_samples, n_outputs)."""
        check_is_fitted(self)
        with np.errstate(over="ignore"):  # beyond what four bytes hold is infinite, as it may be
            rows = np.ascontiguousarray(X, dtype=np.float32)
        return forest_shares(self._trees, rows)

    def _check_trees(self, n_outputs: int) -> None:
        """Refuse nodes that point elsewhere: they are followed without looking."""
        nodes, leaves = len(self.features_), len(self.leaves_)
        high = self.n_features_in_ - 1
        expect_array(self, "features_", [None], "integer", low=0, high=high)
        expect_array(self, "thresholds_", [nodes])
        expect_array(self, "leaves_", [None, n_outputs])
        expect_array(self, "roots_", [None], "integer", low=-leaves, high=nodes - 1)
        expect_array(self, "children_", [nodes, 2], "integer", low=-leaves, high=nodes - 1)
        later = (self.children_ < 0) | (self.children_ > np.arange(nodes)[:, None])
        expect(bool(later.all()), "children_ lead back")
        expect(len(self.roots_) > 0, "there are no trees")
        sizes = {each.dtype.itemsize for each in self._trees}
        expect(sizes == {4}, "its trees have numbers of another size")


class Forest(ClassifierMixin, PackedForest):
    """A forest of classes."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees, and pack them."""
        kind = ExtraTreesClassifier if self.extra else RandomForestClassifier
        forest = self._grow(kind, X, y, sample_weight)
        self.classes_ = forest.classes_
        if self.judged:
            self.out_of_bag_ = forest.oob_decision_function_
        return self

    def predict_proba(self, X: Any) -> Array:
        """Give the mean of the trees' probabilities, (n_samples, n_classes)."""
        return self._mean_leaves(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Give classes."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def __check_state__(self) -> None:
        """Refuse trees that do not belong together."""
        self._check_trees(len(self.classes_))
        expect_array(self, "leaves_", [None, len(self.classes_)], low=0, high=1)


class ForestRegressor(RegressorMixin, PackedForest):
    """A forest of numbers; its trees know them in standard deviations from their mean."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees, and pack them."""
        kind = ExtraTreesRegressor if self.extra else RandomForestRegressor
        self.mean_, self.scale_ = centre_and_scale(y, sample_weight)
        forest = self._grow(kind, X, (y - self.mean_) / self.scale_, sample_weight)
        if self.judged:
            # zero, the mean, for a row that every tree knows
            self.out_of_bag_ = self.mean_ + self.scale_ * forest.oob_prediction_
        return self

    def predict(self, X: Any) -> Array:
        """Give the mean of the trees' numbers."""
        return np.asarray(self.mean_ + self.scale_ * self._mean_leaves(X)[:, 0])

    def __check_state__(self) -> None:
        """Refuse trees that do not belong together."""
        self._check_trees(1)
        check_centre_and_scale(self)


def centre_and_scale(y: Array, sample_weight: Any) -> tuple[float, float]:
    """Give mean and standard deviation; one, where numbers do not vary."""
    mean = float(np.average(y, weights=sample_weight))
    scale = float(np.sqrt(np.average((y - mean) ** 2, weights=sample_weight)))
    return mean, scale if scale > 0 else 1.0


def check_centre_and_scale(member: Any) -> None:
    """Refuse a mean or a standard deviation that no fit finds."""
    sound = np.isfinite(member.mean_) and 0 < member.scale_ < np.inf
    expect(bool(sound), "mean_ and scale_ are not those of numbers")


def pack_trees(trees: list[Any]) -> PackedTrees:
    """Put scikit-learn's trees into arrays: inner nodes and leaves apart, in their order."""
    roots, n_nodes, n_leaves, parts = [], 0, 0, []
    for tree in trees:
        inner = tree.children_left >= 0
        places = np.where(inner, np.cumsum(inner) - 1 + n_nodes, -np.cumsum(~inner) - n_leaves)
        roots.append(places[0])
        values = tree.value[~inner, 0]
        of_classes = tree.n_classes[0] > 1
        parts.append(
            (
                tree.feature[inner],
                rounded_down(tree.threshold[inner]),
                places[np.stack([tree.children_left, tree.children_right], axis=1)[inner]],
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


def rounded_down(thresholds: Array) -> NDArray[np.float32]:
    """Give the next lower numbers of four bytes: rows of such numbers fall to the same sides."""
    near = thresholds.astype(np.float32)
    lower: NDArray[np.float32] = np.nextafter(near, np.float32(-np.inf))
    return np.where(near > thresholds, lower, near)
