"""Methods of new rows that answer a Dask collection with a Dask array."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ensemblage.blocks._dask_rows import check_numbers, is_dask

F = TypeVar("F", bound=Callable[..., Any])


def lazy_on_dask(method: F) -> F:
    """Let a method of new rows answer a Dask collection lazily, chunk by chunk where they lie."""

    @functools.wraps(method)
    def wrapped(estimator: Any, X: Any) -> Any:
        if not is_dask(X):
            return method(estimator, X)
        # one row of zeros tells whether it is fitted, and the shape and dtype of what comes
        plain = _without_names(estimator, X)
        array = check_numbers(X.to_dask_array() if hasattr(X, "to_dask_array") else X)
        example = method(plain, np.zeros((1, array.shape[1]), array.dtype))
        width = (
            {"drop_axis": 1}
            if example.ndim == 1
            else {"chunks": (*array.chunks[:1], example.shape[1:])}
        )
        whole = array.rechunk({1: -1})
        return whole.map_blocks(_answer, plain, method.__name__, dtype=example.dtype, **width)

    return wrapped  # type: ignore[return-value]


def _answer(rows: Any, estimator: Any, name: str) -> Any:
    return np.asarray(getattr(estimator, name)(np.asarray(rows)))


def _without_names(estimator: Any, X: Any) -> Any:
    """Copy an estimator for chunks, which have no names; those of a frame are compared here."""
    known = getattr(estimator, "feature_names_in_", None)
    given = list(X.columns) if hasattr(X, "columns") else None
    if known is not None and given is not None and list(known) != given:
        raise ValueError(
            f"The columns of the Dask dataframe are {given}, and those of fit were "
            f"{list(known)}: choose them in that order."
        )
    plain = copy.copy(estimator)
    plain.__dict__.pop("feature_names_in_", None)
    return plain
