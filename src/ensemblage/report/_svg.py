"""Matplotlib's figures as ``svg`` elements that live inside a page and take its colours."""

from __future__ import annotations

import io
import re
import warnings
from typing import Any
from xml.etree import ElementTree as ET

from ensemblage.pages import INK, FigureBlock, printable
from ensemblage.report._extras import need

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
