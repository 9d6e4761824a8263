"""Frames whose columns are not all numbers."""

from __future__ import annotations

import narwhals as nw


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
