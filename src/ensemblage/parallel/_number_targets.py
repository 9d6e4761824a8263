"""Numbers to predict, as a user gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_numbers(y: Any) -> NDArray[np.float64]:
    """Read numbers to predict; refuse words by the first of them."""
    try:
        return np.asarray(y).astype(np.float64)
    except (TypeError, ValueError):
        first = np.asarray(y).ravel().tolist()[0]
        raise ValueError(
            f"y holds {first!r}, which is no number; a regressor predicts numbers. Use a "
            "classifier for words."
        ) from None
