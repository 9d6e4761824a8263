"""Figures of words and colours, as plain data: ranks on an axis, a table of colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ensemblage.pages._tree_drawing import TreeNode


class Ranked(NamedTuple):
    """A method, its mean rank, whether it is one of this library's, and which ties it is in."""

    name: str
    rank: float
    ours: bool
    ties: tuple[bool, ...]


@dataclass(frozen=True)
class RanksBlock:
    """Mean ranks on an axis; a bar at the side joins methods that are not told apart.

    Parameters
    ----------
    methods : sequence of Ranked
        The best first, each with its part in every tie.
    critical_difference : float
        Ranks that are less apart may differ by chance.
    alt : str
        What can be seen, for those who cannot see it.
    caption : str
        What it shows and how to read it.
    """

    methods: Sequence[Ranked]
    critical_difference: float
    alt: str
    caption: str


class Shade(NamedTuple):
    """A field of a table of colours: what is written, and a level from -1 over 0 to 1."""

    text: str
    level: float


@dataclass(frozen=True)
class ShadesBlock:
    """A table of colours.

    Parameters
    ----------
    corner : str
        What the columns are.
    columns : sequence of str
        Short heads of the columns.
    rows : sequence of (str, sequence of Shade)
        A name and its fields.
    caption : str
        What it shows and how to read it.
    signed : bool
        Whether levels are differences, warm above and cold below; otherwise one colour grows.
    """

    corner: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Shade]]]
    caption: str
    signed: bool = False


class Card(NamedTuple):
    """A title, what to know at once, and lines of a name and a value each."""

    title: str
    text: str
    lines: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class CardsBlock:
    """Things described one by one, side by side where there is room.

    Parameters
    ----------
    cards : sequence of Card
        In the order in which to read them.
    caption : str
        What they show and how to read them.
    """

    cards: Sequence[Card]
    caption: str


@dataclass(frozen=True)
class TreeBlock:
    """A decision tree, drawn as an outline.

    Parameters
    ----------
    nodes : sequence of TreeNode
        In the order of reading, parents first.
    classes : sequence of str
        The classes behind the colours of the leaves; none where the tree gives numbers.
    alt : str
        What can be seen, for those who cannot see it.
    caption : str
        What it shows and how to read it.
    """

    nodes: Sequence[TreeNode]
    classes: Sequence[str]
    alt: str
    caption: str
