"""A report as data: a page, its sections and their blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ensemblage._core import Field, Heading, TableBlock
from ensemblage.inner import TreeNode
from ensemblage.sources import Forest, Panels


@dataclass(frozen=True)
class FigureBlock:
    """A figure that ``draw(ax)`` draws on matplotlib's axes when the page is rendered."""

    draw: Callable[[Any], None]
    width: float  # inches
    height: float  # inches
    alt: str
    caption: str


@dataclass(frozen=True)
class NetworkBlock:
    """A network drawn in layers, the target on top; ``confidence`` is the width of each arc.

    ``parents`` are those of each node, ``confidence`` the bootstrap frequency by node and parent.
    """

    parents: Mapping[str, Sequence[str]]
    target: str
    alt: str
    caption: str
    confidence: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class TreeBlock:
    """A decision tree drawn as an outline; ``text`` is the same for a terminal, a line a node."""

    nodes: Sequence[TreeNode]
    classes: Sequence[str]  # none for a regression
    alt: str
    caption: str
    text: Sequence[str] = ()


@dataclass(frozen=True)
class Bar:
    """A value to be drawn; None draws nothing, and ``ours`` marks a method of this library."""

    label: str
    value: float | None
    text: str
    error: float | None = None  # standard error, or half the length of an interval
    reference: float | None = None  # a value to compare with, such as a paper's
    strong: bool = False
    group: str = ""  # bars of one group stand together under its name
    ours: bool = False


@dataclass(frozen=True)
class BarsBlock:
    """Values on one axis: bars from zero, or points where zero is far away.

    The axis starts at zero if ``from_zero``, as for counts, else only if the values come near
    it. ``signed`` values are differences: zero is on the axis, and they are drawn as points if
    they have errors. A terminal prints the ``table``.
    """

    bars: Sequence[Bar]
    caption: str
    percent: bool = False
    from_zero: bool = False
    signed: bool = False
    table: TableBlock | None = None


@dataclass(frozen=True)
class RanksBlock:
    """Mean ranks on an axis, best first; bars at the side join methods that do not differ.

    ``ties`` has for each method whether it is in each group of methods that do not differ.
    """

    methods: Sequence[Bar]
    ties: Sequence[Sequence[bool]]
    critical_difference: float
    alt: str
    caption: str


@dataclass(frozen=True)
class ShadesBlock:
    """A table of colours: rows of a name and fields of (text, level between -1 and 1).

    ``signed`` levels are differences, warm above zero and cold below; else one colour grows.
    """

    corner: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[tuple[str, float]]]]
    caption: str
    signed: bool = False


@dataclass(frozen=True)
class ForestBlock:
    """A forest plot: estimates with intervals, their mean, and the interval of what is to come."""

    forest: Forest


@dataclass(frozen=True)
class PanelsBlock:
    """Small figures with the same y axis, as many side by side as fit."""

    panels: Panels
    alt: str
    caption: str


Block: TypeAlias = (
    str  # a paragraph
    | list[str]  # notes
    | dict[str, str]  # facts: names and values
    | TableBlock
    | FigureBlock
    | NetworkBlock
    | TreeBlock
    | BarsBlock
    | RanksBlock
    | ShadesBlock
    | ForestBlock
    | PanelsBlock
)


@dataclass(frozen=True)
class Section:
    """A heading and its blocks; left out if there are none. A terminal may leave it out too."""

    title: str
    blocks: Sequence[Block]
    in_terminal: bool = True


@dataclass(frozen=True)
class Page:
    """A report, ready to be rendered; the first sentence of the summary is the most important."""

    title: str
    kind: str
    summary: Sequence[str]
    facts: Mapping[str, str]
    sections: Sequence[Section]


def terminal_parts(sections: Sequence[Section]) -> list[str | TableBlock]:
    """Lines and tables that a terminal prints of some sections; of figures only their tables."""
    parts: list[str | TableBlock] = []
    blocks = [block for each in sections if each.in_terminal for block in each.blocks]
    for block in blocks:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, list):
            parts.extend(block)
        elif isinstance(block, TreeBlock):
            parts.extend(block.text)
        elif (table := _table_of(block)) is not None:
            parts.extend(filter(None, (table.caption, table, table.legend)))
    return parts


def _table_of(block: Block) -> TableBlock | None:
    if isinstance(block, TableBlock):
        return block
    if isinstance(block, ShadesBlock):
        heads = [Heading(block.corner), *(Heading(name, numeric=True) for name in block.columns)]
        rows = [[Field(name), *(Field(text) for text, _ in row)] for name, row in block.rows]
        return TableBlock(heads, rows, "", block.caption)
    return block.table if isinstance(block, BarsBlock) else None
