"""Names of the user's columns for what preprocessing made of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

# "numbers__x3", "words__x8_f", "x3": what preprocessing makes of column 3 or 8
ENCODED = re.compile(r"^(?:[a-z]+__)?(missingindicator_)?x(\d+)(?:_(.*))?$")


def column_name(encoded: str, columns: Sequence[str]) -> str:
    """Name an encoded feature after its column, with the category where it is one of several."""
    found = ENCODED.match(encoded)
    if found is None or int(found[2]) >= len(columns):
        return encoded
    column = columns[int(found[2])]
    if found[1] is not None:
        return f"{column} missing"
    return column if found[3] is None else f"{column} = {found[3]}"


def column_names(encoded: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Name several encoded features."""
    return [column_name(each, columns) for each in encoded]
