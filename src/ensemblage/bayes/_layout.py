"""Where a network's nodes and arcs are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import NamedTuple, TypeAlias

from ensemblage._core import FONT, LINE, longest_part, text_width, wrapped

Parents: TypeAlias = Mapping[str, Sequence[str]]
Place: TypeAlias = tuple[int, int]
"""A node's row from the top, and its slot from the left."""
Point: TypeAlias = tuple[float, float]
Route: TypeAlias = tuple[str, str, float | None]
"""Parent and child of an arrow, and where it passes the rows between, if there are any."""

SWEEPS = 8
"""Passes over the rows, down and up in turn, that reorder them."""
PADDING = (9.0, 7.0)
"""Inside a box, beside and above its text."""
MARGIN = 8.0
"""Around the drawing."""
GUTTER = 22.0
"""Between columns, where long arrows pass."""
LANES = (0.0, 4.5, -4.5, 9.0, -9.0)
"""Beside each other in a gutter, the class's in the middle; where there are more, some share."""
PORT = 11.0
"""Between arrows that end at one node."""
CLEARANCE = 4.0
"""Between a row and the bend of an arrow that passes it."""
HEAD = (3.2, 6.5)
"""Half the width of an arrow's head, and its length."""
ROW_GAP = 38.0
"""Between rows."""
USUAL_CELL = 93.0
"""Width of a column: three of them on a phone."""
LARGEST_CELL = 210.0
"""Width of a column at most."""


def network_places(parents: Parents, target: str | None, most: int) -> dict[str, Place]:
    """Place every node below its parents, at most so many in a row, the class alone on top.

    Rows are filled as by Coffman and Graham: of the nodes whose parents all stand above, those
    with the longest way below them come first. Where all have room, a row is a depth. Within rows
    nodes are moved to the mean slot of their neighbours, down and up, and the order with the
    fewest crossings is kept. Arrows from the class do not count, since all nodes may have one.
    """
    rows = _filled_rows(parents, target, most)
    links = [(above, node) for node, names in parents.items() for above in names if above != target]
    slots = {name: (most - len(row)) // 2 + k for row in rows for k, name in enumerate(row)}
    level = {name: number for number, row in enumerate(rows) for name in row}
    best = slots
    for sweep in range(SWEEPS):
        ends = links if sweep % 2 == 0 else [(child, parent) for parent, child in links]
        slots = _swept(rows if sweep % 2 == 0 else rows[::-1], ends, slots, most)
        best = min(best, slots, key=lambda each: _cost(links, level, each))
    return {name: (level[name], best[name]) for name in parents}


def _filled_rows(parents: Parents, target: str | None, most: int) -> list[list[str]]:
    height = _heights(parents)
    rows: list[list[str]] = []
    level: dict[str, int] = {}
    if target is not None and not parents.get(target, [target]):
        rows.append([target])
        level[target] = 0
    order = list(parents)
    while len(level) < len(parents):
        ready = [n for n in order if n not in level and all(p in level for p in parents[n])]
        # beside equals, a node follows its parents closely
        near = {n: max((level[p] for p in parents[n] if p != target), default=-1) for n in ready}
        row = sorted(ready, key=lambda n: (-height[n], -near[n]))[:most]
        level |= dict.fromkeys(row, len(rows))
        rows.append(row)
    return rows


def _heights(parents: Parents) -> dict[str, int]:
    """Length of the longest way down from each node."""
    below: dict[str, list[str]] = {name: [] for name in parents}
    for child, names in parents.items():
        for name in names:
            if name not in below:
                raise ValueError(f"The node {child!r} depends on {name!r}, which is no node.")
            below[name].append(child)
    waiting = {name: len(children) for name, children in below.items()}
    height = dict.fromkeys(parents, 0)
    free = [name for name, left in waiting.items() if left == 0]
    for name in free:
        for parent in parents[name]:
            height[parent] = max(height[parent], height[name] + 1)
            waiting[parent] -= 1
            if waiting[parent] == 0:
                free.append(parent)
    if len(free) < len(parents):
        raise ValueError("The arrows lead in a circle: a network must have none.")
    return height


def _swept(
    rows: Sequence[Sequence[str]],
    links: Sequence[tuple[str, str]],
    slots: Mapping[str, int],
    most: int,
) -> dict[str, int]:
    """Move nodes, row after row, towards the mean slot of where their links come from."""
    moved = dict(slots)
    for row in rows:
        wanted: dict[str, float] = {}
        for name in row:
            near = [moved[start] for start, end in links if end == name]
            wanted[name] = sum(near) / len(near) if near else moved[name]
        order = sorted(row, key=lambda name: (wanted[name], moved[name]))
        aims = [wanted[name] for name in order]
        taken = min(
            combinations(range(most), len(row)),
            key=lambda slots: sum((s - aim) ** 2 for s, aim in zip(slots, aims, strict=True)),
        )
        moved |= dict(zip(order, taken, strict=True))
    return moved


def _cost(
    links: Sequence[tuple[str, str]], level: Mapping[str, int], slots: Mapping[str, int]
) -> tuple[int, int]:
    """Crossings of links between the same rows, then how far links lead sideways."""
    between: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for above, below in links:
        key = level[above], level[below]
        between.setdefault(key, []).append((slots[above], slots[below]))
    crossings = sum(
        (a - c) * (b - d) < 0
        for ends in between.values()
        for (a, b), (c, d) in combinations(ends, 2)
    )
    return crossings, sum(abs(slots[above] - slots[below]) for above, below in links)


class Box(NamedTuple):
    """A node: its middle, its size, its name in lines."""

    name: str
    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]
    is_target: bool = False

    @property
    def top(self) -> float:
        """Upper edge."""
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        """Lower edge."""
        return self.y + self.height / 2


class Arrow(NamedTuple):
    """From a parent's lower edge to a child's upper edge, through a gutter past rows between.

    Each stop is left and reached upright.
    """

    parent: str
    child: str
    stops: tuple[Point, ...]
    from_target: bool

    @property
    def curves(self) -> list[tuple[Point, Point, Point, Point]]:
        """Bézier's four points of each part, from stop to stop."""
        return [
            (start, (start[0], (start[1] + end[1]) / 2), (end[0], (start[1] + end[1]) / 2), end)
            for start, end in pairwise(self.stops)
        ]


def network_arrows(
    parents: Parents,
    boxes: Mapping[str, Box],
    places: Mapping[str, Place],
    cell: float,
    target: str | None,
) -> tuple[Arrow, ...]:
    """Lead an arrow from each parent to each child, none through a box."""
    routes = _routes(parents, places, cell, target)
    leaving, arriving = _ports(routes, boxes, target)
    arrows = []
    for k, (parent, child, across) in enumerate(routes):
        start, end = (leaving[k], boxes[parent].bottom), (arriving[k], boxes[child].top)
        stops: tuple[Point, ...] = (start, end)
        if across is not None:
            passed = [box for name, box in boxes.items()
                      if places[parent][0] < places[name][0] < places[child][0]]  # fmt: skip
            top = min(box.top for box in passed) - CLEARANCE
            bottom = max(box.bottom for box in passed) + CLEARANCE
            stops = (start, (across, top), (across, bottom), end)
        arrows.append(Arrow(parent, child, stops, parent == target))
    return tuple(arrows)


def _routes(
    parents: Parents, places: Mapping[str, Place], cell: float, target: str | None
) -> list[Route]:
    """Give each arrow that passes rows a gutter, and a lane that is free there."""
    last_slot = max(slot for _, slot in places.values())
    ends: dict[tuple[int, int], int] = {}
    routes: list[Route] = []
    links = [(above, child) for child, names in parents.items() for above in names]
    for above, child in sorted(links, key=lambda link: (places[link[0]], places[link[1]])):
        (start_row, start_slot), (end_row, end_slot) = places[above], places[child]
        if end_row - start_row == 1:
            routes.append((above, child, None))
            continue
        # on the side of the child where the parent stands; the class always on the left
        gutter = end_slot if above == target or start_slot < end_slot else end_slot + 1
        gutter = max(min(gutter, last_slot), min(last_slot, 1))
        lane = 0
        if above != target:
            free = [n for n in range(1, len(LANES)) if ends.get((gutter, n), -1) <= start_row]
            lane = free[0] if free else 1
            ends[gutter, lane] = end_row
        # the middle of the gutter left of a column; that of the first is the margin
        middle = MARGIN + gutter * (cell + GUTTER) - GUTTER / 2 if gutter else MARGIN / 2
        routes.append((above, child, middle + LANES[lane]))
    return routes


def _ports(
    routes: Sequence[Route], boxes: Mapping[str, Box], target: str | None
) -> tuple[dict[int, float], dict[int, float]]:
    """Distribute the ends of arrows over a node's edges, in the order of where they come from."""
    leaving: dict[int, float] = {}
    arriving: dict[int, float] = {}
    for name, box in boxes.items():
        for ends, own, other in ((leaving, 0, 1), (arriving, 1, 0)):
            numbers = [k for k, route in enumerate(routes) if route[own] == name]
            numbers.sort(key=lambda k: _side(routes[k], boxes[str(routes[k][other])]))
            gap = 0.0 if name == target and own == 0 else PORT
            gap = min(gap, (box.width - 2 * PADDING[1]) / max(len(numbers), 1))
            first = box.x - gap * (len(numbers) - 1) / 2
            ends.update({number: first + gap * k for k, number in enumerate(numbers)})
    return leaving, arriving


def _side(route: Route, other: Box) -> float:
    return other.x if route[2] is None else route[2]


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
    """Width of the line of an arrow that so large a share of the views chooses."""
    return 0.5 + 1.7 * share


def draw_network(parents: Parents, target: str | None = None, width: float = 900) -> NetworkDrawing:
    """Lay a network out in rows as wide as the drawing may be: it grows downwards."""
    cell = _cell_width(parents, width)
    room = width - 2 * MARGIN + GUTTER
    most = max(1, min(len(parents), int(room // (cell + GUTTER))))
    places = network_places(parents, target, most)
    first = min(slot for _, slot in places.values())
    places = {name: (row, slot - first) for name, (row, slot) in places.items()}
    columns = 1 + max(slot for _, slot in places.values())
    across = 2 * MARGIN + columns * (cell + GUTTER) - GUTTER
    letters = (cell - 2 * PADDING[0]) / FONT
    names = _names_in_lines(parents, letters)
    boxes = _boxes(names, places, cell)
    if target in boxes and sum(row == 0 for row, _ in places.values()) == 1:
        boxes[target] = boxes[target]._replace(x=across / 2, is_target=True)
    return NetworkDrawing(
        width=across,
        height=max(box.bottom for box in boxes.values()) + MARGIN / 2,
        boxes=tuple(boxes.values()),
        arrows=network_arrows(parents, boxes, places, cell, target),
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
    for name, (row, _) in places.items():
        rows[row] = max(rows.get(row, 0.0), heights[name])
    middle, top = {}, MARGIN / 2
    for row in range(len(rows)):
        middle[row] = top + rows[row] / 2
        top += rows[row] + ROW_GAP
    return {
        name: Box(
            name,
            MARGIN + places[name][1] * (cell + GUTTER) + cell / 2,
            middle[places[name][0]],
            min(max(map(text_width, lines)) * FONT + 2 * PADDING[0], cell),
            heights[name],
            lines,
        )
        for name, lines in names.items()
    }
