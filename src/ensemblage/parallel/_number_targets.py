"""Numbers to predict, as a user gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_numbers(y: Any) -> NDArray[np.float64]:
    """Read numbers to predict; refuse words and dates by the first of them."""
    given = np.asarray(y)
    if given.dtype.kind == "c":
        raise ValueError("Complex data not supported: y holds complex numbers; give real ones.")
    try:
        if given.dtype.kind not in "mM":
            return given.astype(np.float64)
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"y holds {given.ravel().tolist()[0]!r}, which is no number; a regressor predicts numbers. "
        "Use a classifier for words."
    )
