"""Probabilities of rows that a model has not seen: by ordinary folds, and by sources left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from ensemblage.parallel import Fold, deal_folds, iterate_tasks

Doubles = NDArray[np.float64]
Codes = NDArray[np.int64]

SMALLEST = 1e-12


class HeldOut(NamedTuple):
    """Probabilities (n_rows, n_classes), from models that had not seen the row."""

    shares: Doubles

    def errors(self, labels: Codes) -> NDArray[np.bool_]:
        """Mark rows whose class is not the most probable one."""
        return np.asarray(self.shares.argmax(axis=1) != labels)

    def losses(self, labels: Codes) -> Doubles:
        """Minus the log probability of each row's class."""
        true = self.shares[np.arange(len(labels)), labels]
        return np.asarray(-np.log(np.clip(true, SMALLEST, 1.0)))


def ordinary_folds(labels: Codes, sources: Codes, n_folds: int, seed: int) -> list[Fold]:
    """Deal rows so that every fold has all sources and classes."""
    pairs = np.unique(sources * (labels.max() + 1) + labels, return_inverse=True)[1]
    return deal_folds(pairs, n_folds, np.random.default_rng(seed))


def source_folds(sources: Codes, most: int) -> list[Fold]:
    """Leave each source out, or groups of them of about equal size if there are many."""
    counts = np.bincount(sources)
    group = np.zeros(len(counts), dtype=int)
    sizes = np.zeros(min(most, len(counts)))
    for source in np.argsort(-counts, kind="stable"):
        group[source] = sizes.argmin()
        sizes[group[source]] += counts[source]
    groups = group[sources]
    return [
        Fold(np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in range(len(sizes))
    ]


def without_sources(folds: Sequence[Fold], sources: Codes, dropped: Sequence[int]) -> list[Fold]:
    """Leave sources out of all training; a fold that has no other keeps its rows."""
    kept = [Fold(fold.train[~np.isin(sources[fold.train], dropped)], fold.test) for fold in folds]
    return [new if len(new.train) else old for new, old in zip(kept, folds, strict=True)]


def held_out(
    estimator: Any,
    X: Any,
    labels: Codes,
    folds: Sequence[Fold],
    *,
    n_jobs: int | None = None,
    step: Callable[[], Any] | None = None,
) -> HeldOut:
    """Predict every fold's test rows by a model of its training rows; ``step`` after each fit."""
    n_classes = int(labels.max()) + 1
    tasks = [
        (
            clone(estimator), _safe_indexing(X, fold.train), labels[fold.train],
            _safe_indexing(X, fold.test), n_classes,
        )
        for fold in folds
    ]  # fmt: skip
    shares = np.zeros((len(labels), n_classes))
    for number, found in iterate_tasks(_fit_and_predict, tasks, n_jobs):
        shares[folds[number].test] = found
        if step is not None:
            step()
    return HeldOut(shares)


def _fit_and_predict(estimator: Any, X: Any, labels: Codes, new: Any, n_classes: int) -> Doubles:
    out = np.zeros((len(new), n_classes))
    present = np.unique(labels)
    if len(present) == 1:  # a model of one class says so
        out[:, present[0]] = 1.0
        return out
    fitted = estimator.fit(X, labels)
    out[:, np.asarray(fitted.classes_, dtype=int)] = fitted.predict_proba(new)
    return out
