"""Gradient boosting with early stopping; LightGBM models saved without pickle."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from itertools import product
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import Fold, expect, guarded_fit, require, set_module, take_rows
from ensemblage.pool._catboost import (
    MAX_STALLED_ROUNDS,
    CatBoostClassifier,
    CatBoostRegressor,
)
from ensemblage.pool._compact_members import (
    PackedTrees,
    as_probabilities,
    check_target_moments,
    sum_leaf_values,
    target_moments,
)
from ensemblage.pool._member_spec import (
    FoldPredictions,
    MemberSpec,
    TrainingData,
    TunedMember,
    fit_clone,
    mean_loss,
)

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]

CATBOOST = "catboost"
"""Library of boosting with symmetric trees."""
FIXED_PARAMETERS = {
    "verbosity": -1,
    "deterministic": True,  # the same model with any number of threads
    "force_col_wise": True,
    "feature_pre_filter": False,
}
CATEGORY_PARAMETERS = {
    "min_data_per_group": 10,  # fewest rows of a category that may be split off
    "cat_smooth": 10.0,
}
N_ROUNDS_GRID = (10, 15, 20, 30, 40, 60, 80, 110, 160, 220, 320, 450, 640, 900)
"""Candidates of the number of rounds."""
N_ROUNDS_FINE_GRID = tuple(np.unique(np.geomspace(10, 3000, 120).astype(int)).tolist())
"""The same, where one setting is boosted to its end."""
N_CATBOOST_ROUNDS_GRID = (10, 20, 30, 40, 60, 80, 110, 160, 220, 300, 400)
"""The same for CatBoost, whose trees are all of one shape."""
PILOT_ROUNDS = 5
"""Rounds of the fit that measures the time per round."""


class BoostingSettings(NamedTuple):
    """Hyperparameters of boosting; ``max_features`` is the share of columns for each tree."""

    learning_rate: float
    max_leaf_nodes: int
    min_samples_leaf: int
    max_features: float
    l2: float


SETTINGS_GRID = (
    BoostingSettings(0.05, 31, 20, 1.0, 0.0),
    BoostingSettings(0.05, 8, 10, 0.5, 1.0),
    BoostingSettings(0.05, 15, 5, 0.3, 1.0),
    BoostingSettings(0.1, 4, 5, 0.8, 0.0),
    BoostingSettings(0.05, 63, 5, 0.5, 10.0),
)


class CatBoostSettings(NamedTuple):
    """Hyperparameters of CatBoost; ``n_leaf_steps`` are Newton steps for the values of leaves."""

    learning_rate: float
    n_leaf_steps: int | None = None


CATBOOST_SETTINGS = CatBoostSettings(0.06)
LARGE_DATA_SETTINGS = BoostingSettings(0.05, 31, 20, 0.8, 1.0)
"""Hyperparameters for large data, where they matter little."""
LARGE_DATA_CATBOOST_SETTINGS = CatBoostSettings(0.15, n_leaf_steps=1)
"""The same for CatBoost: half the time of its defaults at the same loss."""


def has_lightgbm() -> bool:
    return find_spec("lightgbm") is not None


def has_catboost() -> bool:
    return find_spec("catboost") is not None


def installed_library() -> str:
    """Return the boosting library that new pools use."""
    return "lightgbm" if has_lightgbm() else "sklearn"


def lightgbm() -> Any:
    """Import LightGBM, or raise with how to install it."""
    return require(
        "lightgbm", "This member", extra="boost",
        otherwise="New pools use scikit-learn's boosting instead.",
    )  # fmt: skip


class BaseLightGBM(BaseEstimator):
    """Gradient boosting by LightGBM; a subclass defines the target.

    ``categorical`` are the positions of columns with codes of categories.
    """

    def __init__(
        self,
        n_rounds: int = 100,
        *,
        learning_rate: float = 0.05,
        max_leaf_nodes: int = 31,
        min_samples_leaf: int = 20,
        max_features: float = 1.0,
        l2: float = 0.0,
        categorical: Any = (),
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.l2 = l2
        self.categorical = categorical
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _encode_target(self, y: Any, sample_weight: Any) -> dict[str, Any]:
        """Store classes or scale of the target; return LightGBM's objective."""
        raise NotImplementedError  # look: ok

    def _as_lightgbm(self, y: Any) -> NDArray[Any]:
        """Return the target in LightGBM's form."""
        raise NotImplementedError  # look: ok

    def _outputs(self, raw: Any) -> Doubles:
        """Convert raw scores to predictions."""
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
        objective = self._encode_target(y, sample_weight)
        lgb = lightgbm()
        self.n_features_in_ = X.shape[1]
        parameters, stop = (
            {
                **objective,
                **FIXED_PARAMETERS,
                "learning_rate": self.learning_rate,
                "num_leaves": self.max_leaf_nodes,
                "min_data_in_leaf": self.min_samples_leaf,
                "feature_fraction": self.max_features,
                "lambda_l2": self.l2,
                **(CATEGORY_PARAMETERS if self.categorical else {}),
                "num_threads": self.n_jobs or 1,
                "seed": self.random_state or 0,
            },
            {},
        )
        train = lgb.Dataset(
            X, self._as_lightgbm(y), weight=sample_weight, params=parameters,
            categorical_feature=list(self.categorical),
        )  # fmt: skip
        if eval_set is not None:
            rows, targets, weights = eval_set
            test = lgb.Dataset(rows, self._as_lightgbm(targets), weight=weights, reference=train)
            callbacks = [lgb.early_stopping(MAX_STALLED_ROUNDS, verbose=False)]
            if max_seconds is not None:
                callbacks.append(_stop_after(max_seconds))
            stop = {"valid_sets": [test], "callbacks": callbacks}
        grown = lgb.train(parameters, train, self.n_rounds, keep_training_booster=True, **stop)
        # keep all rounds: LightGBM drops those after the best, and later stages would repeat it
        self.booster_ = lgb.Booster(model_str=grown.model_to_string(num_iteration=-1))
        vars(self).pop("_packed_trees", None)
        return self

    def _predict_raw(self, X: Any) -> Doubles:
        check_is_fitted(self)
        numbers = isinstance(X, np.ndarray) and X.dtype.kind == "f"
        if numbers and X.shape[1:] == (self.n_features_in_,) and not np.isnan(X).any():
            trees = self._packed_trees
            if trees is not None:
                n_outputs = self.booster_.num_model_per_iteration()
                raw = sum_leaf_values(trees, X, n_outputs)
                return self._outputs(raw[:, 0] if n_outputs == 1 else raw)
        raw = self.booster_.predict(X, raw_score=True, num_threads=self.n_jobs or 1)
        return self._outputs(raw)

    @property
    def n_rounds_(self) -> int:
        """Rounds that were boosted."""
        return int(self.booster_.current_iteration())

    @cached_property
    def _packed_trees(self) -> PackedTrees | None:
        """The trees, which are summed up to the same bits in a fraction of LightGBM's time."""
        return pack_text(self.booster_.model_to_string())

    def staged_outputs(self, X: Any, n_rounds: list[int]) -> Doubles:
        """Return predictions after each number of rounds, on the first axis."""
        total, done, staged, last = np.zeros(1), 0, [], self.n_rounds_
        for each in n_rounds:
            end = min(each, last)
            if end > done:
                more = self.booster_.predict(
                    X, raw_score=True, start_iteration=done, num_iteration=end - done
                )
                total, done = total + more, end
            staged.append(self._outputs(total))
        return np.stack(staged)

    def truncate(self, n_rounds: int) -> Self:
        """Return a copy without the trees of later rounds."""
        shorter: Self = clone(self).set_params(n_rounds=n_rounds)
        for name, kept in vars(self).items():
            if name.endswith("_"):
                setattr(shorter, name, kept)
        text = self.booster_.model_to_string(num_iteration=n_rounds)
        shorter.booster_ = lightgbm().Booster(model_str=text)
        return shorter

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_packed_trees", None)
        booster = state.pop("booster_", None)
        return state if booster is None else {**state, "text": booster.model_to_string()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        text = state.pop("text", None)
        super().__setstate__(state)
        if text is not None:
            check_text(text, self.n_features_in_)
            self.booster_ = lightgbm().Booster(model_str=text)


@set_module("ensemblage.pool")
class LightGBMClassifier(ClassifierMixin, BaseLightGBM):
    """Boosted trees for classification."""

    def _encode_target(self, y: Any, sample_weight: Any) -> dict[str, Any]:
        del sample_weight
        self.classes_ = np.unique(y)
        n_classes = len(self.classes_)
        several = {"objective": "multiclass", "num_class": n_classes}
        return {"objective": "binary"} if n_classes == 2 else several

    def _as_lightgbm(self, y: Any) -> NDArray[Any]:
        return np.asarray(np.searchsorted(self.classes_, y))

    def _outputs(self, raw: Any) -> Doubles:
        return as_probabilities(raw)

    def predict_proba(self, X: Any) -> Doubles:
        return self._predict_raw(X)

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _check_fitted(self) -> None:
        n_classes = len(self.classes_)
        expect(isinstance(self.booster_, lightgbm().Booster), "booster_ holds no trees")
        sums = int(self.booster_.num_model_per_iteration())
        expect(n_classes > 1 and sums == (1 if n_classes == 2 else n_classes),
               "its trees are of other classes")  # fmt: skip


@set_module("ensemblage.pool")
class LightGBMRegressor(RegressorMixin, BaseLightGBM):
    """Boosted trees for regression on the standardised target.

    LightGBM stores targets as float32, which would make values far from zero equal.
    """

    def _encode_target(self, y: Any, sample_weight: Any) -> dict[str, Any]:
        self.mean_, self.scale_ = target_moments(y, sample_weight)
        return {"objective": "regression"}

    def _as_lightgbm(self, y: Any) -> NDArray[Any]:
        return np.asarray((y - self.mean_) / self.scale_)

    def _outputs(self, raw: Any) -> Doubles:
        return np.asarray(self.mean_ + self.scale_ * np.asarray(raw, dtype=float))

    def predict(self, X: Any) -> Doubles:
        return self._predict_raw(X)

    def _check_fitted(self) -> None:
        expect(isinstance(self.booster_, lightgbm().Booster), "booster_ holds no trees")
        check_target_moments(self)


def _stop_after(seconds: float) -> Any:
    """Return a callback that stops boosting after so many seconds."""
    end, stop = perf_counter() + seconds, lightgbm().callback.EarlyStopException

    def check(state: Any) -> None:
        if perf_counter() > end:
            raise stop(state.iteration, state.evaluation_result_list)

    return check


def pack_text(text: str) -> PackedTrees | None:
    """Pack the trees of LightGBM's text; None if some splits are not of numbers without NaN."""
    found: dict[str, list[str]] = {}
    for line in text.partition("end of trees")[0].splitlines():
        name, _, values = line.partition("=")
        found.setdefault(name, []).append(values)

    def joined(name: str, dtype: Any = np.int32) -> NDArray[Any]:
        return np.array(" ".join(found.get(name, ())).split(), dtype=dtype)

    sizes, decisions = joined("num_leaves"), joined("decision_type")
    features, thresholds = joined("split_feature"), joined("threshold", np.float64)
    leaves = joined("leaf_value", np.float64)
    inner = sizes - 1
    lengths = {len(each) for each in (decisions, features, thresholds)}
    complete = lengths == {inner.sum()} and len(leaves) == sizes.sum() > 0
    # its bits are: by categories, missing values go left, and two for what a missing value is
    if not complete or (decisions & ~2).any():
        return None
    first_nodes, first_leaves = np.cumsum(inner) - inner, np.cumsum(sizes) - sizes
    children = np.stack([joined("left_child"), joined("right_child")], axis=1)
    tree = np.repeat(np.arange(len(sizes)), inner)[:, None]
    children += np.where(children < 0, -first_leaves[tree], first_nodes[tree]).astype(np.int32)
    roots = np.where(inner > 0, first_nodes, -1 - first_leaves).astype(np.int32)
    return PackedTrees(roots, features, thresholds, children, leaves[:, None])


def check_text(text: str, n_features: int) -> None:
    """Refuse trees that point outside of their arrays: LightGBM follows them without checks."""
    header, *trees = re.split(r"^Tree=\d+$", text.partition("end of trees")[0], flags=re.MULTILINE)
    widest = _fields(header).get("max_feature_idx")
    expect(widest == str(n_features - 1), f"its trees are not of {n_features} columns")
    for each in trees:
        fields = _fields(each)
        n_inner = int(fields["num_leaves"]) - 1
        features = _integers(fields, "split_feature")
        valid = (
            _categories_are_valid(fields)
            and len(features) == n_inner
            and bool(((features >= 0) & (features < n_features)).all())
            and all(
                _children_are_valid(_integers(fields, side), n_inner)
                for side in ("left_child", "right_child")
            )
        )
        expect(valid, "the nodes of a tree point outside of it")


def _categories_are_valid(fields: dict[str, str]) -> bool:
    """Whether every split by categories, of odd type, points at a set of them that is there.

    Set k are the bits of the words from ``cat_boundaries[k]`` to ``cat_boundaries[k + 1]``.
    """
    n_sets = int(fields["num_cat"])
    by_categories = _integers(fields, "decision_type") % 2 == 1
    if n_sets == 0:
        return not by_categories.any()
    thresholds = np.array(fields.get("threshold", "").split(), dtype=float)
    bounds, words = _integers(fields, "cat_boundaries"), _integers(fields, "cat_threshold")
    if len(thresholds) != len(by_categories) or len(bounds) != n_sets + 1:
        return False
    sets = thresholds[by_categories]
    return bool(
        np.isin(sets, np.arange(n_sets)).all()
        and bounds[0] == 0
        and (np.diff(bounds) > 0).all()
        and bounds[-1] == len(words)
    )


def _fields(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _integers(fields: dict[str, str], name: str) -> NDArray[np.int64]:
    return np.array(fields.get(name, "").split(), dtype=np.int64)


def _children_are_valid(children: NDArray[np.int64], n_inner: int) -> bool:
    """Whether inner children come after their parent, and leaves, from -1 down, exist."""
    inner = np.flatnonzero(children >= 0)
    return bool(
        len(children) == n_inner
        and (children[inner] > inner).all()
        and (children < n_inner).all()
        and (children >= -n_inner - 1).all()
    )


@dataclass(frozen=True)
class Boosting(MemberSpec):
    """Candidates are settings, each evaluated at several numbers of rounds.

    ``categorical`` are the positions of columns with codes of categories, which scikit-learn's
    boosting splits as numbers: with categories, its models are not trusted by ``load``.
    """

    library: str = "lightgbm"
    categorical: tuple[int, ...] = ()
    n_rounds: tuple[int, ...] = N_ROUNDS_GRID
    n_threads: int | None = None
    seconds: float | None = None
    keeps_model: bool = False

    def to_the_end(
        self, n_threads: int, *, seconds: float | None = None, max_rounds: int | None = None
    ) -> Boosting:
        """Return boosting of one setting until early stopping, or so many seconds or rounds."""
        settings: Any = LARGE_DATA_SETTINGS
        if self.library == CATBOOST:
            settings = LARGE_DATA_CATBOOST_SETTINGS
        first, *others = N_ROUNDS_FINE_GRID
        rounds = (first, *(each for each in others if max_rounds is None or each <= max_rounds))
        return replace(
            self, candidates=(settings,), n_rounds=rounds,
            seconds=seconds, n_threads=n_threads, keeps_model=True,
        )  # fmt: skip

    @property
    def response(self) -> str:
        return "predict" if self.numeric else "predict_proba"

    def build(self, chosen: int) -> Any:
        return self._make(*list(product(self.candidates, self.n_rounds))[chosen])

    def _make(self, settings: Any, n_rounds: int) -> Any:
        if self.library == CATBOOST:
            symmetric = CatBoostRegressor if self.numeric else CatBoostClassifier
            return symmetric(n_rounds, **settings._asdict(), n_jobs=self.n_threads)
        if self.library == "lightgbm":
            kind = LightGBMRegressor if self.numeric else LightGBMClassifier
            return kind(
                n_rounds, **settings._asdict(), categorical=self.categorical, n_jobs=self.n_threads
            )
        histograms = (
            HistGradientBoostingRegressor if self.numeric else HistGradientBoostingClassifier
        )
        return histograms(
            learning_rate=settings.learning_rate,
            max_iter=n_rounds,
            max_leaf_nodes=settings.max_leaf_nodes,
            min_samples_leaf=settings.min_samples_leaf,
            max_features=settings.max_features,
            l2_regularization=settings.l2,
            early_stopping=False,
        )

    def fit_predict_fold(self, data: TrainingData, fold: Fold | None, seed: int) -> FoldPredictions:
        """Boost the settings on a fold."""
        start = perf_counter()
        limited = self.limit_training_rows(data, fold, seed)
        grown = [self._boost(each, data, limited, seed) for each in self.candidates]
        return FoldPredictions(
            np.concatenate([outputs for outputs, _, _ in grown]),
            perf_counter() - start,
            grown[0][2] if self.keeps_model else None,
            tuple(rounds for _, rounds, _ in grown),
        )

    def eligible(self, tried: Sequence[FoldPredictions]) -> NDArray[np.bool_]:
        """Exclude numbers of rounds that half of the folds have not reached.

        These folds repeat their last outputs, which are near their best, so the loss of too many
        rounds would be too low.
        """
        reached = np.median([each.rounds for each in tried], axis=0)
        allowed = np.array(self.n_rounds) <= reached[:, None]
        allowed[:, 0] = True
        return allowed.ravel()

    def select_candidate(
        self, data: TrainingData, tried: Sequence[FoldPredictions], seed: int
    ) -> TunedMember:
        """Choose the best settings and rounds; truncate a kept model to these rounds."""
        tuned = super().select_candidate(data, tried, seed)
        setting, stage = divmod(tuned.chosen, len(self.n_rounds))
        share = min(1.0, self.n_rounds[stage] / max(1, tried[0].rounds[setting]))
        model = tuned.model
        kept = model.truncate(self.n_rounds[stage]) if hasattr(model, "truncate") else None
        return tuned._replace(model=kept, refit_share=share, rounds=tried[0].rounds[setting])

    def loss(self, outputs: Doubles, data: TrainingData, rows: Indices) -> float:
        """Mean loss without calibration: a temperature would favour too many rounds."""
        losses = data.target.uncalibrated_losses(outputs, data.y[rows])
        return mean_loss(losses, data.weights_at(rows))

    def _boost(
        self, settings: Any, data: TrainingData, fold: Fold, seed: int
    ) -> tuple[Doubles, int, Any]:
        """Boost one setting, with early stopping on the test rows.

        Return outputs after each number of rounds, (n_stages, n_test, n_outputs), the number of
        rounds boosted and the model.
        """
        X, y = take_rows(data.X, fold.test), data.y[fold.test]
        classes, weights = np.unique(data.y[fold.train]), data.weights_at(fold.test)
        if len(classes) == 1:
            constant = data.target.constant_member(data.y[fold.train])
            outputs = data.target.outputs(constant, X, self.response)
            return np.stack([outputs] * len(self.n_rounds)), self.n_rounds[-1], None
        known = np.ones(len(y), dtype=bool)
        if data.target.is_classification:
            known = np.isin(y, classes)
        eval_set = (X[known], y[known], None if weights is None else weights[known])
        model = self._make(settings, self._max_rounds(settings, data, fold))
        passed = self._stop_early(model, eval_set) if known.any() else {}
        model = fit_clone(model, data, fold.train, seed, **passed)
        if hasattr(model, "staged_outputs"):
            staged, rounds = model.staged_outputs(X, list(self.n_rounds)), model.n_rounds_
        else:
            staged, rounds = _staged_predictions(model, X, list(self.n_rounds)), int(model.n_iter_)
        return data.target.outputs_from_stages(staged, classes), rounds, model

    def _stop_early(self, model: Any, eval_set: tuple[Any, Any, Any]) -> dict[str, Any]:
        """Return the arguments of ``fit`` for early stopping."""
        if self.library != "sklearn":
            return {"eval_set": eval_set, "max_seconds": self.seconds}
        model.set_params(early_stopping=True, n_iter_no_change=MAX_STALLED_ROUNDS, tol=0.0)
        names = ("X_val", "y_val", "sample_weight_val")
        given = zip(names, eval_set, strict=True)
        return {name: value for name, value in given if value is not None}

    def _max_rounds(self, settings: BoostingSettings, data: TrainingData, fold: Fold) -> int:
        """Limit the rounds: scikit-learn's boosting has no time limit."""
        if self.library != "sklearn" or self.seconds is None:
            return self.n_rounds[-1]
        start = perf_counter()
        fit_clone(self._make(settings, PILOT_ROUNDS), data, fold.train, 0)
        rounds = PILOT_ROUNDS * self.seconds / (perf_counter() - start)
        return int(np.clip(rounds, 10, self.n_rounds[-1]))


def _staged_predictions(model: Any, X: Any, n_rounds: list[int]) -> Doubles:
    """Predict after each number of rounds; a model that stopped earlier repeats its last."""
    predict = getattr(model, "staged_predict_proba", None) or model.staged_predict
    staged: list[Doubles] = []
    for done, last in enumerate(predict(X), 1):
        if done == n_rounds[len(staged)]:
            staged.append(last)
    return np.stack(staged + [last] * (len(n_rounds) - len(staged)))
