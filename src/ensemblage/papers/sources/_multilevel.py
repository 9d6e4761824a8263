"""Study of multilevel tables: the source-aware pool beside its peers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.special import expit
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemblage._core import Fold, deal_folds, require
from ensemblage.datasets import TableEncoder
from ensemblage.papers.sources._multilevel_tables import (
    Doubles,
    Indices,
    MultilevelTable,
)
from ensemblage.papers.sources._study import (
    BOOSTING,
    EARLY_STOPPING_ROUNDS,
    MAX_ROUNDS,
    MIN_DATA_IN_LEAF,
    N_FOLDS,
    NUM_LEAVES,
    calibration_in_the_large,
    log_loss,
)
from ensemblage.pool import EnsemblageClassifier, EnsemblageRegressor
from ensemblage.sources import (
    PartialPoolingClassifier,
    PartialPoolingRegressor,
    class_source_pairs,
)

TRAIN_SHARE = 0.5
MAX_TRAIN_ROWS = 700
COVERAGE = 0.9
"""Of prediction intervals."""
MIN_WORST_ROWS = 10
"""Test rows of a source, at least, for it to be the worst."""
DEPTHS = (4, 6)
"""Of CatBoost's trees."""
CATBOOST_ROUNDS = 500
GPBOOST = {
    "learning_rate": 0.05,
    "num_leaves": 8,
    "min_data_in_leaf": 10,
    "lambda_l2": 1.0,
    "feature_pre_filter": False,
    "num_threads": 1,
    "verbose": -1,
}
SHRINKAGES = ("equal", "relative", "min_n_obs")
"""Of scikit-lego's predictions by source towards the common one."""


class MultilevelRows(NamedTuple):
    """Rows as in the table and encoded, their targets and codes of their sources."""

    X: NDArray[Any]
    Z: Doubles
    y: NDArray[Any]
    sources: Indices

    def with_source(self) -> NDArray[np.object_]:
        """Rows as in the table, with the source as one more categorical column."""
        names = np.array([f"s{code}" for code in self.sources], dtype=object)
        return np.column_stack([self.X.astype(object), names])


class MultilevelTask(NamedTuple):
    """Training and test rows; all sources and classes are in training.

    ``n_classes`` is 0 in a regression.
    """

    train: MultilevelRows
    test: MultilevelRows
    kinds: tuple[str, ...]
    n_classes: int
    seed: int

    @property
    def n_sources(self) -> int:
        return int(self.train.sources.max()) + 1

    def folds(self) -> list[Fold]:
        """Make folds of the training rows, stratified by source and class."""
        rows = self.train
        strata = class_source_pairs(rows.sources, rows.y) if self.n_classes else rows.sources
        return deal_folds(strata, N_FOLDS, np.random.default_rng(self.seed))


class Prediction(NamedTuple):
    """Probabilities or numbers of the test rows, and 90 % prediction intervals if there are any."""

    values: Doubles
    interval: Doubles | None = None


def multilevel_task(table: MultilevelTable, seed: int) -> MultilevelTask:
    """Split a table: half of the rows of each source for training, 700 rows at most.

    Classes are not balanced within the sources: test rows would then reveal the sources' rates.
    """
    rng = np.random.default_rng(seed)
    is_train = draw_training_rows(table, rng)
    train, test = np.flatnonzero(is_train), np.flatnonzero(~is_train)
    encoder = TableEncoder(kinds=list(table.kinds)).fit(table.X[train])
    parts = [
        MultilevelRows(
            table.X[rows], np.asarray(encoder.transform(table.X[rows]), float), table.y[rows],
            table.sources[rows],
        )
        for rows in (train, test)
    ]  # fmt: skip
    return MultilevelTask(parts[0], parts[1], table.kinds, table.n_classes, seed)


def draw_training_rows(table: MultilevelTable, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw systematically from rows ordered by source, until all classes are drawn."""
    n_rows = len(table.y)
    share = min(TRAIN_SHARE, MAX_TRAIN_ROWS / n_rows)
    while True:
        order = rng.permutation(n_rows)
        order = order[np.argsort(table.sources[order], kind="stable")]
        steps = np.floor(rng.random() + share * np.arange(n_rows + 1))
        is_train = np.zeros(n_rows, dtype=bool)
        is_train[order] = np.diff(steps) > 0
        if len(np.unique(table.y[is_train])) >= table.n_classes:
            return is_train


def _fit_pool(task: MultilevelTask, X: Any, **sources: Any) -> Any:
    kind = EnsemblageClassifier if task.n_classes else EnsemblageRegressor
    return kind(random_state=task.seed).fit(X, task.train.y, **sources)


def _predict(task: MultilevelTask, model: Any, X: Any, **sources: Any) -> Prediction:
    """Predict the test rows; the classes are codes from 0."""
    if task.n_classes:
        return Prediction(np.asarray(model.predict_proba(X, **sources), float))
    values = np.asarray(model.predict(X, **sources), float)
    if not hasattr(model, "predict_interval"):
        return Prediction(values)
    return Prediction(values, np.asarray(model.predict_interval(X, coverage=COVERAGE, **sources)))


def _source_aware(task: MultilevelTask) -> Prediction:
    model = _fit_pool(task, task.train.X, sources=task.train.sources)
    return _predict(task, model, task.test.X, sources=task.test.sources)


def _column(task: MultilevelTask) -> Prediction:
    model = _fit_pool(task, task.train.with_source())
    return _predict(task, model, task.test.with_source())


def _blind(task: MultilevelTask) -> Prediction:
    return _predict(task, _fit_pool(task, task.train.X), task.test.X)


def _pooled(task: MultilevelTask, **penalties: Any) -> Prediction:
    """Partial pooling, or a special case of it by given penalties."""
    kind = PartialPoolingClassifier if task.n_classes else PartialPoolingRegressor
    model = kind(random_state=task.seed, **penalties)
    model.fit(task.train.Z, task.train.y, sources=task.train.sources)
    return _predict(task, model, task.test.Z, sources=task.test.sources)


def _lightgbm(task: MultilevelTask) -> Prediction:
    """LightGBM tuned by cross-validation, with the source as a native category."""
    lgb = require("lightgbm", "This method", extra="boost")
    X, X_new = (np.column_stack([rows.Z, rows.sources]) for rows in (task.train, task.test))
    objective: dict[str, Any] = {"objective": "regression"}
    if task.n_classes:
        objective = {"objective": "binary"}
    if task.n_classes > 2:
        objective = {"objective": "multiclass", "num_class": task.n_classes}
    options = {"categorical_feature": [X.shape[1] - 1], "free_raw_data": False}
    found = []
    for leaves, min_data in product(NUM_LEAVES, MIN_DATA_IN_LEAF):
        settings = {**BOOSTING, **objective, "num_leaves": leaves, "min_data_in_leaf": min_data,
                    "seed": task.seed}  # fmt: skip
        data = lgb.Dataset(X, task.train.y, params=settings, **options)
        stop = lgb.early_stopping(EARLY_STOPPING_ROUNDS, verbose=False)
        scores = lgb.cv(settings, data, MAX_ROUNDS, folds=task.folds(), callbacks=[stop])
        losses = next(value for name, value in scores.items() if name.endswith("-mean"))
        found.append((min(losses), int(np.argmin(losses)) + 1, settings))
    _, rounds, settings = min(found, key=lambda each: each[0])
    data = lgb.Dataset(X, task.train.y, params=settings, **options)
    return Prediction(_both_classes(task, lgb.train(settings, data, rounds).predict(X_new)))


def _both_classes(task: MultilevelTask, values: Any) -> Doubles:
    """Probabilities of both classes from those of the last; all others as they are."""
    values = np.asarray(values, float)
    return np.column_stack([1 - values, values]) if task.n_classes == 2 else values


def _catboost(task: MultilevelTask) -> Prediction:
    """CatBoost with native categories; folds choose the depth and the rounds."""
    catboost = require("catboost", "This method")
    categories = [j for j, kind in enumerate((*task.kinds, "categorical")) if kind != "numeric"]
    rows = _catboost_rows(task.train, categories)
    loss = "MultiClass" if task.n_classes > 2 else "Logloss" if task.n_classes else "RMSE"
    settings = {
        "loss_function": loss, "thread_count": 1, "silent": True, "allow_writing_files": False,
        "random_seed": task.seed, "boosting_type": "Plain",
    }  # fmt: skip
    found = []
    for depth in DEPTHS:
        losses, rounds = [], []
        for train, test in task.folds():
            parts = [catboost.Pool(rows[part], task.train.y[part], cat_features=categories)
                     for part in (train, test)]  # fmt: skip
            model = catboost.CatBoost({**settings, "depth": depth, "iterations": CATBOOST_ROUNDS})
            model.fit(parts[0], eval_set=parts[1], early_stopping_rounds=EARLY_STOPPING_ROUNDS)
            losses.append(model.get_best_score()["validation"][loss])
            rounds.append(model.get_best_iteration() + 1)
        found.append((np.mean(losses), round(float(np.mean(rounds))), depth))
    _, n_rounds, depth = min(found)
    data = catboost.Pool(rows, task.train.y, cat_features=categories)
    model = catboost.CatBoost({**settings, "depth": depth, "iterations": n_rounds}).fit(data)
    new = catboost.Pool(_catboost_rows(task.test, categories), cat_features=categories)
    kind = "Probability" if task.n_classes else "RawFormulaVal"
    return Prediction(np.asarray(model.predict(new, prediction_type=kind), float))


def _catboost_rows(rows: MultilevelRows, categories: Sequence[int]) -> NDArray[np.object_]:
    """Rows with the source; categories are texts, and missing ones a category."""
    X = rows.with_source()
    for column in categories:
        X[:, column] = ["missing" if value is None else str(value) for value in X[:, column]]
    return X


def _gpboost(task: MultilevelTask) -> Prediction:
    """Boosted trees plus a random intercept per source; folds choose the rounds."""
    _refuse_many_classes(task, "GPBoost's likelihoods are of two classes or numbers")
    gpb = require("gpboost", "This method")
    likelihood, objective, metric = (
        ("bernoulli_logit", "binary", "binary_logloss") if task.n_classes
        else ("gaussian", "regression", "l2")
    )  # fmt: skip
    settings = {**GPBOOST, "objective": objective, "seed": task.seed}
    rows = task.train
    model = gpb.GPModel(group_data=rows.sources, likelihood=likelihood, num_parallel_threads=1)
    data = gpb.Dataset(rows.Z, rows.y, params=settings, free_raw_data=False)
    scores = gpb.cv(
        settings, data, gp_model=model, num_boost_round=MAX_ROUNDS, folds=task.folds(),
        early_stopping_rounds=EARLY_STOPPING_ROUNDS, metric=metric, verbose_eval=False,
    )  # fmt: skip
    losses = next(value for name, value in scores.items() if name.endswith("-mean"))
    model = gpb.GPModel(group_data=rows.sources, likelihood=likelihood, num_parallel_threads=1)
    data = gpb.Dataset(rows.Z, rows.y, params=settings, free_raw_data=False)
    booster = gpb.train(settings, data, int(np.argmin(losses)) + 1, gp_model=model,
                        verbose_eval=False)  # fmt: skip
    found = booster.predict(
        task.test.Z, group_data_pred=task.test.sources, predict_var=False, pred_latent=False
    )
    return Prediction(_both_classes(task, np.ravel(found["response_mean"])))


class NotApplicableError(ValueError):
    """A method does not apply to a task."""


def _refuse_many_classes(task: MultilevelTask, why: str) -> None:
    if task.n_classes > 2:
        raise NotApplicableError(f"{why}, and there are {task.n_classes} classes.")


def _mixed(task: MultilevelTask) -> Prediction:
    """Mixed model with a random intercept per source: REML, or variational Bayes for classes."""
    _refuse_many_classes(task, "The mixed logistic regression is of two classes")
    W, W_new = fixed_effects(task.train.Z, task.test.Z)
    own = np.eye(task.n_sources)
    if task.n_classes:
        module = require("statsmodels.genmod.bayes_mixed_glm", "This method")
        groups, variances = own[task.train.sources], np.zeros(task.n_sources, dtype=int)
        model = module.BinomialBayesMixedGLM(task.train.y.astype(float), W, groups, variances)
        found = model.fit_vb()
        eta = W_new @ found.fe_mean + own[task.test.sources] @ found.vc_mean
        return Prediction(_both_classes(task, expit(eta)))
    api = require("statsmodels.api", "This method")
    found = api.MixedLM(task.train.y, W, groups=task.train.sources).fit(reml=True)
    intercepts = np.array([float(np.ravel(found.random_effects[s])[0])
                           for s in range(task.n_sources)])  # fmt: skip
    return Prediction(W_new @ np.asarray(found.fe_params) + intercepts[task.test.sources])


def fixed_effects(Z: Doubles, Z_new: Doubles) -> tuple[Doubles, Doubles]:
    """Intercept and standardised columns, less those that are linear combinations of others."""
    mean, sd = Z.mean(axis=0), Z.std(axis=0)
    varies = sd > 1e-8
    parts = [np.column_stack([np.ones(len(rows)), (rows[:, varies] - mean[varies]) / sd[varies]])
             for rows in (Z, Z_new)]  # fmt: skip
    _, triangle, order = qr(parts[0], mode="economic", pivoting=True)
    size = np.abs(np.diag(triangle))
    kept = np.sort(order[: len(size)][size > 1e-6 * size[0]])
    return parts[0][:, kept], parts[1][:, kept]


def _grouped(task: MultilevelTask) -> Prediction:
    """One regression per source with shrinkage by scikit-lego; folds choose the kind of it."""
    meta = require("sklego.meta", "This method")
    kind = meta.HierarchicalClassifier if task.n_classes else meta.HierarchicalRegressor
    X, X_new = (np.column_stack([rows.Z, rows.sources]) for rows in (task.train, task.test))

    def fit_predict(shrinkage: str, train: Indices, X_test: Doubles) -> Doubles:
        options = {"min_n_obs": 30} if shrinkage == "min_n_obs" else None
        base = SomeClassesRegression() if task.n_classes else Ridge()
        model = kind(
            make_pipeline(StandardScaler(), base), groups=[X.shape[1] - 1], shrinkage=shrinkage,
            shrinkage_kwargs=options, check_X=False,
        ).fit(X[train], task.train.y[train])  # fmt: skip
        return np.asarray((model.predict_proba if task.n_classes else model.predict)(X_test), float)

    losses = [
        np.mean([_loss(task, fit_predict(each, train, X[test]), task.train.y[test])
                 for train, test in task.folds()])
        for each in SHRINKAGES
    ]  # fmt: skip
    best = SHRINKAGES[int(np.argmin(losses))]
    return Prediction(fit_predict(best, np.arange(len(X)), X_new))


class SomeClassesRegression(LogisticRegression):
    """Logistic regression, or the only class of a source."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit, or remember the only class."""
        self.only_ = None
        if len(np.unique(y)) > 1:
            return super().fit(X, y, sample_weight)
        self.only_ = DummyClassifier(strategy="prior").fit(X, y)
        self.classes_ = self.only_.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities of the classes in training."""
        return super().predict_proba(X) if self.only_ is None else self.only_.predict_proba(X)


def _loss(task: MultilevelTask, values: Doubles, y: NDArray[Any]) -> float:
    """Log loss, or mean squared error."""
    return log_loss(values, y) if task.n_classes else float(np.mean((values - y) ** 2))


METHODS: dict[str, Callable[[MultilevelTask], Prediction]] = {
    "source-aware": _source_aware,
    "column": _column,
    "blind": _blind,
    "lightgbm": _lightgbm,
    "catboost": _catboost,
    "gpboost": _gpboost,
    "mixed": _mixed,
    "grouped": _grouped,
    "per-source": lambda task: _pooled(task, common_penalty=np.inf),
    "partial-pooling": _pooled,
}


def multilevel_scores(method: str, task: MultilevelTask) -> dict[str, float]:
    """Score a method on the test rows, over all and by source."""
    start = time.perf_counter()
    found = METHODS[method](task)
    seconds = time.perf_counter() - start
    if not np.isfinite(found.values).all():
        raise ValueError(f"{method} predicts values that are not finite.")
    scores = class_scores if task.n_classes else number_scores
    return scores(found, task.test.y, task.test.sources) | {"seconds": seconds}


def class_scores(found: Prediction, y: Indices, sources: Indices) -> dict[str, float]:
    """Score probabilities."""
    wrong = found.values.argmax(axis=1) != y
    return {
        "log_loss": log_loss(found.values, y),
        "error": float(wrong.mean()),
        "worst": max(float(wrong[own].mean()) for own in _large_sources(sources)),
        "gap": float(np.mean([calibration_in_the_large(found.values[sources == s], y[sources == s])
                              for s in np.unique(sources)])),
    }  # fmt: skip


def number_scores(found: Prediction, y: Doubles, sources: Indices) -> dict[str, float]:
    """Score predictions of numbers, and their intervals if there are any."""
    residuals, large = y - found.values, _large_sources(sources)
    scores = {
        "rmse": float(np.sqrt(np.mean(residuals**2))),
        "error": float(np.abs(residuals).mean()),
        "worst": max(float(np.sqrt(np.mean(residuals[own] ** 2))) for own in large),
        "gap": float(np.mean([mean_residual(residuals[sources == s]) for s in np.unique(sources)])),
    }
    if found.interval is None:
        return scores
    low, high = found.interval.T
    covered = (low <= y) & (y <= high)
    return scores | {
        "coverage": float(covered.mean()),
        "worst_coverage": min(float(covered[own].mean()) for own in large),
        "width": float((high - low).mean()),
    }


def _large_sources(sources: Indices) -> list[Indices]:
    """Rows of each source that has ten or more; all rows if none has."""
    rows = [np.flatnonzero(sources == s) for s in np.unique(sources)]
    return [own for own in rows if len(own) >= MIN_WORST_ROWS] or [np.arange(len(sources))]


def mean_residual(residuals: Doubles) -> float:
    """Absolute mean residual of a source, corrected for chance; 0 for a single row."""
    if len(residuals) < 2:
        return 0.0
    variance = float(residuals.var(ddof=1)) / len(residuals)
    return float(np.sqrt(max(0.0, float(residuals.mean()) ** 2 - variance)))
