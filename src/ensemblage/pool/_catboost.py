"""Boosting with symmetric trees: grown by CatBoost, stored as arrays, predicted without it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import ColumnUnits, expect, expect_array, guarded_fit, require, set_module
from ensemblage.pool._compact_members import (
    PackedTrees,
    PackedTreesMixin,
    as_probabilities,
    check_target_moments,
    sum_leaf_values,
    target_moments,
)

Doubles = NDArray[np.float64]

MAX_STALLED_ROUNDS = 40
"""Rounds without improvement before early stopping, of all boosting."""
DEPTH = 6
DEPTH_OF_SEVERAL_CLASSES = 4
"""Depth for more than two classes, where a leaf has a value for each."""
FIXED_PARAMETERS = {
    "boosting_type": "Plain",
    "use_best_model": False,
    "verbose": False,
    "allow_writing_files": False,
}


class Split(msgspec.Struct):
    """A row goes to the second side if the feature is above the border."""

    float_feature_index: int
    border: float


class SymmetricTree(msgspec.Struct):
    """All nodes of a level have the same split; the first is the lowest bit of a leaf's number."""

    leaf_values: list[float]
    splits: list[Split] | None = None


class Feature(msgspec.Struct):
    """The place of a numeric feature among all."""

    flat_feature_index: int


class Features(msgspec.Struct):
    """The numeric features."""

    float_features: list[Feature]


class Document(msgspec.Struct):
    """What is read of CatBoost's JSON."""

    features_info: Features
    oblivious_trees: list[SymmetricTree]
    scale_and_bias: tuple[float, list[float]]


class BaseCatBoost(PackedTreesMixin, BaseEstimator):
    """Gradient boosting with symmetric trees by CatBoost; a subclass defines the target."""

    def __init__(
        self,
        n_rounds: int = 100,
        *,
        learning_rate: float = 0.06,
        max_depth: int | None = None,
        max_bins: int = 64,
        n_leaf_steps: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.n_leaf_steps = n_leaf_steps
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _encode_target(self, y: Any, sample_weight: Any) -> dict[str, Any]:
        """Store classes or scale of the target; return CatBoost's objective."""
        raise NotImplementedError  # look: ok

    def _as_catboost(self, y: Any) -> NDArray[Any]:
        """Return the target in CatBoost's form."""
        raise NotImplementedError  # look: ok

    def _constant_scores(self, y: Any, sample_weight: Any) -> Doubles:
        """Return the raw scores without any column, (n_scores,)."""
        raise NotImplementedError  # look: ok

    def _outputs(self, raw: Doubles) -> Doubles:
        """Convert raw scores, (n_samples, n_scores), to predictions."""
        raise NotImplementedError  # look: ok

    @guarded_fit
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        eval_set: tuple[Any, Any, Any] | None = None,
        max_seconds: float | None = None,
    ) -> Self:
        """Boost, with early stopping on the rows, targets and weights of ``eval_set``.

        Its classes must occur in ``y``.
        """
        found = require("catboost", "This member", extra="boost")
        objective = self._encode_target(y, sample_weight)
        rows = np.asarray(X)
        self.n_features_in_ = rows.shape[1]
        counted = slice(None) if sample_weight is None else np.asarray(sample_weight) > 0
        self.offsets_, self.exponents_ = ColumnUnits.of(rows[counted])
        scaled = self._units.scale(rows)
        model = found.CatBoost(
            {
                **objective,
                **FIXED_PARAMETERS,
                "iterations": self.n_rounds,
                "learning_rate": self.learning_rate,
                "depth": self.max_depth or default_depth(objective),
                "border_count": self.max_bins,
                **({"leaf_estimation_iterations": self.n_leaf_steps} if self.n_leaf_steps else {}),
                "thread_count": self.n_jobs or 1,
                "random_seed": self.random_state or 0,
            }
        )
        stop: dict[str, Any] = {}
        if eval_set is not None:
            others, targets, weights = eval_set
            test = found.Pool(
                self._units.scale(np.asarray(others)), self._as_catboost(targets), weight=weights
            )
            stop = {"eval_set": test, "early_stopping_rounds": MAX_STALLED_ROUNDS}
        if max_seconds is not None:
            stop["callbacks"] = [_StopAfter(max_seconds)]
        if (scaled == scaled[0]).all():  # CatBoost refuses columns of which none varies
            self.intercepts_ = self._constant_scores(y, sample_weight)
            self._store(single_leaf(len(self.intercepts_)))
            return self
        model.fit(found.Pool(scaled, self._as_catboost(y), weight=sample_weight), **stop)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            model.save_model(str(path), format="json")
            document = msgspec.json.decode(path.read_bytes(), type=Document)
        trees, self.intercepts_ = pack_symmetric_trees(document)
        self._store(trees)
        return self

    def staged_outputs(self, X: Any, n_rounds: list[int]) -> Doubles:
        """Return predictions after each number of rounds, on the first axis."""
        rows, trees, last = self._units.scale(np.asarray(X)), self._trees, len(self.roots_)
        total, done, staged = np.tile(self.intercepts_, (len(rows), 1)), 0, []
        for each in n_rounds:
            end = min(each, last)
            if end > done:
                more = trees._replace(roots=trees.roots[done:end])
                total, done = total + sum_leaf_values(more, rows), end
            staged.append(self._outputs(total))
        return np.stack(staged)

    def truncate(self, n_rounds: int) -> Self:
        """Return a copy without the trees of later rounds."""
        shorter: Self = clone(self).set_params(n_rounds=n_rounds)
        for name, kept in vars(self).items():
            if name.endswith("_"):
                setattr(shorter, name, kept)
        shorter.roots_ = self.roots_[:n_rounds]
        return shorter

    @property
    def n_rounds_(self) -> int:
        """Rounds that were boosted."""
        return len(self.roots_)

    def _predict_raw(self, X: Any) -> Doubles:
        check_is_fitted(self)
        return self._outputs(
            self.intercepts_ + sum_leaf_values(self._trees, self._units.scale(np.asarray(X)))
        )

    def _check_scores(self, n_scores: int) -> None:
        self._check_trees(n_scores)
        expect_array(self, "intercepts_", [n_scores])


@set_module("ensemblage.pool")
class CatBoostClassifier(ClassifierMixin, BaseCatBoost):
    """Boosted symmetric trees for classification."""

    def _encode_target(self, y: Any, sample_weight: Any) -> dict[str, Any]:
        del sample_weight
        self.classes_ = np.unique(y)
        several = {"loss_function": "MultiClass", "classes_count": len(self.classes_)}
        return {"loss_function": "Logloss"} if len(self.classes_) == 2 else several

    def _as_catboost(self, y: Any) -> NDArray[Any]:
        return np.asarray(np.searchsorted(self.classes_, y))

    def _constant_scores(self, y: Any, sample_weight: Any) -> Doubles:
        logs = np.log(np.bincount(self._as_catboost(y), sample_weight))
        return np.asarray(logs[1:] - logs[:1] if len(logs) == 2 else logs)

    def _outputs(self, raw: Doubles) -> Doubles:
        return as_probabilities(raw[:, 0] if raw.shape[1] == 1 else raw)

    def predict_proba(self, X: Any) -> Doubles:
        return self._predict_raw(X)

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _check_fitted(self) -> None:
        n_classes = len(self.classes_)
        expect(n_classes > 1, "its trees are of other classes")
        self._check_scores(1 if n_classes == 2 else n_classes)


@set_module("ensemblage.pool")
class CatBoostRegressor(RegressorMixin, BaseCatBoost):
    """Boosted symmetric trees for regression on the standardised target."""

    def _encode_target(self, y: Any, sample_weight: Any) -> dict[str, Any]:
        self.mean_, self.scale_ = target_moments(y, sample_weight)
        return {"loss_function": "RMSE"}

    def _as_catboost(self, y: Any) -> NDArray[Any]:
        return np.asarray((y - self.mean_) / self.scale_)

    def _constant_scores(self, y: Any, sample_weight: Any) -> Doubles:
        return np.zeros(1)

    def _outputs(self, raw: Doubles) -> Doubles:
        return np.asarray(self.mean_ + self.scale_ * raw[:, 0])

    def predict(self, X: Any) -> Doubles:
        return self._predict_raw(X)

    def _check_fitted(self) -> None:
        self._check_scores(1)
        check_target_moments(self)


def default_depth(objective: dict[str, Any]) -> int:
    several = objective["loss_function"] == "MultiClass"
    return DEPTH_OF_SEVERAL_CLASSES if several else DEPTH


class _StopAfter:
    """Stops boosting after so many seconds."""

    def __init__(self, seconds: float) -> None:
        self.end = perf_counter() + seconds

    def after_iteration(self, info: Any) -> bool:
        del info
        return perf_counter() < self.end


def single_leaf(n_scores: int) -> PackedTrees:
    """Return one tree that adds nothing."""
    empty = np.zeros(0, dtype=np.int32)
    root, leaf = np.array([-1], dtype=np.int32), np.zeros((1, n_scores), dtype=np.float32)
    return PackedTrees(root, empty, empty.astype(np.float32), np.zeros((0, 2), np.int32), leaf)


def pack_symmetric_trees(document: Document) -> tuple[PackedTrees, Doubles]:
    """Convert CatBoost's trees to inner nodes and leaves; return them and the intercepts.

    The root of a tree has its last split, so that the leaves are in the order of their numbers.
    """
    columns = [each.flat_feature_index for each in document.features_info.float_features]
    scale, intercepts = document.scale_and_bias
    parts: list[tuple[NDArray[Any], ...]] = []
    roots, n_nodes, n_leaves = [], 0, 0
    for tree in document.oblivious_trees:
        splits = (tree.splits or [])[::-1]
        depth, size = len(splits), 1 << len(splits)
        # nodes in breadth-first order; children of node k are 2 k + 1 and 2 k + 2
        below = np.arange(1, 2 * size - 1)
        children = np.where(below < size - 1, below + n_nodes, size - 2 - below - n_leaves)
        levels = np.repeat(np.arange(depth), 1 << np.arange(depth))
        features = np.array([columns[each.float_feature_index] for each in splits], dtype=np.int32)
        borders = np.array([each.border for each in splits], dtype=np.float32)
        values = scale * np.array(tree.leaf_values).reshape(size, -1)
        parts.append((features[levels], borders[levels], children.reshape(-1, 2), values))
        roots.append(n_nodes if depth else -1 - n_leaves)
        n_nodes, n_leaves = n_nodes + size - 1, n_leaves + size
    features, borders, children, leaves = map(np.concatenate, zip(*parts, strict=True))
    packed = PackedTrees(
        np.array(roots, dtype=np.int32),
        features.astype(np.int32),
        borders.astype(np.float32),
        children.astype(np.int32),
        leaves.astype(np.float32),
    )
    return packed, np.array(intercepts, dtype=np.float64)
