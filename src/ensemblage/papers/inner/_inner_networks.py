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

PAPER_NETWORK = {"init": "empty", "criterion": "probability", "max_parents": None}
"""The network that reproduces the paper's column BN."""

DATASETS = (
    "breast-w", "credit-a", "ecoli", "glass", "heart-c", "heart-statlog", "hepatitis", "iris",
    "labor", "liver", "lymph", "pima", "tic-tac-toe", "vote",
)  # fmt: skip


class BaggedNetworks:
    """Bagging that hands frames on by rows, so that declared categories survive.

    Parameters
    ----------
    estimator : estimator
        The network.
    n_estimators : int
        How many bootstraps.
    random_state : int
        Where their seeds come from.
    """

    def __init__(self, estimator: Any, n_estimators: int, random_state: int) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> BaggedNetworks:
        """Fit each member on its bootstrap.

        Parameters
        ----------
        X : dataframe or ndarray
            Features.
        y : array-like
            Classes.

        Returns
        -------
        BaggedNetworks
            Fitted.
        """
        self.members_ = []
        for seed in draw_seeds(self.random_state, self.n_estimators):
            rows = np.random.default_rng(seed).integers(len(y), size=len(y))
            member = clone(self.estimator)
            self.members_.append(member.fit(_safe_indexing(X, rows), _safe_indexing(y, rows)))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Take the class of the highest mean probability.

        Parameters
        ----------
        X : dataframe or ndarray
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes.
        """
        total = sum(member.predict_proba(X) for member in self.members_)
        return self.members_[0].classes_[np.asarray(total).argmax(axis=1)]


def as_frame(dataset: Dataset) -> tuple[Any, Any]:
    """Give a dataset its declared categories, as a frame.

    Parameters
    ----------
    dataset : Dataset
        Any.

    Returns
    -------
    X : pandas.DataFrame
        Features.
    y : pandas.Series
        Classes, categorical.
    """
    import pandas as pd  # noqa: PLC0415  optional; only frames can declare categories

    columns = {}
    for j, (name, kind) in enumerate(zip(dataset.feature_names, dataset.kinds, strict=True)):
        cells = dataset.X[:, j]
        if kind == "number":
            columns[name] = pd.Series(cells.astype(float))
        else:
            declared = dataset.categories.get(name)
            categories = list(declared) if declared else sorted({c for c in cells if c is not None})
            columns[name] = pd.Series(pd.Categorical(cells, categories=categories))
    declared = dataset.categories.get(dataset.target)
    classes = list(declared) if declared else np.unique(dataset.y).tolist()
    y = pd.Series(pd.Categorical(dataset.y, categories=classes), name=dataset.target)
    return pd.DataFrame(columns), y


def paper_model(method: str, seed: int, **setting: Any) -> Any:
    """Make one of the networks that the paper compares, or one of ours.

    Parameters
    ----------
    method : {"plain", "inner", "bagging", "crowd", "default"}
        The paper's network, alone, with the inner score, or bagged; ours with pooled tables; ours
        alone.
    seed : int
        Of the samples.
    **setting : parameters
        ``n_views``, ``view_size`` and ``replace`` of the inner score; ``n_views`` of the bag.

    Returns
    -------
    estimator
        Unfitted.
    """
    if method == "inner":
        return InnerBayesNetClassifier(
            **setting, tables="plain", random_state=seed, **PAPER_NETWORK
        )
    if method == "bagging":
        return BaggedNetworks(BayesNetClassifier(**PAPER_NETWORK), setting["n_views"], seed)
    if method == "crowd":
        return InnerBayesNetClassifier(random_state=seed, **setting)
    return BayesNetClassifier(**(PAPER_NETWORK if method == "plain" else {}))
