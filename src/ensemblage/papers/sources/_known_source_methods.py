"""What one can do where the source of each row is known, in training and at prediction."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from ensemblage.messages import require
from ensemblage.parallel import Fold, deal_folds
from ensemblage.pool import EnsemblageClassifier
from ensemblage.strata import (
    PartialPoolingClassifier,
    ScaledLogisticRegression,
    SourceStrata,
    StrataEnsembleClassifier,
    source_classes,
)

Doubles = NDArray[np.float64]
Codes = NDArray[np.intp]

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
    y: Codes
    sources: Codes


class KnownTask(NamedTuple):
    """Rows to learn from and rows to speak of; all sources and classes are in the former."""

    train: KnownRows
    test: KnownRows
    seed: int

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.train.y.max()) + 1

    @property
    def n_sources(self) -> int:
        """Number of sources."""
        return int(self.train.sources.max()) + 1

    def folds(self) -> list[Fold]:
        """Deal the training rows, so that classes and sources keep their shares."""
        pairs = source_classes(self.train.sources, self.train.y)
        return deal_folds(pairs, N_FOLDS, np.random.default_rng(self.seed))


class KnownAnswer(NamedTuple):
    """Probabilities of the test rows, and the log loss by which the method was tuned, if it was."""

    probabilities: Doubles
    cv_loss: float | None = None


class _Design(NamedTuple):
    """Columns of all rows, as a model sees them."""

    train: Doubles
    test: Doubles


def _with_indicators(task: KnownTask) -> _Design:
    """Put a column per source behind the others."""
    own = np.eye(task.n_sources)
    return _Design(*(np.column_stack([each.X, own[each.sources]]) for each in task[:2]))


def _with_interactions(task: KnownTask) -> _Design:
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
    return _Design(*parts)


def _with_numbers(task: KnownTask) -> _Design:
    """Put the source's number behind the columns."""
    return _Design(*(np.column_stack([each.X, each.sources]) for each in task[:2]))


def _without(task: KnownTask) -> _Design:
    return _Design(task.train.X, task.test.X)


def log_loss(probabilities: Doubles, y: Codes) -> float:
    """Mean log loss; probabilities count as at least 1e-15."""
    true = probabilities[np.arange(len(y)), y]
    return float(-np.log(np.maximum(true, 1e-15)).mean())


def _asked(model: Any, X: Doubles, n_classes: int) -> Doubles:
    """Ask a fitted classifier; classes that it has not met have no probability."""
    out = np.zeros((len(X), n_classes))
    out[:, model.classes_] = model.predict_proba(X)
    return out


def _logistic(
    task: KnownTask, design: _Design, kind: type[LogisticRegression] = ScaledLogisticRegression
) -> KnownAnswer:
    """Logistic regression, its penalty by cross-validation."""
    y, held = task.train.y, np.zeros((len(task.train.y), task.n_classes))
    losses = []
    for C in STRENGTHS:
        for train, test in task.folds():
            model = kind(C=C, max_iter=500).fit(design.train[train], y[train])
            held[test] = _asked(model, design.train[test], task.n_classes)
        losses.append(log_loss(held, y))
    best = int(np.argmin(losses))
    model = kind(C=STRENGTHS[best], max_iter=500).fit(design.train, y)
    return KnownAnswer(_asked(model, design.test, task.n_classes), losses[best])


def _lightgbm(task: KnownTask, design: _Design, *, with_source: bool) -> KnownAnswer:
    """Boosting, its leaves and rounds by cross-validation; the last column may be a category."""
    lgb = require("lightgbm", "This method", extra="boost")
    several = {"objective": "multiclass", "num_class": task.n_classes}
    aim = {"objective": "binary"} if task.n_classes == 2 else several
    rows = {"categorical_feature": [task.train.X.shape[1]] if with_source else [],
            "free_raw_data": False}  # fmt: skip
    found = []
    for leaves, smallest in product(LEAVES, SMALLEST_LEAVES):
        settings = {**BOOSTING, **aim, "num_leaves": leaves, "min_data_in_leaf": smallest}
        learned = lgb.Dataset(design.train, task.train.y, params=settings, **rows)
        stop = lgb.early_stopping(PATIENCE, verbose=False)
        seen = lgb.cv({**settings, "seed": task.seed}, learned, MOST_ROUNDS, folds=task.folds(),
                      callbacks=[stop])  # fmt: skip
        losses = next(value for name, value in seen.items() if name.endswith("logloss-mean"))
        found.append((min(losses), int(np.argmin(losses)) + 1, settings))
    loss, rounds, settings = min(found, key=lambda each: each[0])
    learned = lgb.Dataset(design.train, task.train.y, params=settings, **rows)
    said = lgb.train({**settings, "seed": task.seed}, learned, rounds).predict(design.test)
    return KnownAnswer(said if said.ndim == 2 else np.column_stack([1 - said, said]), float(loss))


def _pooled(task: KnownTask, **penalties: Any) -> KnownAnswer:
    """Partial pooling, or one of its ends."""
    model = PartialPoolingClassifier(cv=task.folds(), **penalties)
    model.fit(task.train.X, task.train.y, sources=task.train.sources)
    return KnownAnswer(model.predict_proba(task.test.X, sources=task.test.sources))


def _forest(task: KnownTask) -> KnownAnswer:
    design = _with_indicators(task)
    model = RandomForestClassifier(200, min_samples_leaf=2, random_state=task.seed)
    model.fit(design.train, task.train.y)
    return KnownAnswer(_asked(model, design.test, task.n_classes))


def _source_strata(task: KnownTask) -> KnownAnswer:
    """Recognise the source by a gate, and ask its member: nobody tells which source it is."""
    model = StrataEnsembleClassifier(SourceStrata(), random_state=task.seed)
    model.fit(task.train.X, task.train.y, sources=task.train.sources)
    return KnownAnswer(model.predict_proba(task.test.X))


def fit_pool_with_sources(task: KnownTask) -> EnsemblageClassifier:
    """Fit the pool; of the one that does not know sources, which is not asked here, the least."""
    model = EnsemblageClassifier(["logistic"], random_state=task.seed)
    model.fit(task.train.X, task.train.y, sources=task.train.sources)
    return model


def _pool(task: KnownTask) -> KnownAnswer:
    model = fit_pool_with_sources(task)
    loss = model.known_sources_.leaderboard[0].log_loss
    return KnownAnswer(model.predict_proba(task.test.X, sources=task.test.sources), loss)


METHODS: dict[str, Callable[[KnownTask], KnownAnswer]] = {
    "pool-with-sources": _pool,
    "partial-pooling": _pooled,
    "pooled": lambda task: _logistic(task, _without(task)),
    "one-hot": lambda task: _logistic(task, _with_indicators(task)),
    "one-per-source": lambda task: _pooled(task, shared_penalty=np.inf),
    "interactions": lambda task: _logistic(task, _with_interactions(task), LogisticRegression),
    "lightgbm-with-source": lambda task: _lightgbm(task, _with_numbers(task), with_source=True),
    "lightgbm-without-source": lambda task: _lightgbm(task, _without(task), with_source=False),
    "forest-with-source": _forest,
    "source-strata": _source_strata,
}
CAREFUL = ("lightgbm-with-source", "interactions")
"""A careful user takes the one with the smaller loss by cross-validation."""


def answer_known(method: str, task: KnownTask) -> KnownAnswer:
    """Let a method learn the training rows and speak of the others."""
    return METHODS[method](task)
