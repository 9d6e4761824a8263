"""Layout of a network's nodes and arcs."""

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
"""Parent and child of an arrow, and the x at which it passes rows in between, if there are any."""

SWEEPS = 8
"""Number of reordering passes over the rows, downwards and upwards in turn."""
PADDING = (9.0, 7.0)
"""Horizontal and vertical padding of a box."""
MARGIN = 8.0
"""Margin around the drawing."""
GUTTER = 22.0
"""Distance between columns, through which long arrows pass."""
LANES = (0.0, 4.5, -4.5, 9.0, -9.0)
"""Offsets of parallel arrows in a gutter, first that of the class; further arrows share a lane."""
PORT = 11.0
"""Distance between arrows that end at one node."""
CLEARANCE = 4.0
"""Distance between a row and the bend of an arrow that passes it."""
HEAD = (3.2, 6.5)
"""Half the width of an arrow's head, and its length."""
ROW_GAP = 38.0
"""Distance between rows."""
USUAL_CELL = 93.0
"""Usual width of a column: three columns fit on a phone."""
LARGEST_CELL = 210.0
"""Maximal width of a column."""


def network_places(parents: Parents, target: str | None, most: int) -> dict[str, Place]:
    """Place every node below its parents, at most ``most`` in a row, the class alone at the top.

    Rows are filled by the algorithm of Coffman and Graham: of the nodes whose parents are all
    placed, those with the longest path below come first. Within rows, nodes are moved to the mean
    slot of their neighbours, downwards and upwards, and the order with the fewest crossings is
    kept. Arrows from the class are ignored, since all nodes may have one.
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
        # ties: nodes with parents in the lowest rows first
        near = {n: max((level[p] for p in parents[n] if p != target), default=-1) for n in ready}
        row = sorted(ready, key=lambda n: (-height[n], -near[n]))[:most]
        level |= dict.fromkeys(row, len(rows))
        rows.append(row)
    return rows


def _heights(parents: Parents) -> dict[str, int]:
    """Length of the longest path downwards from each node."""
    below: dict[str, list[str]] = {name: [] for name in parents}
    for child, names in parents.items():
        for name in names:
            if name not in below:
                raise ValueError(
                    f"The node {child!r} has the parent {name!r}, which is not a node."
                )
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
        raise ValueError("The arcs form a cycle; a network must be acyclic.")
    return height


def _swept(
    rows: Sequence[Sequence[str]],
    links: Sequence[tuple[str, str]],
    slots: Mapping[str, int],
    most: int,
) -> dict[str, int]:
    """Move nodes, row by row, towards the mean slot of the start of their links."""
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
    """Crossings of links between the same rows, then the total horizontal distance."""
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
    """A node: centre, size, and the lines of its name."""

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
    """Arrow from a parent's lower edge to a child's upper edge, through a gutter past other rows.

    It is vertical at each stop.
    """

    parent: str
    child: str
    stops: tuple[Point, ...]
    from_target: bool

    @property
    def curves(self) -> list[tuple[Point, Point, Point, Point]]:
        """Control points of the Bézier curves between stops."""
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
    """Route an arrow from each parent to each child, none through a box."""
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
    """Assign a gutter and a free lane to each arrow that passes other rows."""
    last_slot = max(slot for _, slot in places.values())
    ends: dict[tuple[int, int], int] = {}
    routes: list[Route] = []
    links = [(above, child) for child, names in parents.items() for above in names]
    for above, child in sorted(links, key=lambda link: (places[link[0]], places[link[1]])):
        (start_row, start_slot), (end_row, end_slot) = places[above], places[child]
        if end_row - start_row == 1:
            routes.append((above, child, None))
            continue
        # on the side of the child on which the parent is; for the class always on the left
        gutter = end_slot if above == target or start_slot < end_slot else end_slot + 1
        gutter = max(min(gutter, last_slot), min(last_slot, 1))
        lane = 0
        if above != target:
            free = [n for n in range(1, len(LANES)) if ends.get((gutter, n), -1) <= start_row]
            lane = free[0] if free else 1
            ends[gutter, lane] = end_row
        # middle of the gutter to the left of a column; the first is the margin
        middle = MARGIN + gutter * (cell + GUTTER) - GUTTER / 2 if gutter else MARGIN / 2
        routes.append((above, child, middle + LANES[lane]))
    return routes


def _ports(
    routes: Sequence[Route], boxes: Mapping[str, Box], target: str | None
) -> tuple[dict[int, float], dict[int, float]]:
    """Distribute the ends of arrows over a node's edges, ordered by their other ends."""
    leaving: dict[int, float] = {}
    arriving: dict[int, float] = {}
    for name, box in boxes.items():
        for ends, own, other in ((leaving, 0, 1), (arriving, 1, 0)):
            found = [k for k, route in enumerate(routes) if route[own] == name]
            found.sort(key=lambda k: _side(routes[k], boxes[str(routes[k][other])]))
            distance = 0.0 if name == target and own == 0 else PORT
            distance = min(distance, (box.width - 2 * PADDING[1]) / max(len(found), 1))
            first = box.x - distance * (len(found) - 1) / 2
            ends.update({index: first + distance * k for k, index in enumerate(found)})
    return leaving, arriving


def _side(route: Route, other: Box) -> float:
    return other.x if route[2] is None else route[2]


@dataclass(frozen=True)
class NetworkDrawing:
    """Boxes and arrows, y downwards, and truncated names with the full ones."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    cut: tuple[tuple[str, str], ...]

    @property
    def positions(self) -> dict[str, tuple[float, float]]:
        """Centre of each node, x to the right and y upwards, between 0 and 1."""
        return {box.name: (box.x / self.width, 1 - box.y / self.height) for box in self.boxes}


def arrow_width(share: float) -> float:
    """Line width of an arrow that this share of the views chooses."""
    return 0.5 + 1.7 * share


def draw_network(parents: Parents, target: str | None = None, width: float = 900) -> NetworkDrawing:
    """Lay out a network in rows of at most the given width; it grows downwards."""
    cell = _cell_width(parents, width)
    available = width - 2 * MARGIN + GUTTER
    most = max(1, min(len(parents), int(available // (cell + GUTTER))))
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
    """Width of a column for the widest part of a name, within limits."""
    largest = min((width - 2 * MARGIN - GUTTER) / 2, LARGEST_CELL)
    whole = max(map(text_width, parents)) * FONT + 2 * PADDING[0]
    part = max(map(longest_part, parents)) * FONT + 2 * PADDING[0]
    # slightly more, so that rounding does not break the text
    return min(max(part, min(whole, USUAL_CELL)) + 0.01, largest)


def _names_in_lines(names: Iterable[str], letters: float) -> dict[str, tuple[str, ...]]:
    """Break names into lines, and number those that truncation has made equal."""
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
