"""Figures as inline SVG."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from html import escape
from typing import Any
from xml.etree import ElementTree as ET

from ensemblage._core import FONT, LINE, THEMED_INK, printable, require
from ensemblage.bayes import HEAD, NetworkDrawing, arrow_width, draw_network
from ensemblage.inner import draw_tree, tree_svg
from ensemblage.report._blocks import FigureBlock, NetworkBlock, TreeBlock
from ensemblage.sources import Panel, Panels

PREFIX = "fig-"
"""What names inside a figure start with; see :func:`numbered`."""
NAMED = re.compile(rf'((?:id="|href="#|url\(#){PREFIX[:-1]})-')
THEMED = {THEMED_INK: "currentColor"}
FONT_PARTS = ("font-family", "font-stretch")
WIDE = 960.0
"""Pixels of a drawing on a screen."""
NARROW = 350.0
"""Pixels of a drawing on a phone."""
PANEL = (198.0, 160.0)
"""Size of a small figure."""
PANEL_EDGES = (38.0, 6.0, 184.0, 138.0)
"""Left, top, right and bottom end of its axes."""


def need(module: str) -> Any:
    """Import a module of the extra ``report``."""
    return require(module, "A report", extra="report")


def check_installed() -> None:
    """Raise an error before any computation if a package for reports is missing."""
    need("jinja2")
    need("matplotlib")


def drawn_svg(block: FigureBlock) -> str:
    """Draw a figure, without pyplot, as an element for a page."""
    figure = need("matplotlib.figure").Figure(figsize=(block.width, block.height))
    block.draw(figure.subplots())
    return inline_svg(figure)


def inline_svg(figure: Any) -> str:
    """Turn a figure into an ``svg`` element: text as text, names of its own, the same bytes again.

    There are no style attributes, which the page's security policy refuses.
    """
    _apply_ink(figure)
    matplotlib = need("matplotlib")
    buffer = io.BytesIO()
    # matplotlib's SVG writer has no other interface
    with (
        matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "ensemblage"}),
        warnings.catch_warnings(),
    ):
        # the browser has fonts for glyphs that matplotlib's lack
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        figure.savefig(
            buffer, format="svg", transparent=True, bbox_inches="tight", dpi=150,
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )  # fmt: skip
    return _clean(buffer.getvalue())


def numbered(svg: str, number: int) -> str:
    """Make the names inside a figure those of one figure of a page."""
    return NAMED.sub(rf"\g<1>{number}-", svg)


def _apply_ink(figure: Any) -> None:
    """Draw axes, titles and legends in the page's colour; text is text, never a formula."""
    for ax in figure.axes:
        ax.tick_params(colors=THEMED_INK, which="both")
        for part in (ax.title, ax.xaxis.label, ax.yaxis.label):
            part.set_color(THEMED_INK)
        for spine in ax.spines.values():
            spine.set_edgecolor(THEMED_INK)
        legend = ax.get_legend()
        for text in () if legend is None else legend.get_texts():
            text.set_color(THEMED_INK)
    for text in figure.findobj(need("matplotlib.text").Text):
        text.set_parse_math(False)
        # some Displays have written a dollar so that it starts no formula
        text.set_text(printable(text.get_text().replace(r"\$", "$")))


def _clean(raw: bytes) -> str:
    """Keep what a page needs of a file that matplotlib wrote."""
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


def drawings(block: NetworkBlock | TreeBlock) -> list[tuple[str, str, Any]]:
    """Draw a network or a tree for both widths; a small network once.

    Each is a name for its width, its SVG, in which all texts are escaped, and the names that had
    to be shortened, with the full ones.
    """
    if isinstance(block, TreeBlock):
        trees = {"wide": draw_tree(block.nodes, WIDE), "narrow": draw_tree(block.nodes, NARROW)}
        return [(name, tree_svg(tree, f"for-{name}"), tree.cut) for name, tree in trees.items()]
    wide = draw_network(block.parents, block.target, WIDE)
    networks = {"any": wide}
    if wide.width > NARROW:
        narrow = draw_network(block.parents, block.target, NARROW)
        networks = {"wide": wide, "narrow": narrow}
    return [
        (name, network_svg(drawing, block, f"for-{name}"), drawing.cut)
        for name, drawing in networks.items()
    ]


def network_svg(drawing: NetworkDrawing, block: NetworkBlock, kind: str) -> str:
    """Write a network; its parts have classes: line, head, faint, node and target."""
    parts = []
    # faint arrows below the others
    for arrow in sorted(drawing.arrows, key=lambda arrow: not arrow.from_target):
        (x, y), *_ = arrow.stops
        curves = (" ".join(f"{a:.1f} {b:.1f}" for a, b in points) for _, *points in arrow.curves)
        line = f"M{x:.1f} {y:.1f}" + "".join(f"C{curve}" for curve in curves)
        x, y = arrow.stops[-1]
        half, length = HEAD
        head = f"M{x - half:.1f} {y - length:.1f}H{x + half:.1f}L{x:.1f} {y:.1f}Z"
        share = block.confidence.get(arrow.child, {}).get(arrow.parent)
        title = thickness = ""
        if share is not None:
            name = escape(printable(f"{arrow.parent} to {arrow.child}: frequency {share:.0%}"))
            title, thickness = f"<title>{name}</title>", f' stroke-width="{arrow_width(share):.2f}"'
        faint = ' class="faint"' if arrow.from_target else ""
        parts.append(
            f'<g{faint}>{title}<path class="line"{thickness} d="{line}"/>'
            f'<path class="head" d="{head}"/></g>'
        )
    for box in drawing.boxes:
        first = box.y - LINE * (len(box.lines) - 1) / 2 + FONT * 0.35
        lines = "".join(
            f'<text x="{box.x:.1f}" y="{first + LINE * k:.1f}">{escape(printable(text))}</text>'
            for k, text in enumerate(box.lines)
        )
        parts.append(
            f'<g class="node{" target" if box.is_target else ""}"><rect '
            f'x="{box.x - box.width / 2:.1f}" y="{box.top:.1f}" width="{box.width:.1f}" '
            f'height="{box.height:.1f}" rx="6"/>{lines}</g>'
        )
    width, height = drawing.width, drawing.height
    return (
        f'<svg class="{kind}" viewBox="0 0 {width:.1f} {height:.1f}" width="{width:.0f}" '
        f'height="{height:.0f}" focusable="false">' + "\n".join(parts) + "</svg>"
    )


def panel_svg(panels: Panels, panel: Panel) -> str:
    """Write a small figure; its lines have the class of their kind, and are cut at its axes."""
    left, top, right, bottom = PANEL_EDGES
    panels = panels if panel.x is None else panels._replace(x=panel.x)
    (x_low, x_high), (y_low, y_high) = panels.x, panels.y

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            left + (right - left) * (x - x_low) / (x_high - x_low),
            bottom - (bottom - top) * (y - y_low) / (y_high - y_low),
        )

    parts = [f'<path class="axis" d="M{left} {top}V{bottom}H{right}"/>']
    for at, text in panels.ticks("x"):
        x, _ = place(at, y_low)
        parts.append(f'<text x="{x:.1f}" y="{bottom + 13}" text-anchor="middle">{text}</text>')
    for at, text in panels.ticks("y"):
        _, y = place(x_low, at)
        parts.append(f'<path class="grid" d="M{left} {y:.1f}H{right}"/>')
        parts.append(f'<text x="{left - 4}" y="{y + 3:.1f}" text-anchor="end">{text}</text>')
    for line in panel.lines:
        shown = [place(x, y) for x, y in _within(line.points, y_low, y_high)]
        if len(shown) == 1:
            parts.append(f'<circle class="{line.kind}" cx="{shown[0][0]:.1f}" '
                         f'cy="{shown[0][1]:.1f}" r="3"/>')  # fmt: skip
        elif shown:
            points = "L".join(f"{x:.1f} {y:.1f}" for x, y in shown)
            parts.append(f'<path class="line {line.kind}" d="M{points}"/>')
    width, height = PANEL
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" focusable="false" aria-hidden="true">'
        f"{''.join(parts)}</svg>"
    )


def _within(
    points: Sequence[tuple[float, float]], low: float, high: float
) -> list[tuple[float, float]]:
    """Keep the points of a line up to where it leaves the axis."""
    kept: list[tuple[float, float]] = []
    for x, y in points:
        if low <= y <= high:
            kept.append((x, y))
            continue
        edge = low if y < low else high
        if kept and kept[-1][1] != edge:
            (x0, y0) = kept[-1]
            kept.append((x0 + (x - x0) * (edge - y0) / (y - y0), edge))
        break
    return kept
