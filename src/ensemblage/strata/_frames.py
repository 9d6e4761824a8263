"""Rows in arrays, and in frames whose columns are not all numbers."""

from __future__ import annotations

import narwhals as nw
import numpy as np
from sklearn.utils import _safe_indexing


def is_mixed_frame(X) -> bool:
    """Tell whether X is a frame with columns that are not numeric.

    Parameters
    ----------
    X : object
        Input to ``fit`` or ``predict``.

    Returns
    -------
    bool
        False for arrays, and for frames that an array of floats can hold.
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return False
    kinds = frame.schema.values()
    return not all(kind.is_numeric() or kind == nw.Boolean for kind in kinds)


def take_rows(X, rows):
    """Give some rows.

    Parameters
    ----------
    X : ndarray or frame of shape (n_samples, n_features)
        All rows.
    rows : ndarray of int
        Row numbers.

    Returns
    -------
    ndarray or frame of shape (len(rows), n_features)
        A copy.
    """
    return X.take(rows, axis=0) if isinstance(X, np.ndarray) else _safe_indexing(X, rows)
