"""Sources as a column of a frame."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals.stable.v2 as nw

from ensemblage.messages import suggestion


class Parted(NamedTuple):
    """Rows without their sources, and these, one per row; None where they are not known."""

    X: Any
    sources: Any


def part_sources(X: Any, sources: Any) -> Parted:
    """Take the sources out of the rows, if they are the name of a column; refuse another name."""
    if not isinstance(sources, str):
        return Parted(X, sources)
    columns = _columns(X)
    if sources not in columns:
        raise ValueError(
            f"sources={sources!r} is no column of X.{suggestion(sources, columns)} Give the name "
            "of a column of a frame, or one source per row."
        )
    return _without(X, sources)


def part_known_column(X: Any, sources: Any, column: str | None) -> Parted:
    """Take the column out of which ``fit`` took the sources; what is given besides is preferred."""
    if column is None or isinstance(sources, str) or column not in _columns(X):
        return part_sources(X, sources)
    rest, found = _without(X, column)
    return Parted(rest, found if sources is None else sources)


def _columns(X: Any) -> list[str]:
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return [str(each) for each in frame.columns] if isinstance(frame, nw.DataFrame) else []


def _without(X: Any, column: str) -> Parted:
    frame = nw.from_native(X, eager_only=True)
    return Parted(frame.drop(column).to_native(), frame[column].to_numpy())
