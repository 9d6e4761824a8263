"""A map in small pictures, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

Point: TypeAlias = tuple[float, float]


class Outline(NamedTuple):
    """An ellipse: its middle, and the ends of its two half axes as seen from there."""

    centre: Point
    first: Point
    second: Point


@dataclass(frozen=True)
class MapPanel:
    """One picture of a map: some of its rows stand out.

    Parameters
    ----------
    title : str
        What stands out here.
    text : str
        What to know about it.
    rows : sequence of int
        Rows that stand out, by their place in the map's ``points``.
    outline : Outline or None
        An ellipse around them.
    own : bool
        Whether the marked row belongs here.
    """

    title: str
    text: str
    rows: Sequence[int]
    outline: Outline | None = None
    own: bool = False


@dataclass(frozen=True)
class MapBlock:
    """Rows on a map, drawn once for each group of them.

    Parameters
    ----------
    points : sequence of (float, float)
        Where each row lies, across and upwards.
    groups : sequence of str
        What each row is, such as its class; rows alike share a sign. Empty without groups.
    panels : sequence of MapPanel
        The pictures, in the order in which to look at them.
    alt : str
        What can be seen, for those who cannot see it.
    caption : str
        What it shows and how to read it.
    mark : int or None
        A row to point at in every picture.
    mark_name : str
        What that row is called.
    """

    points: Sequence[Point]
    groups: Sequence[str]
    panels: Sequence[MapPanel]
    alt: str
    caption: str
    mark: int | None = None
    mark_name: str = ""
