"""Checks of fitted attributes that come from a model file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

# Kinds of NumPy's dtypes by their names in rules.
KINDS = {"float": "f", "integer": "iu", "truth": "b"}
# As in ``float (rows, strata) 0..1``: kind, named lengths of the axes, smallest and largest.
RULE = re.compile(
    r"(?P<kind>[a-z]+)(?: \((?P<shape>[^)]*)\))?(?: (?P<low>[^ .]*)\.\.(?P<high>[^ ]*))?"
)
LARGEST_COUNT = 2**53


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


def expect_values(array: Any, what: str) -> None:
    """Refuse what is no row of finite floats."""
    holder = type("Row", (), {})()
    vars(holder)[what] = array
    expect_array(holder, what, (None,))


def expect_fitted(owner: Any, rules: Mapping[str, str], **sizes: int) -> None:
    """Refuse attributes that are not what the rules say.

    A rule is the kind of an array with its shape, or that of a single value; "optional" before it
    lets None pass. Axes of one name have one length, which is given or that of the first array
    that has it; ``*`` is any. A range's ends are numbers, or ``<name`` for below a length.
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
    """Refuse what is no count, number, flag, word or table of words, or outside of its range."""
    if kind in {"flag", "word", "dict"}:
        types = {"flag": "bool", "word": "str", "dict": "dict"}[kind]
        expect(type(value).__name__.rstrip("_") in {types, f"{types}_"}, f"{name} is no {kind}")
        return
    given = isinstance(value, Real) and not isinstance(value, bool)
    expect(given, f"{name} is no {kind}")
    if kind == "real":  # which may be infinite, or not known
        return
    if kind == "count":
        whole = isinstance(value, Integral) and 0 <= int(value) <= LARGEST_COUNT
        expect(whole, f"{name} is no count")
    expect(-1e308 <= value <= 1e308, f"{name} is not finite")
    inside = (low is None or value >= low) and (high is None or value <= high)
    expect(inside, f"{name} is {value}, out of its range")


def _expect_listed(name: str, value: Any, kind: str, length: int | None) -> None:
    """Refuse what is no list, list of words, or array of labels, of that length."""
    if kind == "labels":
        found = getattr(value, "dtype", None)
        expect(found is not None and found.kind in "biufUSO", f"{name} is no array of labels")
        expect(len(value.shape) == 1 and len(value) > 0, f"{name} is no array of labels")
        listed = value.tolist()
        same = all(each == each and each is not None for each in listed)  # noqa: PLR0124
        expect(same and len(set(listed)) == len(listed), f"{name} holds a label twice, or none")
    else:
        expect(isinstance(value, list), f"{name} is no list")
        words = kind == "list" or all(isinstance(each, str) for each in value)
        expect(words, f"{name} holds more than words")
    expect(length is None or len(value) == length, f"{name} has another length")
