"""LightGBM's trees as a member that a model file can hold: no pickle, only its own text."""

from __future__ import annotations

import re
import time
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from ensemblage.messages import expect, require
from ensemblage.parallel import guarded_fit
from ensemblage.pool._forest import centre_and_scale, check_centre_and_scale

Array = NDArray[np.float64]

FIXED = {
    "verbosity": -1,
    "deterministic": True,  # also for any number of threads
    "force_col_wise": True,
    "feature_pre_filter": False,
}


class Watched(NamedTuple):
    """Rows that are not learned; growth stops after ``patience`` rounds in which they gain nothing.

    Their classes are among those that are learned. Growth also stops when its ``seconds`` are up.
    """

    X: Any
    y: NDArray[Any]
    weights: Array | None
    patience: int
    seconds: float | None = None


def lightgbm() -> Any:
    """Import LightGBM, or say how to get it."""
    return require(
        "lightgbm", "This member", extra="boost",
        otherwise="scikit-learn's boosting stands in for it in new pools.",
    )  # fmt: skip


class GrownTrees(BaseEstimator):
    """Gradient boosting by LightGBM, for so many rounds."""

    def __init__(
        self,
        n_rounds: int = 100,
        *,
        learning_rate: float = 0.05,
        max_leaves: int = 31,
        min_leaf: int = 20,
        columns: float = 1.0,
        l2: float = 0.0,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.max_leaves = max_leaves
        self.min_leaf = min_leaf
        self.columns = columns
        self.l2 = l2
        self.n_jobs = n_jobs
        self.random_state = random_state

    def settings(self) -> dict[str, Any]:
        """Give LightGBM's own parameters, but for what it is to predict."""
        return {
            **FIXED,
            "learning_rate": self.learning_rate,
            "num_leaves": self.max_leaves,
            "min_data_in_leaf": self.min_leaf,
            "feature_fraction": self.columns,
            "lambda_l2": self.l2,
            "num_threads": self.n_jobs or 1,
            "seed": self.random_state or 0,
        }

    def _grow(
        self, X: Any, y: Any, sample_weight: Any, watched: Watched | None, **objective: Any
    ) -> None:
        """Grow the trees, fewer if watched rows say so; both targets as LightGBM is to see them."""
        lgb = lightgbm()
        self.n_features_in_ = X.shape[1]
        settings, stop = {**objective, **self.settings()}, {}
        learned = lgb.Dataset(X, y, weight=sample_weight, params=settings)
        if watched is not None:
            test = lgb.Dataset(watched.X, watched.y, weight=watched.weights, reference=learned)
            stop = {
                "valid_sets": [test],
                "callbacks": [
                    lgb.early_stopping(watched.patience, verbose=False),
                    *([] if watched.seconds is None else [_stop_after(watched.seconds)]),
                ],
            }
        grown = lgb.train(settings, learned, self.n_rounds, keep_training_booster=True, **stop)
        # all rounds: LightGBM would drop those after the best, and later stages would seem as good
        self.booster_ = lgb.Booster(model_str=grown.model_to_string(num_iteration=-1))

    def _answers(self, raw: Any) -> Array:
        """Make answers of what the trees add up to."""
        raise NotImplementedError  # look: ok

    def _ask(self, X: Any) -> Array:
        check_is_fitted(self)
        raw = self.booster_.predict(X, raw_score=True, num_threads=self.n_jobs or 1)
        return self._answers(raw)

    def staged(self, X: Any, stages: list[int]) -> Array:
        """Give answers after so many rounds each; the first axis is that of the stages."""
        total, done, staged = np.zeros(1), 0, []
        last = self.booster_.current_iteration()
        for stage in stages:
            end = min(stage, last)
            if end > done:
                more = self.booster_.predict(
                    X, raw_score=True, start_iteration=done, num_iteration=end - done
                )
                total, done = total + more, end
            staged.append(self._answers(total))
        return np.stack(staged)

    def cut(self, n_rounds: int) -> Self:
        """Give the same trees without those of later rounds."""
        shorter: Self = clone(self).set_params(n_rounds=n_rounds)
        for name, kept in vars(self).items():
            if name.endswith("_"):
                setattr(shorter, name, kept)
        text = self.booster_.model_to_string(num_iteration=n_rounds)
        shorter.booster_ = lightgbm().Booster(model_str=text)
        return shorter

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        booster = state.pop("booster_", None)
        return state if booster is None else {**state, "text": booster.model_to_string()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        text = state.pop("text", None)
        super().__setstate__(state)
        if text is not None:
            check_text(text, self.n_features_in_)
            self.booster_ = lightgbm().Booster(model_str=text)


class LightGBMTrees(ClassifierMixin, GrownTrees):
    """Boosted trees of classes."""

    @guarded_fit
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, watched: Watched | None = None
    ) -> Self:
        """Grow the trees, fewer if watched rows say so."""
        self.classes_, numbers = np.unique(y, return_inverse=True)
        n_classes = len(self.classes_)
        several = {"objective": "multiclass", "num_class": n_classes}
        objective = {"objective": "binary"} if n_classes == 2 else several
        if watched is not None:
            watched = watched._replace(y=np.searchsorted(self.classes_, watched.y))
        self._grow(X, numbers, sample_weight, watched, **objective)
        return self

    def _answers(self, raw: Any) -> Array:
        return as_probabilities(raw)

    def predict_proba(self, X: Any) -> Array:
        """Give probabilities, (n_samples, n_classes)."""
        return self._ask(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Give classes."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def __check_state__(self) -> None:
        """Refuse trees of another number of classes."""
        n_classes = len(self.classes_)
        expect(isinstance(self.booster_, lightgbm().Booster), "booster_ holds no trees")
        sums = int(self.booster_.num_model_per_iteration())
        expect(n_classes > 1 and sums == (1 if n_classes == 2 else n_classes),
               "its trees are of other classes")  # fmt: skip


class LightGBMTreesRegressor(RegressorMixin, GrownTrees):
    """Boosted trees of numbers, which they know in standard deviations from their mean.

    LightGBM keeps targets in four bytes: numbers far from zero would all be the same.
    """

    @guarded_fit
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, watched: Watched | None = None
    ) -> Self:
        """Grow the trees, fewer if watched rows say so."""
        self.mean_, self.scale_ = centre_and_scale(y, sample_weight)
        if watched is not None:
            watched = watched._replace(y=(watched.y - self.mean_) / self.scale_)
        standard = (y - self.mean_) / self.scale_
        self._grow(X, standard, sample_weight, watched, objective="regression")
        return self

    def _answers(self, raw: Any) -> Array:
        return np.asarray(self.mean_ + self.scale_ * np.asarray(raw, dtype=float))

    def predict(self, X: Any) -> Array:
        """Give numbers."""
        return self._ask(X)

    def __check_state__(self) -> None:
        """Refuse a mean or a standard deviation that no fit finds."""
        expect(isinstance(self.booster_, lightgbm().Booster), "booster_ holds no trees")
        check_centre_and_scale(self)


def _stop_after(seconds: float) -> Any:
    """Make a callback that ends the growth when its time is up."""
    end, stop = time.perf_counter() + seconds, lightgbm().callback.EarlyStopException

    def look(state: Any) -> None:
        if time.perf_counter() > end:
            raise stop(state.iteration, state.evaluation_result_list)

    return look


def as_probabilities(raw: Any) -> Array:
    """Turn log odds, (n_samples,), or scores, (n_samples, n_classes), into probabilities."""
    raw = np.asarray(raw, dtype=float)
    if raw.ndim == 1:
        raw = np.stack([np.zeros(len(raw)), raw], axis=1)
    raw = raw - raw.max(axis=1, keepdims=True)
    odds = np.exp(raw)
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def check_text(text: str, n_features: int) -> None:
    """Refuse trees that point outside of their arrays: LightGBM follows them without looking."""
    header, *trees = re.split(r"^Tree=\d+$", text.partition("end of trees")[0], flags=re.MULTILINE)
    widest = _fields(header).get("max_feature_idx")
    expect(widest == str(n_features - 1), f"its trees are not of {n_features} columns")
    for each in trees:
        fields = _fields(each)
        n_inner = int(fields["num_leaves"]) - 1
        features = _numbers(fields, "split_feature")
        sound = (
            fields["num_cat"] == "0"
            and not (_numbers(fields, "decision_type") % 2).any()  # odd: a set of words
            and len(features) == n_inner
            and bool(((features >= 0) & (features < n_features)).all())
            and _children_are_sound(_numbers(fields, "left_child"), n_inner)
            and _children_are_sound(_numbers(fields, "right_child"), n_inner)
        )
        expect(sound, "the nodes of a tree point elsewhere")


def _fields(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _numbers(fields: dict[str, str], name: str) -> NDArray[np.int64]:
    return np.array(fields.get(name, "").split(), dtype=np.int64)


def _children_are_sound(children: NDArray[np.int64], n_inner: int) -> bool:
    """Tell whether inner children stand after their parent, and leaves, from -1 down, exist."""
    inner = np.flatnonzero(children >= 0)
    return bool(
        len(children) == n_inner
        and (children[inner] > inner).all()
        and (children < n_inner).all()
        and (children >= -n_inner - 1).all()
    )
