"""Maps as small drawings of a page's own, with a sign and a colour for each group of rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ensemblage.pages import MapBlock, MapPanel, Outline, Point

WIDTH, HEIGHT, EDGE = 200.0, 150.0, 8.0
SIGNS = (
    "m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0",
    "m0-2.7l2.5 4.4h-5z",
    "m-1.8-1.8h3.6v3.6h-3.6z",
    "m0-2.8l2.4 2.8-2.4 2.8-2.4-2.8z",
    "m0 2.7l2.5-4.4h-5z",
    "m-2.4-.7h1.7v-1.7h1.4v1.7h1.7v1.4h-1.7v1.7h-1.4v-1.7h-1.7z",
)
"""Circle, triangle, square, diamond, triangle upside down, cross: paths around a point."""
DOT = "m-1.1 0a1.1 1.1 0 1 0 2.2 0a1.1 1.1 0 1 0-2.2 0"
CORNERS = 40
"""Of the line that draws an ellipse."""
MOST_BEHIND = 500
"""Rows of the background; more look the same."""


class Signed(NamedTuple):
    """A group's number among the signs, its name, and how many rows it has."""

    number: int
    name: str


class MapPicture(NamedTuple):
    """A panel as paths: the rows that stand out, by the number of their sign, and the outline."""

    panel: MapPanel
    signs: list[tuple[int, str]]
    outline: str


class MapPictures(NamedTuple):
    """All panels, what lies behind each, the legend, and the marked row's place."""

    behind: str
    legend: list[Signed]
    panels: list[MapPicture]
    mark: Point | None
    signs: tuple[str, ...] = SIGNS


def map_pictures(block: MapBlock) -> MapPictures:
    """Scale a map to its pictures and write each as paths."""
    place = _scale(block)
    signs, legend = _signs(block.groups)
    step = math.ceil(len(block.points) / MOST_BEHIND) or 1
    behind = "".join(_at(place(point), DOT) for point in block.points[::step])
    panels = [
        MapPicture(panel, _drawn(block, panel, signs, place), _ellipse(panel.outline, place))
        for panel in block.panels
    ]
    mark = None if block.mark is None else place(block.points[block.mark])
    return MapPictures(behind, legend, panels, mark)


def _signs(groups: Sequence[str]) -> tuple[dict[str, int], list[Signed]]:
    """Give the largest groups a sign each; if there are too many, the rest share the last."""
    counts = Counter(groups)
    order = sorted(counts, key=lambda name: (-counts[name], name))
    if len(order) <= len(SIGNS):
        return {name: k for k, name in enumerate(order)}, [
            Signed(k, name) for k, name in enumerate(order)
        ]
    last = len(SIGNS) - 1
    signs = {name: min(k, last) for k, name in enumerate(order)}
    legend = [Signed(k, name) for k, name in enumerate(order[:last])]
    return signs, [*legend, Signed(last, f"{len(order) - last} others")]


def _drawn(
    block: MapBlock, panel: MapPanel, signs: dict[str, int], place: Callable[[Point], Point]
) -> list[tuple[int, str]]:
    paths: dict[int, list[str]] = {}
    for row in panel.rows:
        number = signs[block.groups[row]] if block.groups else 0
        paths.setdefault(number, []).append(_at(place(block.points[row]), SIGNS[number]))
    return [(number, "".join(paths[number])) for number in sorted(paths)]


def _scale(block: MapBlock) -> Callable[[Point], Point]:
    """Fit the points, and the outlines as far as they do not dwarf them."""
    lows, spans = [], []
    for axis in (0, 1):
        values = [point[axis] for point in block.points]
        low, high = min(values, default=0.0), max(values, default=1.0)
        lows.append(low)
        spans.append(high - low or 1.0)

    def place(point: Point) -> Point:
        across, up = ((point[k] - lows[k]) / spans[k] for k in (0, 1))
        return EDGE + across * (WIDTH - 2 * EDGE), HEIGHT - EDGE - up * (HEIGHT - 2 * EDGE)

    return place


def _at(point: Point, sign: str) -> str:
    return f"M{point[0]:.1f} {point[1]:.1f}{sign}"


def _ellipse(outline: Outline | None, place: Callable[[Point], Point]) -> str:
    if outline is None:
        return ""
    (x, y), (a, b), (c, d) = outline
    corners = []
    for k in range(CORNERS):
        turn = 2 * math.pi * k / CORNERS
        across, up = math.cos(turn), math.sin(turn)
        corners.append(place((x + a * across + c * up, y + b * across + d * up)))
    return "M" + "L".join(f"{px:.1f} {py:.1f}" for px, py in corners) + "Z"
