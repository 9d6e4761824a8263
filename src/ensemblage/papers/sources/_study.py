"""Study of data from several sources: models, scores and tables."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from ensemblage._core import Fold, deal_folds, require
from ensemblage.datasets import Dataset, TableEncoder, find_folder, open_dataset
from ensemblage.papers._declaration import (
    PaperScope,
    PaperTable,
    Scales,
    paper_cell,
    paper_table,
    repeat_seed,
)
from ensemblage.papers._summaries import Groups, by_repeat, complete_scores, failed, grouped
from ensemblage.pool import EnsemblageClassifier
from ensemblage.sources import (
    PartialPoolingClassifier,
    SourceStrata,
    as_log_proba,
    balanced_folds,
    class_source_pairs,
    cross_predict,
    errors,
    fit_calibration,
    source_folds,
    upper_prediction_limit,
)
from ensemblage.strata import ScaledLogisticRegression, StrataEnsembleClassifier
from ensemblage.studies import CellResult, ResultRow, ResultTable, make_model

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]


N_FOLDS = 5
C_GRID = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
"""Inverse penalties of logistic regressions."""
NUM_LEAVES = (4, 8, 16, 31)
"""Of LightGBM."""
MIN_DATA_IN_LEAF = (5, 20)
"""Of LightGBM."""
MAX_ROUNDS = 600
"""Boosting rounds."""
EARLY_STOPPING_ROUNDS = 30
BOOSTING = {
    "verbosity": -1,
    "deterministic": True,
    "force_col_wise": True,
    "feature_pre_filter": False,
    "num_threads": 1,
    "learning_rate": 0.05,
    "feature_fraction": 0.7,
    "lambda_l2": 1.0,
    "min_data_per_group": 10,
}


class KnownRows(NamedTuple):
    """Encoded rows, with codes of their classes and sources."""

    X: Doubles
    y: Indices
    sources: Indices


class KnownTask(NamedTuple):
    """Training and test rows; all sources and classes are in training."""

    train: KnownRows
    test: KnownRows
    seed: int

    @property
    def n_classes(self) -> int:
        return int(self.train.y.max()) + 1

    @property
    def n_sources(self) -> int:
        return int(self.train.sources.max()) + 1

    def folds(self) -> list[Fold]:
        """Make folds of the training rows, stratified by class and source."""
        pairs = class_source_pairs(self.train.sources, self.train.y)
        return deal_folds(pairs, N_FOLDS, np.random.default_rng(self.seed))


Prediction: TypeAlias = tuple[Doubles, float | None]
"""Probabilities of the test rows, and the method's CV log loss if it has hyperparameters."""
Design: TypeAlias = tuple[Doubles, Doubles]
"""Design matrices of training and test rows."""


def _with_indicators(task: KnownTask) -> Design:
    own = np.eye(task.n_sources)
    train, test = (np.column_stack([each.X, own[each.sources]]) for each in task[:2])
    return train, test


def _with_interactions(task: KnownTask) -> Design:
    """Add an interaction of each standardised column with each source.

    Interactions are not standardised: that would penalise small sources less than large ones.
    """
    mean, sd = task.train.X.mean(axis=0), task.train.X.std(axis=0)
    own = np.eye(task.n_sources)
    parts = []
    for rows in task[:2]:
        Z, indicators = (rows.X - mean) / np.where(sd > 0, sd, 1.0), own[rows.sources]
        crossed = (Z[:, :, None] * indicators[:, None, :]).reshape(len(Z), -1)
        parts.append(np.column_stack([Z, indicators, crossed]))
    return parts[0], parts[1]


def _with_source_codes(task: KnownTask) -> Design:
    train, test = (np.column_stack([each.X, each.sources]) for each in task[:2])
    return train, test


def _without(task: KnownTask) -> Design:
    return task.train.X, task.test.X


def log_loss(probabilities: Doubles, y: Indices) -> float:
    """Mean log loss; probabilities are clipped at 1e-15."""
    true = probabilities[np.arange(len(y)), y]
    return float(-np.log(np.maximum(true, 1e-15)).mean())


def _predict_proba(model: Any, X: Doubles, n_classes: int) -> Doubles:
    """Probabilities of all classes; zero for classes not in training."""
    out = np.zeros((len(X), n_classes))
    out[:, model.classes_] = model.predict_proba(X)
    return out


def _logistic(task: KnownTask, design: Design, kind: Any = ScaledLogisticRegression) -> Prediction:
    X, X_new = design
    y, out_of_fold = task.train.y, np.zeros((len(task.train.y), task.n_classes))
    losses = []
    for C in C_GRID:
        for train, test in task.folds():
            model = kind(C=C, max_iter=500).fit(X[train], y[train])
            out_of_fold[test] = _predict_proba(model, X[test], task.n_classes)
        losses.append(log_loss(out_of_fold, y))
    best = int(np.argmin(losses))
    model = kind(C=C_GRID[best], max_iter=500).fit(X, y)
    return _predict_proba(model, X_new, task.n_classes), losses[best]


def _lightgbm(task: KnownTask, design: Design, *, with_source: bool) -> Prediction:
    """LightGBM tuned by cross-validation; the last column may be categorical (the source)."""
    lgb = require("lightgbm", "This method", extra="boost")
    X, X_new = design
    several = {"objective": "multiclass", "num_class": task.n_classes}
    objective = {"objective": "binary"} if task.n_classes == 2 else several
    rows = {"categorical_feature": [task.train.X.shape[1]] if with_source else [],
            "free_raw_data": False}  # fmt: skip
    found = []
    for leaves, min_data in product(NUM_LEAVES, MIN_DATA_IN_LEAF):
        settings = {**BOOSTING, **objective, "num_leaves": leaves, "min_data_in_leaf": min_data}
        data = lgb.Dataset(X, task.train.y, params=settings, **rows)
        stop = lgb.early_stopping(EARLY_STOPPING_ROUNDS, verbose=False)
        scores = lgb.cv({**settings, "seed": task.seed}, data, MAX_ROUNDS, folds=task.folds(),
                        callbacks=[stop])  # fmt: skip
        losses = next(value for name, value in scores.items() if name.endswith("logloss-mean"))
        found.append((min(losses), int(np.argmin(losses)) + 1, settings))
    loss, rounds, settings = min(found, key=lambda each: each[0])
    data = lgb.Dataset(X, task.train.y, params=settings, **rows)
    proba = lgb.train({**settings, "seed": task.seed}, data, rounds).predict(X_new)
    return proba if proba.ndim == 2 else np.column_stack([1 - proba, proba]), float(loss)


def _pooled(task: KnownTask, **penalties: Any) -> Prediction:
    """Partial pooling, or a special case of it by given penalties."""
    model = PartialPoolingClassifier(cv=task.folds(), **penalties)
    model.fit(task.train.X, task.train.y, sources=task.train.sources)
    return model.predict_proba(task.test.X, sources=task.test.sources), None


def _forest(task: KnownTask) -> Prediction:
    X, X_new = _with_indicators(task)
    model = RandomForestClassifier(200, min_samples_leaf=2, random_state=task.seed)
    return _predict_proba(model.fit(X, task.train.y), X_new, task.n_classes), None


def _source_strata(task: KnownTask) -> Prediction:
    """Strata of sources, weighted by the gate: the source is unknown at prediction."""
    model = StrataEnsembleClassifier(SourceStrata(), random_state=task.seed)
    model.fit(task.train.X, task.train.y, sources=task.train.sources)
    return model.predict_proba(task.test.X), None


def fit_source_aware_pool(task: KnownTask) -> EnsemblageClassifier:
    """Fit the source-aware pool; the source-blind one, not used here, has one member."""
    model = EnsemblageClassifier(["logistic"], random_state=task.seed)
    model.fit(task.train.X, task.train.y, sources=task.train.sources)
    return model


def _pool(task: KnownTask) -> Prediction:
    model = fit_source_aware_pool(task)
    loss = model.source_pool_.leaderboard[0].log_loss
    return model.predict_proba(task.test.X, sources=task.test.sources), loss


METHODS: dict[str, Callable[[KnownTask], Prediction]] = {
    "pool-with-sources": _pool,
    "partial-pooling": _pooled,
    "pooled": lambda task: _logistic(task, _without(task)),
    "one-hot": lambda task: _logistic(task, _with_indicators(task)),
    "one-per-source": lambda task: _pooled(task, common_penalty=np.inf),
    "interactions": lambda task: _logistic(task, _with_interactions(task), LogisticRegression),
    "lightgbm-with-source": lambda task: _lightgbm(
        task, _with_source_codes(task), with_source=True
    ),
    "lightgbm-without-source": lambda task: _lightgbm(task, _without(task), with_source=False),
    "forest-with-source": _forest,
    "source-strata": _source_strata,
}
BASELINES = ("lightgbm-with-source", "interactions")
"""The baseline of a split is the one with the lower CV log loss."""


N_LABELLED = (20, 50, 100)
"""Labelled rows of the new source for recalibration."""
N_DRAWS = 10
"""Random draws of the labelled rows."""
MIN_TEST_ROWS = 20
"""Rows of the new source that remain for the test."""
COVERAGE = 0.9
"""Of prediction sets, and probability of the prediction limit."""
MAX_LEFT_OUT_FOLDS = 10
"""With more sources than these, groups of sources are left out."""


def known_scores(method: str, task: KnownTask) -> dict[str, float]:
    """Score a method on the test rows, over all and by source."""
    proba, cv_loss = METHODS[method](task)
    y, sources = task.test.y, task.test.sources
    wrong = proba.argmax(axis=1) != y
    each = [sources == s for s in range(task.n_sources)]
    scores = {
        "log_loss": log_loss(proba, y),
        "error": float(wrong.mean()),
        "worst": max(float(wrong[own].mean()) for own in each),
        "gap": float(np.mean([calibration_in_the_large(proba[own], y[own]) for own in each])),
    }
    return scores if cv_loss is None else scores | {"cv_loss": cv_loss}


def calibration_in_the_large(proba: Doubles, y: Indices) -> float:
    """Absolute mean predicted risk minus observed rate of the last class, corrected for chance."""
    risk = proba[:, -1]
    difference = risk.mean() - (y == proba.shape[1] - 1).mean()
    variance = (risk * (1 - risk)).sum() / len(risk) ** 2
    return float(np.sqrt(max(0.0, difference**2 - variance)))


def new_scores(method: str, found: SourceTable, source: int, seed: int) -> Mapping[str, Any]:
    """Compare estimates made without a source with the scores at that source."""
    rest, own = np.flatnonzero(found.sources != source), np.flatnonzero(found.sources == source)
    model = make_model(method, found.data.columns, seed)
    X, y = found.data.X[rest], found.labels[rest].astype(np.int64)
    sources = np.unique(found.sources[rest], return_inverse=True)[1].astype(np.int64)
    inside = cross_predict(model, X, y, balanced_folds(y, sources, 5, seed))
    scores = {"ordinary": _source_errors(inside, y, sources).mean()}
    thresholds = {"ordinary": _threshold(inside, y)}
    if sources.max() > 0:
        outside = cross_predict(model, X, y, source_folds(sources, MAX_LEFT_OUT_FOLDS))
        by_source = _source_errors(outside, y, sources)
        limit = min(1.0, upper_prediction_limit(by_source, COVERAGE))
        scores |= {"left_out": by_source.mean(), "bound": limit}
        thresholds["left_out"] = _threshold(outside, y)
    proba = model.fit(X, y).predict_proba(found.data.X[own])
    labels = found.labels[own].astype(np.int64)
    scores["truth"] = errors(proba, labels).mean()
    if "bound" in scores:
        scores["held"] = float(scores["truth"] <= scores["bound"])
    true = proba[np.arange(len(labels)), labels]
    scores |= {f"covered_{name}": (true >= least).mean() for name, least in thresholds.items()}
    scores["novelty"] = _novelty(found, rest, own)
    recalibrated = _recalibrated_losses(as_log_proba(proba), labels, seed)
    return {name: float(value) for name, value in (scores | recalibrated).items()}


def _source_errors(proba: Doubles, y: NDArray[np.int64], sources: NDArray[np.int64]) -> Doubles:
    wrong = np.bincount(sources, errors(proba, y).astype(float))
    return np.asarray(wrong / np.bincount(sources))


def _threshold(proba: Doubles, y: NDArray[np.int64]) -> float:
    """Threshold on the probability for prediction sets with 90 % coverage of these rows."""
    true = proba[np.arange(len(y)), y]
    return float(np.quantile(true, 1 - COVERAGE * (1 + 1 / len(y)), method="lower"))


def _recalibrated_losses(log_proba: Doubles, y: NDArray[np.int64], seed: int) -> dict[str, float]:
    """Log loss at a new source before and after recalibration, on the remaining rows."""
    rng = np.random.default_rng(seed)
    found = {}
    for n_rows in N_LABELLED:
        if len(y) < n_rows + MIN_TEST_ROWS:
            continue
        before, after = [], []
        for _ in range(N_DRAWS):
            order = rng.permutation(len(y))
            few, others = order[:n_rows], order[n_rows:]
            change = fit_calibration(log_proba[few], y[few], np.ones(n_rows)).shrunken()
            before.append(-log_proba[others, y[others]].mean())
            after.append(-change.log_proba(log_proba[others])[np.arange(len(others)), y[others]])
        found[f"before_{n_rows}"] = float(np.mean(before))
        found[f"after_{n_rows}"] = float(np.mean([each.mean() for each in after]))
    return found


def _novelty(found: SourceTable, rest: Indices, own: Indices) -> float:
    """ROC AUC of the Mahalanobis distance to the other sources, for rows of the new source."""
    encoder = TableEncoder(kinds=list(found.data.kinds)).fit(found.data.X[rest])
    Z, new = (np.asarray(encoder.transform(found.data.X[rows]), float) for rows in (rest, own))
    centre, metric = Z.mean(axis=0), np.linalg.pinv(np.cov(Z.T))
    centred = np.vstack([Z, new]) - centre
    ranks = rankdata(np.einsum("ij,jk,ik->i", centred, metric, centred))
    n_old, n_new = len(rest), len(own)
    return float((ranks[n_old:].sum() - n_new * (n_new + 1) / 2) / (n_old * n_new))


FOLDER = "multi-source"
TARGET = "class"
SOURCE = "source"
TRAIN_SHARE = 0.3
MAX_TRAIN_ROWS = 900


class SourceTable(NamedTuple):
    """A dataset, codes of its classes and sources, and the sources' names."""

    data: Dataset
    labels: Indices
    sources: Indices
    names: tuple[str, ...]


def source_table(name: str, data_dir: str | None) -> SourceTable:
    return _read(str(_path(name, data_dir)))


def table_fingerprint(name: str, data_dir: str | None) -> str:
    """Hash of a table's file."""
    return hashlib.sha256(_path(name, data_dir).read_bytes()).hexdigest()[:16]


def known_task(found: SourceTable, seed: int) -> KnownTask:
    """Split a table, stratified by source and class: 30 % for training, at most 900 rows."""
    y, sources = found.labels, found.sources
    share = min(TRAIN_SHARE, MAX_TRAIN_ROWS / len(y))
    train, test = train_test_split(
        np.arange(len(y)), train_size=share, random_state=seed,
        stratify=sources * (y.max() + 1) + y,
    )  # fmt: skip
    encoder = TableEncoder(kinds=list(found.data.kinds)).fit(found.data.X[train])
    parts = [
        KnownRows(np.asarray(encoder.transform(found.data.X[rows]), float), y[rows], sources[rows])
        for rows in (train, test)
    ]
    return KnownTask(parts[0], parts[1], seed)


@lru_cache(maxsize=4)
def _read(path: str) -> SourceTable:
    data = open_dataset(path, TARGET, source_column=SOURCE)
    labels = np.unique(data.y, return_inverse=True)[1]
    names, sources = np.unique(np.asarray(data.sources, dtype=str), return_inverse=True)
    return SourceTable(data, labels.astype(np.intp), sources.astype(np.intp), tuple(names.tolist()))


def _path(name: str, data_dir: str | None) -> Path:
    folder = find_folder(data_dir)
    if folder is None:
        raise ValueError(f"{name} was not found: set `data_dir` to a folder that has `{FOLDER}`.")
    path = folder / FOLDER / f"{name}.csv"
    if not path.exists():
        raise ValueError(f"There is no file {FOLDER}/{name}.csv in the data folder.")
    return path


def loss_sentences(rows: Sequence[ResultRow], measure: str, other: str) -> list[str]:
    """Compare each of the library's columns with another, over the datasets."""
    sentences = []
    for own in (COLUMNS["pool-with-sources"], COLUMNS["partial-pooling"], COLUMNS["source-strata"]):
        names, scores = complete_scores(rows, (own, other))
        if names and (scores[:, 1] > 0).all():
            ratios = scores[:, 0] / scores[:, 1] - 1
            lower = int((ratios < 0).sum())
            sentences.append(
                f"{own} against {other}: {measure} {ratios.mean():+.1%} on average (median "
                f"{np.median(ratios):+.1%}), lower on {lower} of {len(names)} datasets."
            )
    return sentences


def estimate_sentences(rows: Sequence[ResultRow]) -> list[str]:
    """Compare estimates with the error at the new source, over datasets and models."""
    sentences = []
    for estimate in (CV_ERROR, LEAVE_SOURCE_OUT_ERROR):
        names, scores = complete_scores(rows, (estimate, NEW_SOURCE_ERROR))
        if names:
            difference = float(np.abs(scores[:, 0] - scores[:, 1]).mean())
            sentences.append(
                f"{estimate}: mean absolute difference from the {NEW_SOURCE_ERROR} "
                f"{difference:.3f} ({len(names)} rows)."
            )
    return sentences


def limit_sentence(rows: Sequence[ResultRow]) -> list[str]:
    """Report how often the prediction limit held."""
    found = [row for row in rows if row.column == WITHIN_LIMIT and row.ours is not None]
    n_sources = sum(row.repeats for row in found)
    if not n_sources:
        return []
    held = sum((row.ours or 0.0) * row.repeats for row in found) / n_sources
    return [f"The {PREDICTION_LIMIT} held for {held:.0%} of {n_sources} new sources."]


def recalibration_sentences(rows: Sequence[ResultRow], columns: Sequence[str]) -> list[str]:
    """Report the mean change by recalibration, and the least favourable one."""
    sentences = []
    for column in columns:
        found = [row for row in rows if row.column == column and row.ours is not None]
        if found:
            changes = [row.ours or 0.0 for row in found]
            worst = found[int(np.argmax(changes))]
            sentences.append(
                f"{column} of the new source change its log loss by {np.mean(changes):+.1f} % on "
                f"average; least favourable: {max(changes):+.1f} % ({worst.row})."
            )
    return sentences


TABLES = ("heart", "promise", "student", "wine")
N_SOURCES = {"heart": 4, "promise": 9, "student": 2, "wine": 2}
BASELINE = "baseline chosen by CV"
COLUMNS = {
    "pool-with-sources": "source-aware pool",
    "partial-pooling": "partial pooling",
    "pooled": "regression without source",
    "one-hot": "regression with source",
    "one-per-source": "one regression per source",
    "interactions": "regression with interactions",
    "lightgbm-with-source": "LightGBM with source",
    "lightgbm-without-source": "LightGBM without source",
    "forest-with-source": "forest with source",
    "source-strata": "source strata, source unknown",
}
MODELS = {"boosting": "gradient boosting", "logistic": "logistic regression"}


class SourcesParams(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One method and one split, or one model and the left-out source; both are the repeat."""

    part: str
    dataset: str
    method: str
    repeat: int
    seed: int


Column: TypeAlias = tuple[str, Callable[[Mapping[str, Any]], float | None]]
"""A column of a table on new sources: its heading, and its value in a cell's."""


def _value(name: str) -> Callable[[Mapping[str, Any]], float | None]:
    return lambda values: values.get(name)


def _change(n_rows: int) -> Callable[[Mapping[str, Any]], float | None]:
    """Change of the log loss in per cent; None if a source has too few rows."""

    def change(values: Mapping[str, Any]) -> float | None:
        before = values.get(f"before_{n_rows}")
        return None if before is None else 100 * (values[f"after_{n_rows}"] / before - 1)

    return change


CV_ERROR = "CV error"
LEAVE_SOURCE_OUT_ERROR = "leave-source-out error"
NEW_SOURCE_ERROR = "error at the new source"
PREDICTION_LIMIT = "90 % prediction limit"
WITHIN_LIMIT = "share within the limit"
NEW: tuple[Column, ...] = (
    (CV_ERROR, _value("ordinary")),
    (LEAVE_SOURCE_OUT_ERROR, _value("left_out")),
    (NEW_SOURCE_ERROR, _value("truth")),
    (PREDICTION_LIMIT, _value("bound")),
    (WITHIN_LIMIT, _value("held")),
)
RECALIBRATED = tuple((f"{n_rows} rows", _change(n_rows)) for n_rows in N_LABELLED)
COVERED = (
    ("CV thresholds", _value("covered_ordinary")),
    ("leave-source-out thresholds", _value("covered_left_out")),
)
NOVEL = (("Mahalanobis distance", _value("novelty")),)


@paper_table("sources")
class SourcesStudy(PaperTable[int]):
    """Splits of known sources: one, five or ten. Each source is left out once."""

    scales = Scales(1, 5, 10)
    quick_datasets = ("heart",)

    def datasets(self, scale: str) -> tuple[str, ...]:
        return TABLES

    def fingerprint(self, name: str, data_dir: str | None) -> str:
        return table_fingerprint(name, data_dir)

    def grid(self, scope: PaperScope) -> Iterator[SourcesParams]:
        """List new sources first, then splits of known ones: a stopped run has all tables."""
        for name, method in product(scope.datasets, MODELS):
            for source in range(N_SOURCES[name]):
                yield SourcesParams(
                    part="new", dataset=name, method=method, repeat=source, seed=scope.seed
                )
        for repeat, name in product(range(self.scale_of(scope)), scope.datasets):
            for method in METHODS:
                yield SourcesParams(
                    part="known", dataset=name, method=method, repeat=repeat, seed=scope.seed
                )

    @staticmethod
    @paper_cell(SourcesParams)
    def compute(params: SourcesParams, data_dir: str | None) -> Mapping[str, Any]:
        found = source_table(params.dataset, data_dir)
        if params.part == "new":
            return new_scores(params.method, found, params.repeat, params.seed)
        task = known_task(found, repeat_seed(params.seed, params.repeat))
        return known_scores(params.method, task)

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        groups = grouped(results, "part", "dataset", "method")
        known = (
            ("log-loss", "log loss", "log_loss"),
            ("error", "error", "error"),
            ("worst", "error in the worst source", "worst"),
            ("calibration", "calibration-in-the-large error by source", "gap"),
        )
        new = (
            ("new", "error at a new source", NEW),
            ("recalibration", "change of log loss (%)", RECALIBRATED),
            ("coverage", "coverage of prediction sets at a new source", COVERED),
            ("novelty", "detection of rows of a new source (ROC AUC)", NOVEL),
        )
        return [
            *(self._known_table(groups, scope, *each) for each in known),
            *(self._new_table(groups, scope, *each) for each in new),
        ]

    def _known_table(
        self, groups: Groups, scope: PaperScope, stem: str, measure: str, value: str
    ) -> ResultTable:
        """Average splits; the baseline is chosen in each of them."""
        rows = []
        for name in scope.datasets:
            for method in METHODS:
                found = groups.get(("known", name, method), [])
                values = by_repeat(found, value)
                rows.append(self.entry(name, COLUMNS[method], values, failed(found)))
            baselines = [groups.get(("known", name, method), []) for method in BASELINES]
            tuned = [by_repeat(found, "cv_loss") for found in baselines]
            scores = [by_repeat(found, value) for found in baselines]
            repeats = sorted(set.intersection(*(set(each) for each in tuned)))
            best = {r: int(np.argmin([each[r] for each in tuned])) for r in repeats}
            rows.append(self.entry(name, BASELINE, {r: scores[k][r] for r, k in best.items()}))
        sentences = loss_sentences(rows, measure, BASELINE)
        return self.measure_table(stem, measure, rows, sentences, scope, greater_is_better=False)

    def _new_table(
        self, groups: Groups, scope: PaperScope, stem: str, measure: str, columns: Sequence[Column]
    ) -> ResultTable:
        """Average over the left-out sources."""
        rows = []
        for name, method in product(scope.datasets, MODELS):
            found = groups.get(("new", name, method), [])
            whole: list[Mapping[str, Any]] = [each.values for each in found if not each.error]
            for head, value in columns:
                known = [each for each in map(value, whole) if each is not None]
                row = f"{name}, {MODELS[method]}"
                rows.append(self.entry(row, head, known, failed(found)))
                if stem == "coverage":
                    worst = [min(known)] if known else []
                    rows.append(self.entry(row, f"{head}, worst source", worst))
        sentences = {
            "new": lambda: [*estimate_sentences(rows), *limit_sentence(rows)],
            "recalibration": lambda: recalibration_sentences(rows, [head for head, _ in columns]),
        }.get(stem, list)()
        better = stem in {"coverage", "novelty"}
        return self.measure_table(stem, measure, rows, sentences, scope, greater_is_better=better)
