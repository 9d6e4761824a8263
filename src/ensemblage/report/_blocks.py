"""A page as data: sections and their blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from ensemblage._core import TableBlock, set_module
from ensemblage.inner import TreeNode

Point: TypeAlias = tuple[float, float]


class Outline(NamedTuple):
    """An ellipse: its middle, and the ends of its two half axes as seen from there."""

    centre: Point
    first: Point
    second: Point


@set_module("ensemblage.report")
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


@set_module("ensemblage.report")
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


class Ranked(NamedTuple):
    """A method, its mean rank, whether it is one of this library's, and which ties it is in."""

    name: str
    rank: float
    ours: bool
    ties: tuple[bool, ...]


@set_module("ensemblage.report")
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


@set_module("ensemblage.report")
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


@set_module("ensemblage.report")
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


@set_module("ensemblage.report")
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


@set_module("ensemblage.report")
@dataclass(frozen=True)
class FigureBlock:
    """A picture, drawn when the page is rendered.

    Parameters
    ----------
    draw : callable
        ``draw(ax)`` draws it on matplotlib's axes, in a figure of its own.
    width, height : float
        Size of the figure in inches.
    alt : str
        What can be seen, for those who cannot see it.
    caption : str
        What it shows and how to read it.
    """

    draw: Callable[[Any], None]
    width: float
    height: float
    alt: str
    caption: str


@set_module("ensemblage.report")
@dataclass(frozen=True)
class NetworkBlock:
    """A network, drawn in layers: every arrow points downwards.

    Parameters
    ----------
    parents : mapping of str to sequence of str
        What each node depends on.
    target : str
        The node that stands on top; arrows from it are drawn faintly.
    alt : str
        What can be seen, for those who cannot see it.
    caption : str
        What it shows and how to read it.
    confidence : mapping of str to mapping of str to float
        For each node, the share of a crowd that chooses each parent: the width of an arrow.
    """

    parents: Mapping[str, Sequence[str]]
    target: str
    alt: str
    caption: str
    confidence: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@set_module("ensemblage.report")
@dataclass(frozen=True)
class Bar:
    """A number to be drawn.

    Parameters
    ----------
    label : str
        What it is of.
    value : float or None
        The number; None draws nothing.
    text : str
        The number as it is written beside.
    error : float or None
        Its standard error, or half the length of an interval.
    reference : float or None
        A number to compare it with, such as a paper's.
    strong : bool
        Whether it stands out.
    group : str
        Bars of one group stand together under its name.
    ours : bool
        Whether it is of a method of this library, which has a mark and a colour everywhere.
    """

    label: str
    value: float | None
    text: str
    error: float | None = None
    reference: float | None = None
    strong: bool = False
    group: str = ""
    ours: bool = False


@set_module("ensemblage.report")
@dataclass(frozen=True)
class BarsBlock:
    """Numbers drawn on one axis.

    Parameters
    ----------
    bars : sequence of Bar
        From top to bottom; bars of one group follow each other.
    caption : str
        What they show.
    percent : bool
        Whether the axis is written in per cent.
    from_zero : bool
        Whether it must start at zero, as for counts; otherwise only if the numbers come near it.
    signed : bool
        Whether the numbers are differences: zero is on the axis. With errors, which reach beyond
        it, all are drawn as points, without as bars to the left and to the right.
    """

    bars: Sequence[Bar]
    caption: str
    percent: bool = False
    from_zero: bool = False
    signed: bool = False


@set_module("ensemblage.report")
@dataclass(frozen=True)
class FactsBlock:
    """Numbers that say what the page is about.

    Parameters
    ----------
    facts : sequence of (str, str)
        Name and value.
    """

    facts: Sequence[tuple[str, str]]


@set_module("ensemblage.report")
@dataclass(frozen=True)
class TextBlock:
    """Paragraphs.

    Parameters
    ----------
    paragraphs : sequence of str
        Plain text.
    """

    paragraphs: Sequence[str]


@set_module("ensemblage.report")
@dataclass(frozen=True)
class NotesBlock:
    """Sentences that a reader should know, as a list.

    Parameters
    ----------
    notes : sequence of str
        Plain text.
    """

    notes: Sequence[str]


Block: TypeAlias = (
    TableBlock
    | FigureBlock
    | NetworkBlock
    | MapBlock
    | CardsBlock
    | RanksBlock
    | ShadesBlock
    | TreeBlock
    | BarsBlock
    | FactsBlock
    | TextBlock
    | NotesBlock
)
"""What a section is made of."""


@set_module("ensemblage.report")
@dataclass(frozen=True)
class Section:
    """A heading and what stands under it.

    Parameters
    ----------
    title : str
        The heading.
    blocks : sequence of Block
        Its content.
    """

    title: str
    blocks: Sequence[Block]


@set_module("ensemblage.report")
@dataclass(frozen=True)
class Page:
    """A report, ready to be rendered.

    Parameters
    ----------
    title : str
        Of the page.
    kind : str
        What it is a report of, in a word or two.
    summary : sequence of str
        What the page shows, in sentences; the first is the most important.
    facts : FactsBlock
        What it is about.
    sections : sequence of Section
        The rest. Sections without blocks are left out.

    Examples
    --------
    >>> from ensemblage.report import FactsBlock, Page, Section, TextBlock
    >>> from ensemblage.report import render
    >>> section = Section("Weather", [TextBlock(["It rains <always>."])])
    >>> text = render(Page("A page", "note", ["Rain."], FactsBlock([("days", "3")]), [section]))
    >>> "It rains &lt;always&gt;." in text
    True
    """

    title: str
    kind: str
    summary: Sequence[str]
    facts: FactsBlock
    sections: Sequence[Section]
