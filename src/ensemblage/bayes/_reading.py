"""What the user hands to ``fit`` and ``predict``, checked and taken apart."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    assert_all_finite,
    check_consistent_length,
    validate_data,
)

from ensemblage.bayes._columns import Column, is_frame, read_columns


class Target(NamedTuple):
    """The class column.

    Attributes
    ----------
    name : str
        Its name, or "class".
    labels : ndarray of shape (n_rows,)
        Class codes.
    categories : ndarray of shape (n_classes,)
        The classes in the order of their codes: as declared, else sorted.
    """

    name: str
    labels: NDArray[np.int32]
    categories: NDArray[Any]


def read_target(y: Any, taken: list[str]) -> Target:
    """Read the class column; a categorical one keeps its declared classes.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Classes.
    taken : list of str
        Names of the features, which the class must not have.

    Returns
    -------
    Target
        Name, codes and classes.
    """
    declared = _declared_classes(y)
    name = str(getattr(y, "name", None) or "class")
    while name in taken:
        name += "_"
    values = column_or_1d(y, warn=True)
    assert_all_finite(values, input_name="y")
    check_classification_targets(values)
    if declared is None:
        categories, labels = np.unique(values, return_inverse=True)
    else:
        categories = np.array(declared)
        position = {category: code for code, category in enumerate(declared)}
        labels = np.array([position[value] for value in values.tolist()])
    return Target(name, labels.astype(np.int32), categories)


def _declared_classes(y: Any) -> list[Any] | None:
    dtype = getattr(y, "dtype", None)
    categories = getattr(dtype, "categories", None)
    if categories is None:
        return None
    return list(categories.tolist() if hasattr(categories, "tolist") else categories)


def read_rows(estimator: Any, X: Any, reset: bool) -> list[Column]:
    """Read the features of a frame or array.

    Parameters
    ----------
    estimator : estimator
        Its number and names of features are set or checked.
    X : dataframe or array-like of shape (n_rows, n_features)
        Numbers, categories, truth values, gaps.
    reset : bool
        True in ``fit``.

    Returns
    -------
    list of Column
        One per feature.
    """
    if is_frame(X):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if min(X.shape) == 0:
            check_array(np.empty(X.shape))  # says what is missing
    else:
        X = validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=False)
    return read_columns(X, feature_names(estimator))


def feature_names(estimator: Any) -> list[str]:
    """Name the features as the user does, or x0, x1 and so on.

    Parameters
    ----------
    estimator : estimator
        Fitted, or being fitted.

    Returns
    -------
    list of str
        One name per feature.
    """
    default = [f"x{j}" for j in range(estimator.n_features_in_)]
    return [str(name) for name in getattr(estimator, "feature_names_in_", default)]


def keep_rows(column: Column, kept: NDArray[np.int64]) -> Column:
    """Keep some rows of a column.

    Parameters
    ----------
    column : Column
        As it was read.
    kept : ndarray
        Row numbers.

    Returns
    -------
    Column
        The same column, shorter.
    """
    return column._replace(
        numbers=None if column.numbers is None else column.numbers[kept],
        cells=None if column.cells is None else [column.cells[row] for row in kept],
        codes=None if column.codes is None else column.codes[kept],
    )


def read_training(
    estimator: Any, X: Any, y: Any, sample_weight: Any
) -> tuple[list[Column], Target, NDArray[np.float64]]:
    """Read everything that ``fit`` gets; rows without weight are dropped.

    Parameters
    ----------
    estimator : estimator
        Its number and names of features are set.
    X : dataframe or array-like of shape (n_rows, n_features)
        Features.
    y : array-like of shape (n_rows,)
        Classes.
    sample_weight : array-like of shape (n_rows,) or None
        Weight of each row.

    Returns
    -------
    columns : list of Column
        Features.
    target : Target
        Classes.
    weights : ndarray of shape (n_kept,)
        Positive weights.
    """
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    columns = read_rows(estimator, X, reset=True)
    target = read_target(y, feature_names(estimator))
    check_consistent_length(X, target.labels)
    like = np.empty((len(target.labels), 1))
    weights = _check_sample_weight(sample_weight, like, dtype=np.float64, ensure_non_negative=True)
    kept = np.flatnonzero(weights)
    if len(kept) < len(weights):
        columns = [keep_rows(column, kept) for column in columns]
        target, weights = target._replace(labels=target.labels[kept]), weights[kept]
    return columns, target, weights
