"""Bayesian networks as in the inner ensembles paper: its settings, its bagging, its frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from ensemblage.bayes import BayesNetClassifier
from ensemblage.datasets import Dataset
from ensemblage.inner import InnerBayesNetClassifier
from ensemblage.parallel import draw_seeds

PAPER_NETWORK: dict[str, Any] = {
    "init": "empty", "criterion": "probability", "max_parents": None, "calibration": None,
}  # fmt: skip
"""The network that reproduces the paper's column BN."""


class BaggedNetworks:
    """Bagging that hands frames on by rows, so that declared categories survive."""

    def __init__(self, estimator: Any, n_estimators: int, random_state: int) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> BaggedNetworks:
        """Fit each member on its bootstrap."""
        self.members_ = []
        for seed in draw_seeds(self.random_state, self.n_estimators):
            rows = np.random.default_rng(seed).integers(len(y), size=len(y))
            member = clone(self.estimator)
            self.members_.append(member.fit(_safe_indexing(X, rows), _safe_indexing(y, rows)))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Take the class of the highest mean probability."""
        total = np.asarray(sum(member.predict_proba(X) for member in self.members_))
        return np.asarray(self.members_[0].classes_[total.argmax(axis=1)])


def as_frame(dataset: Dataset) -> tuple[Any, Any]:
    """Give a dataset its declared categories: a pandas frame, and a series of classes."""
    import pandas as pd  # noqa: PLC0415  optional; only frames can declare categories

    columns = {}
    for j, (name, kind) in enumerate(zip(dataset.feature_names, dataset.kinds, strict=True)):
        values = dataset.X[:, j]
        if kind != "word":
            columns[name] = pd.Series(values.astype(float))
        else:
            known = dataset.categories.get(name) or sorted({v for v in values if v is not None})
            columns[name] = pd.Series(pd.Categorical(values, categories=list(known)))
    classes = dataset.categories.get(dataset.target) or np.unique(dataset.y).tolist()
    y = pd.Series(pd.Categorical(dataset.y, categories=list(classes)), name=dataset.target)
    return pd.DataFrame(columns), y


def paper_model(method: str, seed: int, **setting: Any) -> Any:
    """Make one of the networks that the paper compares, or one of ours.

    "plain", "inner" and "bagging" are the paper's network, alone, with the inner score, or bagged;
    "crowd" and "default" are ours with pooled tables, and alone. ``setting`` has ``n_views`` (the
    bag's size), ``view_size`` and ``replace``.
    """
    if method == "inner":
        return InnerBayesNetClassifier(
            **setting, tables="plain", random_state=seed, arc_confidence=False, **PAPER_NETWORK
        )
    if method == "bagging":
        return BaggedNetworks(BayesNetClassifier(**PAPER_NETWORK), setting["n_views"], seed)
    if method == "crowd":
        return InnerBayesNetClassifier(random_state=seed, arc_confidence=False, **setting)
    return BayesNetClassifier(**(PAPER_NETWORK if method == "plain" else {}))
