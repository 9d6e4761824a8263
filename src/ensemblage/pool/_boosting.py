"""Gradient boosting with early stopping; LightGBM that can be saved without pickle."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
from ensemblage.pool._compact_members import centre_and_scale, check_centre_and_scale
from ensemblage.pool._member_spec import Attempt, HeldOut, PoolRows, Recipe, everything, fit_fresh
from ensemblage.pool._targets import mean_loss

Doubles = NDArray[np.float64]


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
    weights: Doubles | None
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

    def _answers(self, raw: Any) -> Doubles:
        """Make answers of what the trees add up to."""
        raise NotImplementedError  # look: ok

    def _ask(self, X: Any) -> Doubles:
        check_is_fitted(self)
        raw = self.booster_.predict(X, raw_score=True, num_threads=self.n_jobs or 1)
        return self._answers(raw)

    def staged(self, X: Any, stages: list[int]) -> Doubles:
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


@set_module("ensemblage.pool")
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

    def _answers(self, raw: Any) -> Doubles:
        return as_probabilities(raw)

    def predict_proba(self, X: Any) -> Doubles:
        """Give probabilities, (n_samples, n_classes)."""
        return self._ask(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Give classes."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _check_fitted(self) -> None:
        """Refuse trees of another number of classes."""
        n_classes = len(self.classes_)
        expect(isinstance(self.booster_, lightgbm().Booster), "booster_ holds no trees")
        sums = int(self.booster_.num_model_per_iteration())
        expect(n_classes > 1 and sums == (1 if n_classes == 2 else n_classes),
               "its trees are of other classes")  # fmt: skip


@set_module("ensemblage.pool")
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

    def _answers(self, raw: Any) -> Doubles:
        return np.asarray(self.mean_ + self.scale_ * np.asarray(raw, dtype=float))

    def predict(self, X: Any) -> Doubles:
        """Give numbers."""
        return self._ask(X)

    def _check_fitted(self) -> None:
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


def as_probabilities(raw: Any) -> Doubles:
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


STAGES = (10, 15, 20, 30, 40, 60, 80, 110, 160, 220, 320, 450, 640, 900)
"""Numbers of rounds to choose from."""
FINE_STAGES = tuple(range(10, 1501, 10))
"""The same, where one setting is grown as long as time allows."""
PATIENCE = 40
"""Rounds without a gain after which no more are grown."""


class BoostingSettings(NamedTuple):
    """What a boosting is tuned by; ``columns`` is the share of them that each tree sees."""

    learning_rate: float
    max_leaves: int
    min_leaf: int
    columns: float
    l2: float


FIVE = (
    BoostingSettings(0.05, 31, 20, 1.0, 0.0),
    BoostingSettings(0.05, 8, 10, 0.5, 1.0),
    BoostingSettings(0.05, 15, 5, 0.3, 1.0),
    BoostingSettings(0.1, 4, 5, 0.8, 0.0),
    BoostingSettings(0.05, 63, 5, 0.5, 10.0),
)
QUICK = BoostingSettings(0.1, 31, 20, 0.8, 1.0)
"""For many rows, of which one setting is as good as another."""


def has_lightgbm() -> bool:
    """Tell whether LightGBM is installed."""
    return find_spec("lightgbm") is not None


class Engine(NamedTuple):
    """Who grows the trees: how a boosting is made, and how one is told where to stop."""

    make: Callable[[BoostingSettings, int, bool], Any]
    watch: Callable[[Any, Watched], dict[str, Any]]


def _make_lightgbm(settings: BoostingSettings, n_rounds: int, numbers: bool) -> Any:
    kind = LightGBMTreesRegressor if numbers else LightGBMTrees
    return kind(n_rounds, **settings._asdict())


def _make_histograms(settings: BoostingSettings, n_rounds: int, numbers: bool) -> Any:
    kind = HistGradientBoostingRegressor if numbers else HistGradientBoostingClassifier
    return kind(
        learning_rate=settings.learning_rate,
        max_iter=n_rounds,
        max_leaf_nodes=settings.max_leaves,
        min_samples_leaf=settings.min_leaf,
        max_features=settings.columns,
        l2_regularization=settings.l2,
        early_stopping=False,
    )


def _watch_histograms(model: Any, watched: Watched) -> dict[str, Any]:
    model.set_params(early_stopping=True, n_iter_no_change=watched.patience, tol=0.0)
    names = {"X_val": watched.X, "y_val": watched.y, "sample_weight_val": watched.weights}
    return {name: value for name, value in names.items() if value is not None}


ENGINES = {
    "lightgbm": Engine(_make_lightgbm, lambda _, watched: {"watched": watched}),
    "sklearn": Engine(_make_histograms, _watch_histograms),
}


class Grown(NamedTuple):
    """One setting on a fold: its outputs after each stage, (n_stages, n_test, n_outputs)."""

    outputs: Doubles
    rounds: int
    model: Any


@dataclass(frozen=True)
class Boosting(Recipe):
    """Candidates are settings; each is judged at several numbers of rounds."""

    engine: str = "lightgbm"
    stages: tuple[int, ...] = STAGES
    threads: int | None = None
    seconds: float | None = None

    def in_time(self, seconds: float, threads: int) -> Boosting:
        """Give boosting of one setting that is grown for so many seconds on so many threads."""
        return replace(
            self, candidates=(QUICK,), stages=FINE_STAGES, seconds=seconds, threads=threads
        )

    @property
    def response(self) -> str:
        """Method that the member is asked for."""
        return "predict" if self.numbers else "predict_proba"

    def build(self, chosen: int) -> Any:
        """Give boosting with the settings and the rounds of that number."""
        settings, rounds = list(product(self.candidates, self.stages))[chosen]
        return self._make(settings, rounds)

    def _make(self, settings: BoostingSettings, rounds: int) -> Any:
        model = ENGINES[self.engine].make(settings, rounds, self.numbers)
        return model if self.engine == "sklearn" else model.set_params(n_jobs=self.threads)

    def attempt(self, rows: PoolRows, part: Fold | None, seed: int) -> Attempt:
        """Try the settings on a fold; where that was a matter of time, keep what has grown."""
        start = perf_counter()
        train, test = part or everything(rows)
        fold = Fold(self.learned(rows, train, seed), test)
        grown = [self._grow(each, rows, fold, seed) for each in self.candidates]
        outputs = np.concatenate([each.outputs for each in grown])
        model = None if self.seconds is None else grown[0].model
        rounds = tuple(each.rounds for each in grown)
        return Attempt(outputs, perf_counter() - start, model, rounds)

    def may_be_chosen(self, attempts: Sequence[Attempt]) -> NDArray[np.bool_]:
        """Rule out stages that half of the folds have not reached: they repeat their last word.

        That is near their best, so that too many rounds would seem harmless.
        """
        reached = np.median([attempt.rounds for attempt in attempts], axis=0)
        allowed = np.array(self.stages) <= reached[:, None]
        allowed[:, 0] = True
        return allowed.ravel()

    def choose(self, rows: PoolRows, attempts: Sequence[Attempt]) -> HeldOut:
        """Take the best settings and rounds; what was kept is cut to these rounds."""
        held = super().choose(rows, attempts)
        setting, stage = divmod(held.chosen, len(self.stages))
        needed = min(1.0, self.stages[stage] / max(1, attempts[0].rounds[setting]))
        if not isinstance(held.model, GrownTrees):
            return held._replace(model=None, needed=needed)
        return held._replace(model=held.model.cut(self.stages[stage]), needed=needed)

    def loss(self, outputs: Doubles, rows: PoolRows) -> float:
        """Mean loss as it is: a temperature would favour too many rounds."""
        known = rows.held_out
        losses = rows.target.plain_losses(outputs[known], rows.y[known])
        return mean_loss(losses, rows.weights_at(known))

    def _grow(self, settings: BoostingSettings, rows: PoolRows, fold: Fold, seed: int) -> Grown:
        """Grow one setting until the other rows of the fold no longer gain."""
        asked, y = take_rows(rows.X, fold.test), rows.y[fold.test]
        classes, weights = np.unique(rows.y[fold.train]), rows.weights_at(fold.test)
        if len(classes) == 1:
            constant = rows.target.constant_member(rows.y[fold.train])
            said = rows.target.outputs(constant, asked, self.response)
            return Grown(np.stack([said] * len(self.stages)), self.stages[-1], None)
        known = (
            np.isin(y, classes) if rows.target.is_classification else np.ones(len(y), dtype=bool)
        )
        known_weights = None if weights is None else weights[known]
        watched = Watched(asked[known], y[known], known_weights, PATIENCE, self.seconds)
        model = self._make(settings, self._most_rounds(settings, rows, fold))
        passed = ENGINES[self.engine].watch(model, watched) if known.any() else {}
        model = fit_fresh(model, rows, fold.train, seed, **passed)
        staged = staged_answers(model, asked, list(self.stages))
        return Grown(rows.target.staged(staged, classes), n_rounds(model), model)

    def _most_rounds(self, settings: BoostingSettings, rows: PoolRows, fold: Fold) -> int:
        """Limit the rounds: scikit-learn's boosting cannot be stopped by the clock."""
        if self.engine == "lightgbm" or self.seconds is None:
            return self.stages[-1]
        start = perf_counter()
        fit_fresh(self._make(settings, 5), rows, fold.train, 0)
        return int(np.clip(5 * self.seconds / (perf_counter() - start), 10, self.stages[-1]))


def n_rounds(model: Any) -> int:
    """Count the rounds that a boosting has grown."""
    trees = isinstance(model, GrownTrees)
    return int(model.booster_.current_iteration() if trees else model.n_iter_)


def staged_answers(model: Any, X: Any, stages: list[int]) -> Doubles:
    """Ask a boosting after so many rounds each; one that stopped earlier repeats its last word."""
    if isinstance(model, GrownTrees):
        return model.staged(X, stages)
    ask = getattr(model, "staged_predict_proba", None) or model.staged_predict
    staged: list[Doubles] = []
    for done, last in enumerate(ask(X), 1):
        if done == stages[len(staged)]:
            staged.append(last)
    return np.stack(staged + [last] * (len(stages) - len(staged)))
