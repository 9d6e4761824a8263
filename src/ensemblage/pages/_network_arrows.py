"""Arrows of a network: straight to the next row, or past rows through the gutters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ensemblage.pages._network_rows import Parents, Place

PADDING = (9.0, 7.0)
"""Inside a box, beside and above its text."""
MARGIN = 8.0
GUTTER = 22.0
"""Between columns, where long arrows pass."""
LANES = (0.0, 4.5, -4.5, 9.0, -9.0)
"""Beside each other in a gutter, the class's in the middle; where there are more, some share."""
PORT = 11.0
"""Between arrows that end at one node."""
CLEARANCE = 4.0

Point = tuple[float, float]


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


class Grid(NamedTuple):
    """Boxes in columns of one width, at their places, and the box of the class."""

    boxes: Mapping[str, Box]
    places: Mapping[str, Place]
    cell: float
    target: str | None

    @property
    def last_slot(self) -> int:
        """Number of the rightmost column."""
        return max(place.slot for place in self.places.values())

    def gutter(self, number: int) -> float:
        """Middle of the gutter left of a column; that of the first is the margin."""
        return MARGIN + number * (self.cell + GUTTER) - GUTTER / 2 if number else MARGIN / 2

    def between(self, above: int, below: int) -> tuple[float, float]:
        """Upper and lower end of the rows between two."""
        passed = [box for name, box in self.boxes.items() if above < self.places[name].row < below]
        return min(box.top for box in passed), max(box.bottom for box in passed)


class _Route(NamedTuple):
    """An arrow to be drawn, and where it passes the rows between, if there are any."""

    parent: str
    child: str
    across: float | None


def network_arrows(parents: Parents, grid: Grid) -> tuple[Arrow, ...]:
    """Lead an arrow from each parent to each child, none through a box."""
    routes = _routes(parents, grid)
    leaving, arriving = _ports(routes, grid)
    return tuple(
        Arrow(
            route.parent,
            route.child,
            _stops(route, (leaving[k], arriving[k]), grid),
            route.parent == grid.target,
        )
        for k, route in enumerate(routes)
    )


def _routes(parents: Parents, grid: Grid) -> list[_Route]:
    """Give each arrow that passes rows a gutter, and a lane that is free there."""
    places = grid.places
    ends: dict[tuple[int, int], int] = {}
    routes = []
    links = [(above, child) for child, names in parents.items() for above in names]
    for above, child in sorted(links, key=lambda link: (places[link[0]], places[link[1]])):
        start, end = places[above], places[child]
        if end.row - start.row == 1:
            routes.append(_Route(above, child, None))
            continue
        # on the side of the child where the parent stands; the class always on the left
        gutter = end.slot if above == grid.target or start.slot < end.slot else end.slot + 1
        gutter = max(min(gutter, grid.last_slot), min(grid.last_slot, 1))
        lane = 0
        if above != grid.target:
            free = [n for n in range(1, len(LANES)) if ends.get((gutter, n), -1) <= start.row]
            lane = free[0] if free else 1
            ends[gutter, lane] = end.row
        routes.append(_Route(above, child, grid.gutter(gutter) + LANES[lane]))
    return routes


def _ports(routes: Sequence[_Route], grid: Grid) -> tuple[dict[int, float], dict[int, float]]:
    """Spread the ends of arrows over a node's edges, in the order of where they come from."""
    leaving: dict[int, float] = {}
    arriving: dict[int, float] = {}
    for name, box in grid.boxes.items():
        out = [k for k, route in enumerate(routes) if route.parent == name]
        into = [k for k, route in enumerate(routes) if route.child == name]
        out.sort(key=lambda k: _side(routes[k], grid.boxes[routes[k].child]))
        into.sort(key=lambda k: _side(routes[k], grid.boxes[routes[k].parent]))
        leaving |= _spread(out, box, 0.0 if name == grid.target else PORT)
        arriving |= _spread(into, box, PORT)
    return leaving, arriving


def _side(route: _Route, other: Box) -> float:
    return other.x if route.across is None else route.across


def _spread(numbers: Sequence[int], box: Box, gap: float) -> dict[int, float]:
    gap = min(gap, (box.width - 2 * PADDING[1]) / max(len(numbers), 1))
    first = box.x - gap * (len(numbers) - 1) / 2
    return {number: first + gap * k for k, number in enumerate(numbers)}


def _stops(route: _Route, ports: Point, grid: Grid) -> tuple[Point, ...]:
    parent, child = grid.boxes[route.parent], grid.boxes[route.child]
    start, end = (ports[0], parent.bottom), (ports[1], child.top)
    if route.across is None:
        return (start, end)
    top, bottom = grid.between(grid.places[route.parent].row, grid.places[route.child].row)
    return (start, (route.across, top - CLEARANCE), (route.across, bottom + CLEARANCE), end)
