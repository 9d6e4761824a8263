"""What the arrays of a fitted model must be, for models that come from a file.

A class whose fitted arrays are read by compiled code, or index one another, has a method
``__check_state__`` that refuses what no fit makes; ``persistence.load`` calls it on every part of
a model. NumPy is not imported here: arrays bring what is asked of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

KINDS = {"float": "f", "integer": "iu", "truth": "b"}


class DamagedStateError(ValueError):
    """A part of a model is what no fit makes."""


def expect(holds: bool, what: str) -> None:
    """Refuse a model of which ``what`` is not as it must be."""
    if not holds:
        raise DamagedStateError(what)


def expect_array(
    owner: Any,
    name: str,
    shape: Sequence[int | None],
    kind: str = "float",
    *,
    low: float | None = None,
    high: float | None = None,
) -> None:
    """Refuse an attribute that is no array of that shape (None: any length) and kind.

    Floats must be finite; no value may lie below ``low`` or above ``high``.
    """
    array = vars(owner).get(name)
    found = getattr(array, "dtype", None)
    expect(found is not None and found.kind in KINDS[kind], f"{name} is no array of {kind} values")
    lengths = array.shape
    fits = len(lengths) == len(shape) and all(
        want is None or want == length for want, length in zip(shape, lengths, strict=True)
    )
    expect(fits, f"{name} has shape {lengths}, not {tuple(shape)}")
    if array.size and kind != "truth":
        smallest, largest = float(array.min()), float(array.max())
        # NaN is neither at most nor at least anything
        bottom, top = (-1e308, 1e308) if kind == "float" else (-(2.0**63), 2.0**63)
        expect(bottom <= smallest and largest <= top, f"{name} holds values that are not finite")
        expect(low is None or smallest >= low, f"{name} holds {smallest:g}, below {low}")
        expect(high is None or largest <= high, f"{name} holds {largest:g}, above {high}")
