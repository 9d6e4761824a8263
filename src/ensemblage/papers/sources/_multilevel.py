"""Study of multilevel tables: the source-aware pool beside its peers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.special import expit
from scipy.stats import binom
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemblage._core import Fold, deal_folds, require
from ensemblage.datasets import TableEncoder
from ensemblage.papers._declaration import (
    PaperScope,
    PaperTable,
    Scales,
    paper_cell,
    paper_table,
    repeat_seed,
)
from ensemblage.papers._summaries import (
    Groups,
    complete_scores,
    failed,
    failure_notes,
    grouped,
    relative_changes,
)
from ensemblage.papers.sources._multilevel_tables import (
    CLASSIFICATION,
    HALF_OF,
    HALVES,
    TASKS,
    Doubles,
    Indices,
    MultilevelTable,
    multilevel_fingerprint,
    multilevel_table,
    task_of,
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
)
from ensemblage.studies import CellResult, ResultRow, ResultTable

TRAIN_SHARE = 0.5
MAX_TRAIN_ROWS = 700
COVERAGE = 0.9
"""Of prediction intervals."""
MIN_WORST_ROWS = 10
"""Test rows of a source, at least, for it to be the worst."""
DEPTHS = (4, 6)
"""Of CatBoost's trees."""
CATBOOST_ROUNDS = 500
GPBOOST_SETTINGS = {
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
        """Make folds of the training rows, stratified by class, or by source in a regression.

        By both, a source's rate would be the same in training and test rows.
        """
        strata = self.train.y if self.n_classes else self.train.sources
        return deal_folds(strata, N_FOLDS, np.random.default_rng(self.seed))


class Prediction(NamedTuple):
    """Probabilities or a numeric target of the test rows, and 90 % intervals if there are any."""

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


def _source_aware_and_blind(task: MultilevelTask) -> dict[str, Prediction]:
    """Predict with and without the sources by one model, which has a pool for each."""
    model = _fit_pool(task, task.train.X, sources=task.train.sources)
    aware = _predict(task, model, task.test.X, sources=task.test.sources)
    # its intervals without a source are for new sources, and wider
    return {AWARE: aware, BLIND: Prediction(_predict(task, model, task.test.X).values)}


def _column(task: MultilevelTask) -> Prediction:
    model = _fit_pool(task, task.train.with_source())
    return _predict(task, model, task.test.with_source())


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
    gpb = require("gpboost", "This method")
    likelihood, objective, metric = (
        ("bernoulli_logit", "binary", "binary_logloss") if task.n_classes
        else ("gaussian", "regression", "l2")
    )  # fmt: skip
    settings = {**GPBOOST_SETTINGS, "objective": objective, "seed": task.seed}
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


def _mixed(task: MultilevelTask) -> Prediction:
    """Mixed model with a random intercept per source: REML, or variational Bayes for classes."""
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


AWARE, COLUMN, BLIND = "source-aware", "column", "blind"
LIGHTGBM, CATBOOST, GPBOOST = "lightgbm", "catboost", "gpboost"
MIXED, POOLED = "mixed", "partial-pooling"
METHODS: dict[str, Callable[[MultilevelTask], Prediction]] = {
    COLUMN: _column,
    LIGHTGBM: _lightgbm,
    CATBOOST: _catboost,
    GPBOOST: _gpboost,
    MIXED: _mixed,
    "grouped": _grouped,
    "per-source": lambda task: _pooled(task, common_penalty=np.inf),
    POOLED: _pooled,
}
CELLS = (AWARE, *METHODS)
"""Methods of the cells; that of the source-aware pool has the source-blind one too."""
TWO_CLASSES = (GPBOOST, MIXED)
"""Methods for regression and two classes; there are no scores of them with more."""


def multilevel_scores(method: str, task: MultilevelTask) -> dict[str, dict[str, float]]:
    """Score the methods of a cell on the test rows, over all and by source."""
    if method in TWO_CLASSES and task.n_classes > 2:
        return {}
    found = _source_aware_and_blind(task) if method == AWARE else {method: METHODS[method](task)}
    for name, each in found.items():
        if not np.isfinite(each.values).all():
            raise ValueError(f"{name} predicts values that are not finite.")
    scores = class_scores if task.n_classes else value_scores
    y, sources = task.test.y, task.test.sources
    return {name: scores(each, y, sources) for name, each in found.items()}


def class_scores(found: Prediction, y: Indices, sources: Indices) -> dict[str, float]:
    """Score probabilities; "worst" is the highest error of a source that is large enough."""
    wrong = found.values.argmax(axis=1) != y
    errors = [
        calibration_in_the_large(found.values[own], y[own]) for own in rows_by_source(sources)
    ]
    scores = {"loss": log_loss(found.values, y), "calibration": float(np.mean(errors))}
    large = rows_by_source(sources, MIN_WORST_ROWS)
    return scores | ({"worst": max(float(wrong[own].mean()) for own in large)} if large else {})


def value_scores(found: Prediction, y: Doubles, sources: Indices) -> dict[str, float]:
    """Score predictions of a numeric target, and their intervals if there are any."""
    residuals, large = y - found.values, rows_by_source(sources, MIN_WORST_ROWS)
    errors = [mean_residual(residuals[own]) for own in rows_by_source(sources)]
    scores = {"loss": float(np.sqrt(np.mean(residuals**2))), "calibration": float(np.mean(errors))}
    if large:
        scores["worst"] = max(float(np.sqrt(np.mean(residuals[own] ** 2))) for own in large)
    if found.interval is None:
        return scores
    low, high = found.interval.T
    covered = (low <= y) & (y <= high)
    scores["coverage"] = float(covered.mean())
    if large:
        scores["worst_coverage"] = min(float(covered[own].mean()) for own in large)
        scores["expected_worst"] = expected_worst_coverage([len(own) for own in large])
    return scores


def rows_by_source(sources: Indices, least: int = 1) -> list[Indices]:
    """Rows of each source that has so many."""
    rows = [np.flatnonzero(sources == s) for s in np.unique(sources)]
    return [own for own in rows if len(own) >= least]


def mean_residual(residuals: Doubles) -> float:
    """Absolute mean residual of a source, corrected for chance; 0 for a single row."""
    if len(residuals) < 2:
        return 0.0
    variance = float(residuals.var(ddof=1)) / len(residuals)
    return float(np.sqrt(max(0.0, float(residuals.mean()) ** 2 - variance)))


def expected_worst_coverage(n_rows: Sequence[int]) -> float:
    """Mean of the lowest coverage of sources with so many rows, if each row has 90 %.

    The mean is the integral over c of the probability that no source has a coverage below c.
    """
    sizes = np.array(n_rows)
    levels = np.unique(np.concatenate([np.arange(n + 1) / n for n in sizes]))
    least = np.ceil(levels[1:, None] * sizes - 1e-9)
    above = np.asarray(binom.sf(least - 1, sizes, COVERAGE)).prod(axis=1)
    return float(np.diff(levels) @ above)


COLUMNS = {
    AWARE: "source-aware pool",
    COLUMN: "source as a column",
    BLIND: "source-blind pool",
    LIGHTGBM: "LightGBM",
    CATBOOST: "CatBoost",
    GPBOOST: "GPBoost",
    MIXED: "mixed model",
    "grouped": "scikit-lego",
    "per-source": "regression per source",
    POOLED: "partial pooling",
}
LOSSES = {True: "log loss", False: "RMSE"}
"""Loss in classification, and in regression."""
SECONDS = "seconds"


def comparison_sentences(rows: Sequence[ResultRow], measure: str) -> list[str]:
    """Compare the source-aware pool with each peer, by relative changes over the tables."""
    return relative_changes(rows, COLUMNS[AWARE], list(COLUMNS.values()), measure)


def best_peer_sentence(
    rows: Sequence[ResultRow], measure: str, peers: Sequence[str], most: float, aim: str
) -> list[str]:
    """Compare the source-aware pool with the best of some peers, which the test rows choose."""
    columns = [COLUMNS[each] for each in (AWARE, *peers)]
    names, scores = complete_scores(rows, columns)
    if not names:
        return []
    above = scores[:, 0] / scores[:, 1:].min(axis=1) - 1
    within = int((above <= most).sum())
    far = [f"{names[k]} {above[k]:+.1%}" for k in np.flatnonzero(above > most)]
    return [
        f"{columns[0]}: {measure} within {most:.0%} of the best of {', '.join(columns[1:])} on "
        f"{within} of {len(names)} tables ({within / len(names):.0%}; aim: {aim})"
        + (f"; further above on {', '.join(far)}." if far else ".")
    ]


def share_sentence(
    rows: Sequence[ResultRow], measure: str, own: str, peer: str, *, aim: str
) -> list[str]:
    """Count tables on which one method's loss is at most another's."""
    columns = COLUMNS[own], COLUMNS[peer]
    names, scores = complete_scores(rows, columns)
    if not names:
        return []
    lower = int((scores[:, 0] <= scores[:, 1]).sum())
    change = float((scores[:, 0] / scores[:, 1] - 1).mean())
    share = f"{lower} of {len(names)} tables ({lower / len(names):.0%}; aim: {aim})"
    text = f"{columns[0]}: {measure} at most that of {columns[1]} on {share}"
    return [f"{text}, {change:+.1%} on average."]


def loss_sentences(rows: Sequence[ResultRow], *, classes: bool) -> list[str]:
    """Compare with the peers, and with what was aimed at."""
    measure = LOSSES[classes]
    if classes:
        aims = [
            *share_sentence(rows, measure, AWARE, COLUMN, aim="70 %"),
            *best_peer_sentence(rows, measure, (LIGHTGBM, COLUMN, BLIND), 0.02, "all"),
        ]
    else:
        aims = [
            *best_peer_sentence(rows, measure, (COLUMN, MIXED, LIGHTGBM), 0.01, "75 %"),
            *share_sentence(rows, measure, POOLED, MIXED, aim="75 %"),
        ]
    return comparison_sentences(rows, measure) + aims


COVERED = (AWARE, COLUMN)
"""Methods with prediction intervals."""
COVERAGE_KEYS = ("coverage", "worst_coverage", "expected_worst")
"""Scores of prediction intervals."""


def coverage_columns(method: str) -> tuple[str, str, str]:
    """Headings of a method's coverage: of all rows, the worst source, and what is expected."""
    own = COLUMNS[method]
    return own, f"{own}, worst source", f"{own}, worst source expected"


def coverage_sentences(rows: Sequence[ResultRow]) -> list[str]:
    """Report the coverage over tables, and in the worst source."""
    sentences = []
    for method in COVERED:
        columns = coverage_columns(method)
        whole, coverage = complete_scores(rows, columns[:1])
        names, scores = complete_scores(rows, columns)
        if not whole:
            continue
        text = (
            f"{columns[0]}: {coverage.mean():.1%} on average over {len(whole)} tables (aim: 87 to "
            "93 %)"
        )
        if names:
            _, worst, expected = scores.mean(axis=0)
            lowest = int(scores[:, 1].argmin())
            text += (
                f"; worst source, on {len(names)} tables: {worst:.1%} on average, where "
                f"{expected:.1%} is expected by chance, and {scores[lowest, 1]:.1%} on "
                f"{names[lowest]} (aim: 80 %)"
            )
        sentences.append(f"{text}.")
    return sentences


class MultilevelParams(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One method on one split of a table."""

    half: str
    task: str
    dataset: str
    method: str
    repeat: int
    seed: int


@paper_table("sources-multilevel")
class MultilevelStudy(PaperTable[int]):
    """One split of two tables; two or five splits of all."""

    scales = Scales(1, 2, 5)
    quick_datasets = ("heart", "rat-pups")

    def datasets(self, scale: str) -> tuple[str, ...]:
        return tuple(name for task in TASKS for name in HALF_OF[task])

    def fingerprint(self, name: str, data_dir: str | None) -> str:
        return multilevel_fingerprint(name, data_dir)

    def grid(self, scope: PaperScope) -> Iterator[MultilevelParams]:
        """Iterate over splits first, so that an interrupted run has all tables."""
        for repeat, name in product(range(self.scale_of(scope)), scope.datasets):
            task = task_of(name)
            for method in CELLS:
                yield MultilevelParams(
                    half=HALF_OF[task][name], task=task, dataset=name, method=method,
                    repeat=repeat, seed=scope.seed,
                )  # fmt: skip

    @staticmethod
    @paper_cell(MultilevelParams)
    def compute(params: MultilevelParams, data_dir: str | None) -> Mapping[str, Any]:
        table = multilevel_table(params.dataset, data_dir)
        task = multilevel_task(table, repeat_seed(params.seed, params.repeat))
        return multilevel_scores(params.method, task)

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        groups = grouped(results, "dataset", "method")
        made = []
        for half, task in product(HALVES, TASKS):
            names = [each for each in scope.datasets if HALF_OF[task].get(each) == half]
            own = [each for each in results if each.cell.params["dataset"] in names]
            if names:
                made += self._half(groups, scope, half, task, names, failure_notes(own, COLUMNS))
        return made

    def _half(
        self, groups: Groups, scope: PaperScope, half: str, task: str, names: Sequence[str],
        failures: Sequence[str],
    ) -> list[ResultTable]:  # fmt: skip
        """Make the tables of one half of one task."""
        classes = task == CLASSIFICATION
        worst = "error in the worst source" if classes else "RMSE in the worst source"
        bias = ("calibration-in-the-large error" if classes else "mean residual") + " by source"
        stems = [("loss", LOSSES[classes]), ("worst", worst), ("calibration", bias)]
        stems += [] if classes else [("coverage", "coverage of 90 % prediction intervals")]
        made = []
        for stem, measure in [*stems, (SECONDS, "seconds to fit and predict")]:
            rows = [
                self.entry(name, column, values, n_failed)
                for name in names
                for column, values, n_failed in _entries(groups, name, stem)
            ]
            sentences = []
            if stem == "loss":
                sentences = [*loss_sentences(rows, classes=classes), *failures]
            elif stem == "coverage":
                sentences = coverage_sentences(rows)
            better = None if stem == "coverage" else False
            made.append(
                self.measure_table(
                    f"{half}-{task}-{stem}", measure, rows, sentences, scope,
                    greater_is_better=better, part=f"{half}, {task}, ",
                )
            )  # fmt: skip
        return made


def _entries(groups: Groups, name: str, stem: str) -> Iterator[tuple[str, list[float], int]]:
    """Give the columns of a row with their values in each split, and the failed cells."""
    for method in COVERED if stem == "coverage" else COLUMNS:
        found = groups.get((name, AWARE if method == BLIND else method), [])
        whole = [each for each in found if not each.error and each.values]
        values: list[Any] = [each.values[method] for each in whole]
        if stem == "coverage":
            for column, key in zip(coverage_columns(method), COVERAGE_KEYS, strict=True):
                yield column, [each[key] for each in values if key in each], failed(found)
        elif stem != SECONDS:
            yield COLUMNS[method], [each[stem] for each in values if stem in each], failed(found)
        elif method != BLIND:  # fitted with the source-aware pool
            yield COLUMNS[method], [each.seconds for each in whole], failed(found)
