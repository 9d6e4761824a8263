"""A network as boxes and arrows, in pixels: what a page and a Display both draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ensemblage.pages._network_arrows import (
    GUTTER,
    MARGIN,
    PADDING,
    Arrow,
    Box,
    Grid,
    network_arrows,
)
from ensemblage.pages._network_rows import Parents, Place, network_places
from ensemblage.pages._wrapped_names import longest_part, text_width, wrapped

FONT = 12.0
"""Size of the letters."""
LINE = 15.0
HEAD = (3.2, 6.5)
"""Half the width of an arrow's head, and its length."""
GAP = 38.0
"""Between rows."""
USUAL_CELL = 93.0
"""Three columns on a phone."""

LARGEST_CELL = 210.0


@dataclass(frozen=True)
class NetworkDrawing:
    """Boxes and arrows, y downwards, and the names that had to be cut, with the whole ones."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    cut: tuple[tuple[str, str], ...]

    @property
    def positions(self) -> dict[str, tuple[float, float]]:
        """Where each node's middle stands, between 0 and 1 across and upwards."""
        return {box.name: (box.x / self.width, 1 - box.y / self.height) for box in self.boxes}


def arrow_width(share: float) -> float:
    """Width of the line of an arrow that so large a share of a crowd chooses."""
    return 0.5 + 1.7 * share


def draw_network(parents: Parents, target: str | None = None, width: float = 900) -> NetworkDrawing:
    """Lay a network out in rows as wide as the drawing may be: it grows downwards."""
    cell = _cell_width(parents, width)
    room = width - 2 * MARGIN + GUTTER
    most = max(1, min(len(parents), int(room // (cell + GUTTER))))
    places = network_places(parents, target, most)
    first = min(place.slot for place in places.values())
    places = {name: Place(row, slot - first) for name, (row, slot) in places.items()}
    columns = 1 + max(place.slot for place in places.values())
    across = 2 * MARGIN + columns * (cell + GUTTER) - GUTTER
    letters = (cell - 2 * PADDING[0]) / FONT
    names = _names_in_lines(parents, letters)
    boxes = _boxes(names, places, cell)
    if target in boxes and sum(place.row == 0 for place in places.values()) == 1:
        boxes[target] = boxes[target]._replace(x=across / 2, is_target=True)
    return NetworkDrawing(
        width=across,
        height=max(box.bottom for box in boxes.values()) + MARGIN / 2,
        boxes=tuple(boxes.values()),
        arrows=network_arrows(parents, Grid(boxes, places, cell, target)),
        cut=tuple(
            (" ".join(lines), name)
            for name, lines in names.items()
            if not wrapped(name, letters).whole
        ),
    )


def _cell_width(parents: Parents, width: float) -> float:
    """Room for the widest part of a name, within limits."""
    largest = min((width - 2 * MARGIN - GUTTER) / 2, LARGEST_CELL)
    whole = max(map(text_width, parents)) * FONT + 2 * PADDING[0]
    part = max(map(longest_part, parents)) * FONT + 2 * PADDING[0]
    # a hair more, so that a text fits into the room that was made for it
    return min(max(part, min(whole, USUAL_CELL)) + 0.01, largest)


def _names_in_lines(names: Iterable[str], letters: float) -> dict[str, tuple[str, ...]]:
    """Break names, and number those that have become alike by being cut."""
    lines = {name: wrapped(name, letters).lines for name in names}
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, shown in lines.items():
        alike.setdefault(shown, []).append(name)
    for shown, group in alike.items():
        for number, name in enumerate(group if len(group) > 1 else (), start=1):
            lines[name] = (*shown, f"({number})")
    return lines


def _boxes(
    names: Mapping[str, tuple[str, ...]], places: Mapping[str, Place], cell: float
) -> dict[str, Box]:
    heights = {name: LINE * len(lines) + 2 * PADDING[1] for name, lines in names.items()}
    rows: dict[int, float] = {}
    for name, place in places.items():
        rows[place.row] = max(rows.get(place.row, 0.0), heights[name])
    middle, top = {}, MARGIN / 2
    for row in range(len(rows)):
        middle[row] = top + rows[row] / 2
        top += rows[row] + GAP
    return {
        name: Box(
            name,
            MARGIN + places[name].slot * (cell + GUTTER) + cell / 2,
            middle[places[name].row],
            min(max(map(text_width, lines)) * FONT + 2 * PADDING[0], cell),
            heights[name],
            lines,
        )
        for name, lines in names.items()
    }
