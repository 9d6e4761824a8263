"""Data from several sources: what is fitted and the tables."""

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
STRENGTHS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
LEAVES, SMALLEST_LEAVES = (4, 8, 16, 31), (5, 20)
MOST_ROUNDS, PATIENCE = 600, 30
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
    """Rows as numbers, their class numbers, and numbers of their sources."""

    X: Doubles
    y: Indices
    sources: Indices


class KnownTask(NamedTuple):
    """Rows to learn from and rows to speak of; all sources and classes are in the former."""

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
        """Deal the training rows, so that classes and sources keep their shares."""
        pairs = class_source_pairs(self.train.sources, self.train.y)
        return deal_folds(pairs, N_FOLDS, np.random.default_rng(self.seed))


Answer: TypeAlias = tuple[Doubles, float | None]
"""Probabilities of the test rows, and the log loss by which the method was tuned, if it was."""
Design: TypeAlias = tuple[Doubles, Doubles]
"""Columns of training and test rows, as a model sees them."""


def _with_indicators(task: KnownTask) -> Design:
    own = np.eye(task.n_sources)
    train, test = (np.column_stack([each.X, own[each.sources]]) for each in task[:2])
    return train, test


def _with_interactions(task: KnownTask) -> Design:
    """Let each source have its own copy of the standardised columns beside the shared ones.

    They are not standardised again: that would penalise small sources less than large ones.
    """
    mean, spread = task.train.X.mean(axis=0), task.train.X.std(axis=0)
    own = np.eye(task.n_sources)
    parts = []
    for rows in task[:2]:
        Z, indicators = (rows.X - mean) / np.where(spread > 0, spread, 1.0), own[rows.sources]
        crossed = (Z[:, :, None] * indicators[:, None, :]).reshape(len(Z), -1)
        parts.append(np.column_stack([Z, indicators, crossed]))
    return parts[0], parts[1]


def _with_numbers(task: KnownTask) -> Design:
    train, test = (np.column_stack([each.X, each.sources]) for each in task[:2])
    return train, test


def _without(task: KnownTask) -> Design:
    return task.train.X, task.test.X


def log_loss(probabilities: Doubles, y: Indices) -> float:
    """Mean log loss; probabilities count as at least 1e-15."""
    true = probabilities[np.arange(len(y)), y]
    return float(-np.log(np.maximum(true, 1e-15)).mean())


def _predict_proba(model: Any, X: Doubles, n_classes: int) -> Doubles:
    """Probabilities of all classes; those that the model has not seen have none."""
    out = np.zeros((len(X), n_classes))
    out[:, model.classes_] = model.predict_proba(X)
    return out


def _logistic(task: KnownTask, design: Design, kind: Any = ScaledLogisticRegression) -> Answer:
    X, X_new = design
    y, held = task.train.y, np.zeros((len(task.train.y), task.n_classes))
    losses = []
    for C in STRENGTHS:
        for train, test in task.folds():
            model = kind(C=C, max_iter=500).fit(X[train], y[train])
            held[test] = _predict_proba(model, X[test], task.n_classes)
        losses.append(log_loss(held, y))
    best = int(np.argmin(losses))
    model = kind(C=STRENGTHS[best], max_iter=500).fit(X, y)
    return _predict_proba(model, X_new, task.n_classes), losses[best]


def _lightgbm(task: KnownTask, design: Design, *, with_source: bool) -> Answer:
    """Boosting, its leaves and rounds by cross-validation; the last column may be a category."""
    lgb = require("lightgbm", "This method", extra="boost")
    X, X_new = design
    several = {"objective": "multiclass", "num_class": task.n_classes}
    aim = {"objective": "binary"} if task.n_classes == 2 else several
    rows = {"categorical_feature": [task.train.X.shape[1]] if with_source else [],
            "free_raw_data": False}  # fmt: skip
    found = []
    for leaves, smallest in product(LEAVES, SMALLEST_LEAVES):
        settings = {**BOOSTING, **aim, "num_leaves": leaves, "min_data_in_leaf": smallest}
        learned = lgb.Dataset(X, task.train.y, params=settings, **rows)
        stop = lgb.early_stopping(PATIENCE, verbose=False)
        seen = lgb.cv({**settings, "seed": task.seed}, learned, MOST_ROUNDS, folds=task.folds(),
                      callbacks=[stop])  # fmt: skip
        losses = next(value for name, value in seen.items() if name.endswith("logloss-mean"))
        found.append((min(losses), int(np.argmin(losses)) + 1, settings))
    loss, rounds, settings = min(found, key=lambda each: each[0])
    learned = lgb.Dataset(X, task.train.y, params=settings, **rows)
    said = lgb.train({**settings, "seed": task.seed}, learned, rounds).predict(X_new)
    return said if said.ndim == 2 else np.column_stack([1 - said, said]), float(loss)


def _pooled(task: KnownTask, **penalties: Any) -> Answer:
    """Partial pooling, or one of its ends."""
    model = PartialPoolingClassifier(cv=task.folds(), **penalties)
    model.fit(task.train.X, task.train.y, sources=task.train.sources)
    return model.predict_proba(task.test.X, sources=task.test.sources), None


def _forest(task: KnownTask) -> Answer:
    X, X_new = _with_indicators(task)
    model = RandomForestClassifier(200, min_samples_leaf=2, random_state=task.seed)
    return _predict_proba(model.fit(X, task.train.y), X_new, task.n_classes), None


def _source_strata(task: KnownTask) -> Answer:
    """Recognise the source by a gate, and ask its member: nobody tells which source it is."""
    model = StrataEnsembleClassifier(SourceStrata(), random_state=task.seed)
    model.fit(task.train.X, task.train.y, sources=task.train.sources)
    return model.predict_proba(task.test.X), None


def fit_pool_with_sources(task: KnownTask) -> EnsemblageClassifier:
    """Fit the pool; of the one that does not know sources, which is not asked here, the least."""
    model = EnsemblageClassifier(["logistic"], random_state=task.seed)
    model.fit(task.train.X, task.train.y, sources=task.train.sources)
    return model


def _pool(task: KnownTask) -> Answer:
    model = fit_pool_with_sources(task)
    loss = model.source_pool_.leaderboard[0].log_loss
    return model.predict_proba(task.test.X, sources=task.test.sources), loss


METHODS: dict[str, Callable[[KnownTask], Answer]] = {
    "pool-with-sources": _pool,
    "partial-pooling": _pooled,
    "pooled": lambda task: _logistic(task, _without(task)),
    "one-hot": lambda task: _logistic(task, _with_indicators(task)),
    "one-per-source": lambda task: _pooled(task, common_penalty=np.inf),
    "interactions": lambda task: _logistic(task, _with_interactions(task), LogisticRegression),
    "lightgbm-with-source": lambda task: _lightgbm(task, _with_numbers(task), with_source=True),
    "lightgbm-without-source": lambda task: _lightgbm(task, _without(task), with_source=False),
    "forest-with-source": _forest,
    "source-strata": _source_strata,
}
CAREFUL = ("lightgbm-with-source", "interactions")
"""A careful user takes the one with the smaller loss by cross-validation."""


LABELLED = (20, 50, 100)
DRAWS = 10
LEAST_TESTED = 20
COVERAGE = 0.9
MOST_LEFT_OUT = 10


def known_scores(method: str, task: KnownTask) -> dict[str, float]:
    said, cv_loss = METHODS[method](task)
    y, sources = task.test.y, task.test.sources
    wrong = said.argmax(axis=1) != y
    each = [sources == s for s in range(task.n_sources)]
    scores = {
        "log_loss": log_loss(said, y),
        "error": float(wrong.mean()),
        "worst": max(float(wrong[own].mean()) for own in each),
        "gap": float(np.mean([excess_gap(said[own], y[own]) for own in each])),
    }
    return scores if cv_loss is None else scores | {"cv_loss": cv_loss}


def excess_gap(said: Doubles, y: Indices) -> float:
    """How far the rate of the last class is from what was said, beyond what chance makes of it."""
    rate = said[:, -1]
    gap = rate.mean() - (y == said.shape[1] - 1).mean()
    chance = (rate * (1 - rate)).sum() / len(rate) ** 2
    return float(np.sqrt(max(0.0, gap**2 - chance)))


def new_scores(method: str, found: SourceSet, source: int, seed: int) -> Mapping[str, Any]:
    """Promise of an audit without a source, and what its rows then say."""
    rest, own = np.flatnonzero(found.sources != source), np.flatnonzero(found.sources == source)
    model = make_model(method, found.data.columns, seed)
    X, y = found.data.X[rest], found.labels[rest].astype(np.int64)
    sources = np.unique(found.sources[rest], return_inverse=True)[1].astype(np.int64)
    inside = cross_predict(model, X, y, balanced_folds(y, sources, 5, seed))
    said = {"ordinary": _source_errors(inside, y, sources).mean()}
    thresholds = {"ordinary": _threshold(inside, y)}
    if sources.max() > 0:
        outside = cross_predict(model, X, y, source_folds(sources, MOST_LEFT_OUT))
        by_source = _source_errors(outside, y, sources)
        bound = min(1.0, upper_prediction_limit(by_source, 0.9))
        said |= {"left_out": by_source.mean(), "bound": bound}
        thresholds["left_out"] = _threshold(outside, y)
    proba = model.fit(X, y).predict_proba(found.data.X[own])
    labels = found.labels[own].astype(np.int64)
    said["truth"] = errors(proba, labels).mean()
    if "bound" in said:
        said["held"] = float(said["truth"] <= said["bound"])
    true = proba[np.arange(len(labels)), labels]
    said |= {f"covered_{name}": (true >= least).mean() for name, least in thresholds.items()}
    said["novelty"] = _novelty(found, rest, own)
    adapted = _adapted(as_log_proba(proba), labels, seed)
    return {name: float(value) for name, value in (said | adapted).items()}


def _source_errors(proba: Doubles, y: NDArray[np.int64], sources: NDArray[np.int64]) -> Doubles:
    wrong = np.bincount(sources, errors(proba, y).astype(float))
    return np.asarray(wrong / np.bincount(sources))


def _threshold(proba: Doubles, y: NDArray[np.int64]) -> float:
    """Probability that the true class of nine rows in ten has."""
    true = proba[np.arange(len(y)), y]
    return float(np.quantile(true, 1 - COVERAGE * (1 + 1 / len(y)), method="lower"))


def _adapted(log_proba: Doubles, y: NDArray[np.int64], seed: int) -> dict[str, float]:
    """Log loss of a site's other rows before and after some were used to recalibrate."""
    rng = np.random.default_rng(seed)
    found = {}
    for n_rows in LABELLED:
        if len(y) < n_rows + LEAST_TESTED:
            continue
        before, after = [], []
        for _ in range(DRAWS):
            order = rng.permutation(len(y))
            few, others = order[:n_rows], order[n_rows:]
            change = fit_calibration(log_proba[few], y[few], np.ones(n_rows)).shrunken()
            before.append(-log_proba[others, y[others]].mean())
            after.append(-change.log_proba(log_proba[others])[np.arange(len(others)), y[others]])
        found[f"before_{n_rows}"] = float(np.mean(before))
        found[f"after_{n_rows}"] = float(np.mean([each.mean() for each in after]))
    return found


def _novelty(found: SourceSet, rest: Indices, own: Indices) -> float:
    """Area under the ROC curve of a row's distance (Mahalanobis) to the other sources' rows."""
    encoder = TableEncoder(kinds=list(found.data.kinds)).fit(found.data.X[rest])
    Z, new = (np.asarray(encoder.transform(found.data.X[rows]), float) for rows in (rest, own))
    centre, metric = Z.mean(axis=0), np.linalg.pinv(np.cov(Z.T))
    gaps = np.vstack([Z, new]) - centre
    ranks = rankdata(np.einsum("ij,jk,ik->i", gaps, metric, gaps))
    n_old, n_new = len(rest), len(own)
    return float((ranks[n_old:].sum() - n_new * (n_new + 1) / 2) / (n_old * n_new))


FOLDER = "multi-source"
TARGET, SOURCE = "class", "source"
TRAIN_SHARE, MOST_TRAINING = 0.3, 900


class SourceSet(NamedTuple):
    """A dataset, numbers of its classes and sources, and the sources' names."""

    data: Dataset
    labels: Indices
    sources: Indices
    names: tuple[str, ...]


def source_set(name: str, data_dir: str | None) -> SourceSet:
    return _read(str(_path(name, data_dir)))


def set_print(name: str, data_dir: str | None) -> str:
    """Fingerprint of a table: of its file's bytes."""
    return hashlib.sha256(_path(name, data_dir).read_bytes()).hexdigest()[:16]


def known_task(found: SourceSet, seed: int) -> KnownTask:
    """Split a table: three tenths to learn from, 900 rows at most, with all sources and classes."""
    y, sources = found.labels, found.sources
    share = min(TRAIN_SHARE, MOST_TRAINING / len(y))
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
def _read(path: str) -> SourceSet:
    data = open_dataset(path, TARGET, source_column=SOURCE)
    labels = np.unique(data.y, return_inverse=True)[1]
    names, sources = np.unique(np.asarray(data.sources, dtype=str), return_inverse=True)
    return SourceSet(data, labels.astype(np.intp), sources.astype(np.intp), tuple(names.tolist()))


def _path(name: str, data_dir: str | None) -> Path:
    folder = find_folder(data_dir)
    if folder is None:
        raise ValueError(f"{name} is in no folder: name one that has `{FOLDER}` by `data_dir`.")
    path = folder / FOLDER / f"{name}.csv"
    if not path.exists():
        raise ValueError(f"There is no file {FOLDER}/{name}.csv in the folder of the data.")
    return path


def loss_sentences(rows: Sequence[ResultRow], measure: str, other: str) -> list[str]:
    """Compare each of the library's own columns with another, over the datasets."""
    said = []
    for own in ("pool with sources", "partial pooling", "source strata, source not told"):
        names, scores = complete_scores(rows, (own, other))
        if names and (scores[:, 1] > 0).all():
            ratios = scores[:, 0] / scores[:, 1] - 1
            lower = int((ratios < 0).sum())
            said.append(
                f"{own} against {other}: {measure} {ratios.mean():+.1%} on average (median "
                f"{np.median(ratios):+.1%}), lower on {lower} of {len(names)} datasets."
            )
    return said


def promise_sentences(rows: Sequence[ResultRow]) -> list[str]:
    """Say how far promises are from the truth, each dataset and model counting once."""
    said = []
    for promise in ("ordinary folds promise", "leave-sources-out promises"):
        names, scores = complete_scores(rows, (promise, "truth"))
        if names:
            gap = float(np.abs(scores[:, 0] - scores[:, 1]).mean())
            said.append(
                f"What {promise} is {gap:.3f} from the truth on average ({len(names)} rows)."
            )
    return said


def held_sentence(rows: Sequence[ResultRow]) -> list[str]:
    found = [row for row in rows if row.column == "share below the bound" and row.ours is not None]
    n_sources = sum(row.repeats for row in found)
    if not n_sources:
        return []
    held = sum((row.ours or 0.0) * row.repeats for row in found) / n_sources
    return [f"The bound for nine in ten held for {held:.0%} of {n_sources} new sources."]


def recalibration_sentences(rows: Sequence[ResultRow], columns: Sequence[str]) -> list[str]:
    """Say what recalibration changes on average, and where it is worst."""
    said = []
    for column in columns:
        found = [row for row in rows if row.column == column and row.ours is not None]
        if found:
            changes = [row.ours or 0.0 for row in found]
            worst = found[int(np.argmax(changes))]
            said.append(
                f"{column} of the new source change its log loss by {np.mean(changes):+.1f} % on "
                f"average; least to its good: {max(changes):+.1f} % ({worst.row})."
            )
    return said


SETS = ("heart", "promise", "student", "wine")
N_SOURCES = {"heart": 4, "promise": 9, "student": 2, "wine": 2}
PICK = "careful pick"
COLUMNS = {
    "pool-with-sources": "pool with sources",
    "partial-pooling": "partial pooling",
    "pooled": "regression without source",
    "one-hot": "regression with source",
    "one-per-source": "one regression per source",
    "interactions": "regression with interactions",
    "lightgbm-with-source": "LightGBM with source",
    "lightgbm-without-source": "LightGBM without source",
    "forest-with-source": "forest with source",
    "source-strata": "source strata, source not told",
}
MODELS = {"boosting": "gradient boosting", "logistic": "logistic regression"}


class SourcesParams(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One method and one split, or one model and the source that is left out, as the repeat."""

    part: str
    dataset: str
    method: str
    repeat: int
    seed: int


Column: TypeAlias = tuple[str, Callable[[Mapping[str, Any]], float | None]]
"""A column of a table on new sources: its heading, and its value in a cell's."""


def _just(name: str) -> Callable[[Mapping[str, Any]], float | None]:
    return lambda values: values.get(name)


def _change(n_rows: int) -> Callable[[Mapping[str, Any]], float | None]:
    """Change of the log loss in per cent; a source may have too few rows to tell."""

    def change(values: Mapping[str, Any]) -> float | None:
        before = values.get(f"before_{n_rows}")
        return None if before is None else 100 * (values[f"after_{n_rows}"] / before - 1)

    return change


NEW: tuple[Column, ...] = (
    ("ordinary folds promise", _just("ordinary")),
    ("leave-sources-out promises", _just("left_out")),
    ("truth", _just("truth")),
    ("bound for nine in ten", _just("bound")),
    ("share below the bound", _just("held")),
)
ADAPTED = tuple((f"{n_rows} rows", _change(n_rows)) for n_rows in LABELLED)
COVERED = (
    ("sets by ordinary folds", _just("covered_ordinary")),
    ("sets by leave-sources-out", _just("covered_left_out")),
)
NOVEL = (("by a row's distance", _just("novelty")),)


@paper_table("sources")
class SourcesStudy(PaperTable[int]):
    """Splits of known sources: one, five, ten. Each source is left out once."""

    scales = Scales(1, 5, 10)
    quick_datasets = ("heart",)

    def datasets(self, scale: str) -> tuple[str, ...]:
        return SETS

    def fingerprint(self, name: str, data_dir: str | None) -> str:
        return set_print(name, data_dir)

    def grid(self, scope: PaperScope) -> Iterator[SourcesParams]:
        """Begin with new sources, then splits of known ones: a stopped run has all tables."""
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
        found = source_set(params.dataset, data_dir)
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
            ("gap", "gap of rates, source by source", "gap"),
        )
        new = (
            ("new", "error on a new source", NEW),
            ("recalibration", "change of log loss (%)", ADAPTED),
            ("coverage", "rows of a new source whose class is in its set", COVERED),
            ("novelty", "telling rows of a new source (area under ROC)", NOVEL),
        )
        return [
            *(self._known_table(groups, scope, *each) for each in known),
            *(self._new_table(groups, scope, *each) for each in new),
        ]

    def _known_table(
        self, groups: Groups, scope: PaperScope, stem: str, measure: str, value: str
    ) -> ResultTable:
        """Average splits; the careful pick is made in each of them."""
        rows = []
        for name in scope.datasets:
            for method in METHODS:
                found = groups.get(("known", name, method), [])
                values = by_repeat(found, value)
                rows.append(self.entry(name, COLUMNS[method], values, failed(found)))
            careful = [groups.get(("known", name, method), []) for method in CAREFUL]
            tuned = [by_repeat(found, "cv_loss") for found in careful]
            scores = [by_repeat(found, value) for found in careful]
            repeats = sorted(set.intersection(*(set(each) for each in tuned)))
            best = {r: int(np.argmin([each[r] for each in tuned])) for r in repeats}
            rows.append(self.entry(name, PICK, {r: scores[k][r] for r, k in best.items()}))
        sentences = loss_sentences(rows, measure, PICK)
        return self.measure_table(stem, measure, rows, sentences, scope, greater_is_better=False)

    def _new_table(
        self, groups: Groups, scope: PaperScope, stem: str, measure: str, columns: Sequence[Column]
    ) -> ResultTable:
        """Average the sources that were left out, each once."""
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
            "new": lambda: [*promise_sentences(rows), *held_sentence(rows)],
            "recalibration": lambda: recalibration_sentences(rows, [head for head, _ in columns]),
        }.get(stem, list)()
        better = stem in {"coverage", "novelty"}
        return self.measure_table(stem, measure, rows, sentences, scope, greater_is_better=better)
