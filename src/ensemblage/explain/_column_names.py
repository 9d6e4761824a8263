"""Names of the user's columns for what preprocessing made of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

# "numbers__x3", "words__x8_f", "x3": what preprocessing makes of column 3 or 8
ENCODED = re.compile(r"^(?:[a-z]+__)?(missingindicator_)?x(\d+)(?:_(.*))?$")


# "x3", "x3 missing", "x8 = cook": what TableEncoder makes of columns without names
READABLE = re.compile(r"^x(\d+)(| missing| = .*|: .*)$", re.DOTALL)


def column_name(encoded: str, columns: Sequence[str]) -> str:
    """Name an encoded feature after its column."""
    found = READABLE.match(encoded)
    if found is None or int(found[1]) >= len(columns):
        return encoded
    return f"{columns[int(found[1])]}{found[2]}"


def column_names(encoded: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Name several encoded features."""
    return [column_name(each, columns) for each in encoded]
