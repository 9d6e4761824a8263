"""Which features a fitted model chose together, with their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.explain._feature_origins import feature_names
from ensemblage.parallel import final_step
from ensemblage.tables import as_pipeline


class CoSelection(NamedTuple):
    """A co-selection matrix that can be read.

    Parameters
    ----------
    feature_names : list of str
        One per row and column.
    matrix : ndarray of shape (n_features, n_features)
        Share of the members that use both features; how often each is used on the diagonal.
    """

    feature_names: list[str]
    matrix: NDArray[np.float64]


def co_selected(
    model: Any, top: int | None = None, *, columns: Sequence[str] = ()
) -> CoSelection | None:
    """Co-selection matrix of a fitted model, most used features first.

    Parameters
    ----------
    model : estimator or Pipeline
        As ``make_model`` makes it, fitted, or an estimator of ``ensemblage.subspace``.
    top : int, default=None
        Show so many features at most.
    columns : sequence of str, default=()
        Names of the table's columns, for a model that was fitted on an array.

    Returns
    -------
    CoSelection or None
        None if the model has no such matrix.

    Examples
    --------
    >>> from ensemblage.datasets import make_quarter_circle
    >>> from ensemblage.subspace import JointSubspaceSelector
    >>> X, y = make_quarter_circle(100, n_dummies=2, random_state=0)
    >>> selector = JointSubspaceSelector(n_estimators=5, random_state=0).fit(X, y)
    >>> sorted(co_selected(selector, top=2).feature_names)
    ['x0', 'x1']
    """
    model = as_pipeline(model)
    estimator = final_step(model)
    if not hasattr(estimator, "co_selection_"):
        return None
    matrix = estimator.co_selection_
    names = feature_names(model, columns if len(columns) > 0 else _columns(model))
    order = np.argsort(-np.diag(matrix), kind="stable")[:top]
    return CoSelection([names[d] for d in order], matrix[np.ix_(order, order)])


def _columns(model: Any) -> list[str]:
    numbered = [f"x{d}" for d in range(model.n_features_in_)]
    return [str(name) for name in getattr(model, "feature_names_in_", numbered)]
