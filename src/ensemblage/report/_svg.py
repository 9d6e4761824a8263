"""Figures as inline SVG."""

from __future__ import annotations

import io
import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

from ensemblage._core import FONT, INK, LINE, printable, require
from ensemblage.bayes import HEAD, Box, NetworkDrawing, arrow_width, draw_network
from ensemblage.inner import TreeDrawing, draw_tree, tree_svg
from ensemblage.report._blocks import (
    FigureBlock,
    MapBlock,
    MapPanel,
    NetworkBlock,
    Outline,
    Point,
    TreeBlock,
)


def need(module: str) -> Any:
    """Import a module of the extra ``report``."""
    return require(module, "A report", extra="report")


def check_installed() -> None:
    """Refuse to start what could not be written in the end.

    Raises
    ------
    ImportError
        If jinja2 or matplotlib is not installed; it names the extra to install.
    """
    need("jinja2")
    need("matplotlib")


PREFIX = "fig-"
"""What names inside a figure start with; see :func:`numbered`."""
NAMED = re.compile(rf'((?:id="|href="#|url\(#){PREFIX[:-1]})-')

THEMED = {INK: "currentColor"}
FONT_PARTS = ("font-family", "font-stretch")


def drawn_svg(block: FigureBlock) -> str:
    """Draw a figure of one's own, unknown to pyplot, as an element for a page."""
    figure = need("matplotlib.figure").Figure(figsize=(block.width, block.height))
    block.draw(figure.subplots())
    return inline_svg(figure)


def inline_svg(figure: Any) -> str:
    """Turn a figure into an ``svg`` element: text as text, names of its own, the same bytes again.

    There are no style attributes, which the page's security policy refuses.
    """
    _take_ink(figure)
    matplotlib = need("matplotlib")
    buffer = io.BytesIO()
    # the only way to tell matplotlib's SVG writer; undone at once
    with (
        matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "ensemblage"}),
        warnings.catch_warnings(),
    ):
        # the browser has fonts for what matplotlib's own lacks
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        figure.savefig(
            buffer, format="svg", transparent=True, bbox_inches="tight", dpi=150,
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )  # fmt: skip
    return _clean(buffer.getvalue())


def numbered(svg: str, number: int) -> str:
    """Make the names inside a figure those of one figure of a page."""
    return NAMED.sub(rf"\g<1>{number}-", svg)


def _take_ink(figure: Any) -> None:
    """Draw axes, titles and legends in the page's colour; text is text, never a formula."""
    for ax in figure.axes:
        ax.tick_params(colors=INK, which="both")
        for part in (ax.title, ax.xaxis.label, ax.yaxis.label):
            part.set_color(INK)
        for spine in ax.spines.values():
            spine.set_edgecolor(INK)
        legend = ax.get_legend()
        for text in () if legend is None else legend.get_texts():
            text.set_color(INK)
    for text in figure.findobj(need("matplotlib.text").Text):
        text.set_parse_math(False)
        # some Displays have written a dollar so that it starts no formula
        text.set_text(printable(text.get_text().replace(r"\$", "$")))


def _clean(raw: bytes) -> str:
    """Leave what a page needs of a file that matplotlib wrote."""
    root = ET.fromstring(raw)  # noqa: S314  written by matplotlib a moment ago
    linked = set(re.findall(rb'(?:href="|url\()#([^")]+)', raw))
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.rpartition("}")[2] in {"metadata", "style"}:
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = _attributes(element.attrib, linked)
        element.tail = None
    # matplotlib's points as the page's pixels
    box = root.attrib["viewBox"]
    width, height = (f"{float(size) * 4 / 3:.0f}" for size in box.split()[2:])
    root.attrib = {"viewBox": box, "width": width, "height": height}
    return ET.tostring(root, encoding="unicode")


def _attributes(found: dict[str, str], linked: set[bytes]) -> dict[str, str]:
    """Style as presentation attributes, themed colours, names only where they are linked to."""
    made: dict[str, str] = {}
    for long, value in found.items():
        name = long.rpartition("}")[2]
        if name == "style":
            made |= _presentation(value)
        elif name == "id":
            made |= {"id": f"{PREFIX}{value}"} if value.encode() in linked else {}
        elif name == "d":
            made["d"] = " ".join(value.split())
        elif name == "href" and value.startswith("#"):
            made["href"] = f"#{PREFIX}{value[1:]}"
        else:
            made[name] = value.replace("url(#", f"url(#{PREFIX}")
    return made


def _presentation(style: str) -> dict[str, str]:
    parts = [part.partition(":") for part in style.split(";") if part.strip()]
    pairs = {name.strip(): value.strip() for name, _, value in parts}
    return {
        name: THEMED.get(value, value) for name, value in pairs.items() if name not in FONT_PARTS
    }


WIDE, NARROW = 960.0, 350.0


class NetworkLine(NamedTuple):
    """An arrow as the paths of an SVG."""

    line: str
    head: str
    faint: bool
    width: float | None = None
    title: str = ""


class NetworkPicture(NamedTuple):
    """A drawing and for which width it is; both if the drawings are the same."""

    width: str
    drawing: NetworkDrawing
    lines: list[NetworkLine]

    def texts(self, box: Box) -> list[tuple[float, str]]:
        """Height and text of each line of a name."""
        first = box.y - LINE * (len(box.lines) - 1) / 2 + FONT * 0.35
        return [(round(first + LINE * k, 1), printable(text)) for k, text in enumerate(box.lines)]


def network_pictures(block: NetworkBlock) -> list[NetworkPicture]:
    """Draw a network for both widths; once if it is small."""
    widths = (WIDE, NARROW)
    wide, narrow = (draw_network(block.parents, block.target, width) for width in widths)
    if wide.width <= NARROW:
        return [_picture("any", wide, block)]
    return [_picture("wide", wide, block), _picture("narrow", narrow, block)]


def _picture(width: str, drawing: NetworkDrawing, block: NetworkBlock) -> NetworkPicture:
    # what is faint lies below
    arrows = sorted(drawing.arrows, key=lambda arrow: not arrow.from_target)
    lines = []
    for arrow in arrows:
        (x, y), *_ = arrow.stops
        path = [f"M{x:.1f} {y:.1f}"]
        for _, *points in arrow.curves:
            path.append("C" + " ".join(f"{a:.1f} {b:.1f}" for a, b in points))
        x, y = arrow.stops[-1]
        half, length = HEAD
        head = f"M{x - half:.1f} {y - length:.1f}H{x + half:.1f}L{x:.1f} {y:.1f}Z"
        share = block.confidence.get(arrow.child, {}).get(arrow.parent)
        line = NetworkLine("".join(path), head, arrow.from_target)
        if share is not None:
            named = printable(f"{arrow.parent} to {arrow.child}: chosen by {share:.0%}")
            line = line._replace(width=arrow_width(share), title=named)
        lines.append(line)
    return NetworkPicture(width, drawing, lines)


class TreePicture(NamedTuple):
    """A drawing, for which width it is, and its SVG, in which all texts are escaped."""

    width: str
    drawing: TreeDrawing
    svg: str


def tree_pictures(block: TreeBlock) -> list[TreePicture]:
    """Draw a tree for both widths."""
    return [
        _tree_picture("wide", draw_tree(block.nodes, WIDE)),
        _tree_picture("narrow", draw_tree(block.nodes, NARROW)),
    ]


def _tree_picture(width: str, drawing: TreeDrawing) -> TreePicture:
    return TreePicture(width, drawing, tree_svg(drawing, f"for-{width}"))


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
