"""Formatting of counts, lists and numbers; suggestions, warnings, optional imports."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

# Absolute value from which not all digits of a double are significant.
MAX_WHOLE = 1e15
# Control characters of terminals and of text direction.
CONTROLS = [*range(9), *range(11, 32), *range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F,
            *range(0x202A, 0x202F), *range(0x2066, 0x206A)]  # fmt: skip
ESCAPED = {code: f"\\u{code:04x}" for code in CONTROLS}
# Packages that are skipped when a warning looks for its caller.
INTERNAL = {"ensemblage", "sklearn", "joblib"}


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Format a count: ``1 row``, ``3 rows``; ``plural`` for irregular plurals."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def listed(names: Sequence[str]) -> str:
    """Enumerate one or more names: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def listing(names: Iterable[object], limit: int = 12, total: int | None = None) -> str:
    """Join names by commas, truncated at the limit.

    ``total`` is their number, if only the first of them are given.
    """
    every = [str(name) for name in names]
    rest = (len(every) if total is None else total) - limit
    return ", ".join(every[:limit]) + (f" and {rest} more" if rest > 0 else "")


def write_number(value: float, digits: int = 4) -> str:
    """Format a number with ``digits`` significant digits, or all integer digits; no exponent."""
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in text and abs(value) < MAX_WHOLE else text


def visible(text: str) -> str:
    """Escape control characters that a terminal would interpret."""
    return text.translate(ESCAPED)


def no_formula(field: Any) -> Any:
    """Put an apostrophe before a text that a spreadsheet would evaluate; not before numbers."""
    if not isinstance(field, str) or not field.startswith(("=", "+", "-", "@", "\t", "\r")):
        return field
    if len(field) == 1:  # a sign, such as the class + or a missing value -
        return field
    try:
        float(field)
    except ValueError:
        return f"'{field}"
    return field


def plain_name(name: str) -> str:
    """Split a class name into words: ``scaled logistic regression``; capitals such as SVC stay."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    return " ".join(word if word.isupper() else word.lower() for word in words)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Suggest the closest known name: a sentence after a blank, or an empty string."""
    lower = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), lower, n=1)
    return f" Did you mean {lower[close[0]]!r}?" if close else ""


def require(module: str, purpose: str, *, extra: str | None = None, otherwise: str = "") -> Any:
    """Import a module, or raise ImportError with its purpose, how to install it, and alternatives.

    ``purpose`` begins the sentence ("Running on a cluster"); ``extra`` is the extra of
    Ensemblage that installs the package, if any.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        remedy = f": pip install {package}."
        if extra is not None:
            remedy = f', which comes with the extra `{extra}`: pip install "ensemblage[{extra}]".'
        raise ImportError(f"{purpose} needs {package}{remedy} {otherwise}".rstrip()) from error


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of user code that called this library."""
    frame, level = sys._getframe(1), 2  # noqa: SLF001  as warnings does itself
    while frame.f_back is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package not in INTERNAL:
            break
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
