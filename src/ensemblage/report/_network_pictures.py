"""Networks as drawings of a page's own: one for a wide window, one for a phone."""

from __future__ import annotations

from typing import NamedTuple

from ensemblage.pages import (
    FONT,
    HEAD,
    LINE,
    Box,
    NetworkBlock,
    NetworkDrawing,
    arrow_width,
    draw_network,
    printable,
)

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
