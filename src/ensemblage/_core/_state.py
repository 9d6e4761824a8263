"""Validation of fitted attributes loaded from a model file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

# NumPy's dtype kinds by their names in rules.
KINDS = {"float": "f", "integer": "iu", "truth": "b"}
# As in ``float (rows, strata) 0..1``: kind, named lengths of the axes, smallest and largest.
RULE = re.compile(
    r"(?P<kind>[a-z]+)(?: \((?P<shape>[^)]*)\))?(?: (?P<low>[^ .]*)\.\.(?P<high>[^ ]*))?"
)
# Largest integer that a double represents exactly.
LARGEST_COUNT = 2**53


class DamagedStateError(ValueError):
    """An attribute of a model cannot be the result of a fit."""


def expect(holds: bool, what: str) -> None:
    """Raise DamagedStateError with the message ``what`` unless ``holds``."""
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
    """Reject an attribute that is not an array of that shape (None: any length) and kind.

    Floats must be finite, and all values between ``low`` and ``high``.
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
        # comparisons with NaN are false
        bottom, top = (-1e308, 1e308) if kind == "float" else (-(2.0**63), 2.0**63)
        expect(bottom <= smallest and largest <= top, f"{name} holds values that are not finite")
        expect(low is None or smallest >= low, f"{name} holds {smallest:g}, below {low}")
        expect(high is None or largest <= high, f"{name} holds {largest:g}, above {high}")


def expect_values(array: Any, what: str) -> None:
    """Reject anything but a one-dimensional array of finite floats."""
    holder = type("Row", (), {})()
    vars(holder)[what] = array
    expect_array(holder, what, (None,))


def expect_fitted(owner: Any, rules: Mapping[str, str], **sizes: int) -> None:
    """Reject attributes that violate the rules.

    A rule is the kind and shape of an array, or the kind of a single value; the prefix "optional"
    allows None. Axes of the same name have the same length, which is given or that of the first
    such array; ``*`` is any length. Bounds are numbers, or ``<name`` for below a length.
    """
    for name, rule in rules.items():
        value = vars(owner).get(name)
        if rule.startswith("optional ") and value is None:
            continue
        found = RULE.fullmatch(rule.removeprefix("optional "))
        if found is None:
            raise AssertionError(rule)
        ends = [_end(found[side], sizes) for side in ("low", "high")]
        if found["shape"] is None:
            _expect_single(name, value, found["kind"], *ends)
        elif found["kind"] in KINDS:
            shape = [_length(each.strip(), sizes) for each in found["shape"].split(",")]
            expect_array(owner, name, shape, found["kind"], low=ends[0], high=ends[1])
            _bind(found["shape"], value.shape, sizes)
        else:
            _expect_listed(name, value, found["kind"], _length(found["shape"], sizes))
            _bind(found["shape"], [len(value)], sizes)


def _length(name: str, sizes: Mapping[str, int]) -> int | None:
    return int(name) if name.isdigit() else sizes.get(name)


def _bind(names: str, lengths: Sequence[int], sizes: dict[str, int]) -> None:
    for name, length in zip(names.split(","), lengths, strict=True):
        if name.strip() != "*":
            sizes[name.strip()] = length


def _end(text: str | None, sizes: Mapping[str, int]) -> float | None:
    if not text:
        return None
    return sizes[text[1:]] - 1.0 if text.startswith("<") else float(text)


def _expect_single(name: str, value: Any, kind: str, low: float | None, high: float | None) -> None:
    """Reject a value of another kind (count, number, flag, string, dict) or out of range."""
    if kind in {"flag", "string", "dict"}:
        types = {"flag": "bool", "string": "str", "dict": "dict"}[kind]
        expect(type(value).__name__.rstrip("_") in {types, f"{types}_"}, f"{name} is no {kind}")
        return
    given = isinstance(value, Real) and not isinstance(value, bool)
    expect(given, f"{name} is no {kind}")
    if kind == "real":  # may be infinite or NaN
        return
    if kind == "count":
        whole = isinstance(value, Integral) and 0 <= int(value) <= LARGEST_COUNT
        expect(whole, f"{name} is no count")
    expect(-1e308 <= value <= 1e308, f"{name} is not finite")
    inside = (low is None or value >= low) and (high is None or value <= high)
    expect(inside, f"{name} is {value}, out of its range")


def _expect_listed(name: str, value: Any, kind: str, length: int | None) -> None:
    """Reject anything but a list, list of strings, or array of labels, of that length."""
    if kind == "labels":
        found = getattr(value, "dtype", None)
        expect(found is not None and found.kind in "biufUSO", f"{name} is no array of labels")
        expect(len(value.shape) == 1 and len(value) > 0, f"{name} is no array of labels")
        listed = value.tolist()
        same = all(each == each and each is not None for each in listed)  # noqa: PLR0124
        expect(same and len(set(listed)) == len(listed), f"{name} holds a label twice, or none")
    else:
        expect(isinstance(value, list), f"{name} is no list")
        strings = kind == "list" or all(isinstance(each, str) for each in value)
        expect(strings, f"{name} holds values that are not strings")
    expect(length is None or len(value) == length, f"{name} has another length")
