"""A page as plain data: what it says, before anybody decides how it looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ensemblage.pages._figure_parts import CardsBlock, RanksBlock, ShadesBlock, TreeBlock
from ensemblage.pages._map_parts import MapBlock


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    name : str
        Its heading.
    numeric : bool, default=False
        Whether it holds numbers, which are aligned to the right and sorted as numbers.
    greater_is_better : bool or None, default=None
        Which of the numbers is marked as the best; None for no mark.
    wide : bool, default=False
        Whether it holds sentences, which need room.
    ours : bool, default=False
        Whether it is of a method of this library, which has a mark and a colour everywhere.
    """

    name: str
    numeric: bool = False
    greater_is_better: bool | None = None
    wide: bool = False
    ours: bool = False


@dataclass(frozen=True)
class Field:
    """A field of a table.

    Parameters
    ----------
    text : str
        What is shown.
    value : float or None
        What a column of numbers is sorted by; None stands last.
    quiet : str
        Shown after the text in a quieter tone, such as a standard error.
    best : bool
        Whether to mark it.
    tag : str
        A word in a small box after the text.
    ours : bool
        Whether it names a method of this library, which has a mark and a colour everywhere.
    """

    text: str
    value: float | None = None
    quiet: str = ""
    best: bool = False
    tag: str = ""
    ours: bool = False


@dataclass(frozen=True)
class TableBlock:
    """A table that can be sorted; the first column names the rows.

    Parameters
    ----------
    columns : sequence of Column
        The columns.
    rows : sequence of sequence of Field
        The rows, in the order in which they should first be read.
    caption : str
        What the table shows.
    legend : str
        What a reader needs to know to read the numbers.
    folded : bool
        Whether it is closed until the reader opens it.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Field]]
    caption: str
    legend: str = ""
    folded: bool = False


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


@dataclass(frozen=True)
class FactsBlock:
    """Numbers that say what the page is about.

    Parameters
    ----------
    facts : sequence of (str, str)
        Name and value.
    """

    facts: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class TextBlock:
    """Paragraphs.

    Parameters
    ----------
    paragraphs : sequence of str
        Plain text.
    """

    paragraphs: Sequence[str]


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
    >>> from ensemblage.pages import FactsBlock, Page, Section, TextBlock
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
