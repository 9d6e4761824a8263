"""Drawing of a tree: layout of the nodes, SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple, TypeAlias

from ensemblage._core import CLASS_COLOURS, FONT, LINE, printable, set_module, wrapped

PlacedText: TypeAlias = tuple[float, float, str, bool]
"""Left end and baseline of a line of text, the text, and whether it is small."""
PlacedBar: TypeAlias = tuple[float, float, float, int]
"""Position and width of a part of a leaf's bar, and the index of its class."""

SMALL = 10.5
"""Font size of details."""
SMALL_LINE = 13.0
"""Line height of details."""
MARGIN = 6.0
"""Margin around the drawing."""
DOT = 4.0
"""Radius of the mark of a split."""
BAR = 8.0
"""Height of a leaf's bar."""
LONGEST_BAR = 150.0
"""Maximal width of a leaf's bar."""
NODE_GAP = 9.0
"""Vertical distance between nodes."""
INDENT = 22.0
"""Indent of a child."""
MAX_INDENT = 0.3
"""Maximal sum of all indents, as a share of the width."""
# text and lines have the notebook's colour, so that they are visible in dark mode
STYLE = (
    ".ensemblage-tree{margin:1em 0;max-width:640px;font:12px sans-serif}"
    ".ensemblage-tree svg{display:block;max-width:100%;height:auto}"
    ".ensemblage-tree text{fill:currentColor}"
    ".ensemblage-tree .small{font-size:10.5px;opacity:.75}"
    ".ensemblage-tree .line{fill:none;stroke:currentColor;opacity:.35}"
    ".ensemblage-tree circle,.ensemblage-tree .leaf{fill:currentColor;stroke:currentColor}"
    ".ensemblage-tree circle.soft{fill-opacity:.25}"
    ".ensemblage-tree i{display:inline-block;width:.8em;height:.8em;margin:0 .4em 0 1em}"
)


@set_module("ensemblage.inner")
class TreeNode(NamedTuple):  # numpydoc ignore=PR01
    """A node of a tree for drawing; nodes are listed in reading order, parents first.

    Attributes
    ----------
    depth : int
        Number of splits above it.
    side : str
        Side of its parent: "yes", "no", or empty for the root.
    title : tuple of str and str
        Condition or prediction; the second part is never truncated.
    detail : str
        Small text below the title.
    shares : tuple of float
        Class proportions of a leaf; empty for a numeric target.
    is_leaf : bool
        Whether it is a leaf.
    soft : bool
        Whether the thresholds of the split differ.
    """

    depth: int
    side: str
    title: tuple[str, str]
    detail: str
    shares: tuple[float, ...] = ()
    is_leaf: bool = False
    soft: bool = False


class PlacedNode(NamedTuple):
    """Positions of a node's mark, lines of text, and bar."""

    x: float
    y: float
    top: float
    bottom: float
    texts: tuple[PlacedText, ...]
    bars: tuple[PlacedBar, ...]
    is_leaf: bool
    soft: bool


class TreeDrawing(NamedTuple):
    """Nodes, connecting lines as (x, top, bottom, x of the child), and truncated texts in full."""

    width: float
    height: float
    nodes: tuple[PlacedNode, ...]
    elbows: tuple[tuple[float, float, float, float], ...]
    cut: tuple[tuple[str, str], ...]


def draw_tree(nodes: Sequence[TreeNode], width: float = 900) -> TreeDrawing:
    """Lay out the nodes from top to bottom."""
    deepest = max(node.depth for node in nodes)
    indent = min(INDENT, MAX_INDENT * width / max(deepest, 1))
    placed: list[PlacedNode] = []
    cut: dict[str, str] = {}
    y = MARGIN
    for node in nodes:
        x = MARGIN + DOT + indent * node.depth
        placed.append(_placed(node, x, y, width, cut))
        y = placed[-1].bottom + NODE_GAP
    elbows, open_nodes = [], list[int]()
    for k, node in enumerate(nodes):
        del open_nodes[node.depth :]
        if open_nodes:
            parent = placed[open_nodes[-1]]
            elbows.append((parent.x, parent.y + DOT, placed[k].y, placed[k].x))
        open_nodes.append(k)
    return TreeDrawing(
        width, y - NODE_GAP + MARGIN, tuple(placed), tuple(elbows), tuple(cut.items())
    )


def _placed(node: TreeNode, x: float, top: float, width: float, cut: dict[str, str]) -> PlacedNode:
    left = x + DOT + 6
    available = width - MARGIN - left
    lines = _title(node, available / FONT, cut)
    texts = [(left, top + FONT + LINE * k, line, False) for k, line in enumerate(lines)]
    y = top + LINE * len(lines)
    bars: list[PlacedBar] = []
    if node.shares:
        start, longest = left, min(available, LONGEST_BAR)
        for number, share in enumerate(node.shares):
            if share * longest >= 0.5:
                bars.append((start, y + 4, share * longest, number))
            start += share * longest
        y += BAR + 6
    for line in wrapped(printable(node.detail), available / SMALL, 3).lines:
        texts.append((left, y + SMALL, line, True))
        y += SMALL_LINE
    middle = top + FONT * 0.65
    return PlacedNode(x, middle, top, y, tuple(texts), tuple(bars), node.is_leaf, node.soft)


def _title(node: TreeNode, letters: float, cut: dict[str, str]) -> list[str]:
    """Break a title into lines; the part that is never truncated has its own line."""
    side = f"{node.side}: " if node.side else ""
    name, rest = printable(node.title[0]), printable(node.title[1])
    together = wrapped(f"{side}{name}{rest}", letters)
    if together.whole:
        return list(together.lines)
    alone = wrapped(f"{side}{name}", letters, 3)
    if not alone.whole:
        cut[alone.lines[-1]] = name
    return [*alone.lines, *(wrapped(rest.strip(), letters).lines if rest.strip() else ())]


def tree_svg(drawing: TreeDrawing, kind: str = "") -> str:
    """Write a drawing as SVG, with CSS classes: line, leaf, soft, small, and c0 to c5 for bars."""
    lines = "".join(
        f"M{x:.1f} {top:.1f}V{bottom:.1f}H{child:.1f}" for x, top, bottom, child in drawing.elbows
    )
    nodes = "\n".join(f"<g>{_node(node)}</g>" for node in drawing.nodes)
    named = f' class="{kind}"' if kind else ""
    width, height = drawing.width, drawing.height
    return (
        f'<svg{named} viewBox="0 0 {width:.1f} {height:.1f}" width="{width:.0f}" '
        f'height="{height:.0f}" focusable="false"><path class="line" d="{lines}"/>\n{nodes}\n</svg>'
    )


def _node(node: PlacedNode) -> str:
    parts = []
    if not node.is_leaf:
        soft = ' class="soft"' if node.soft else ""
        parts.append(f'<circle{soft} cx="{node.x:.1f}" cy="{node.y:.1f}" r="{DOT:.0f}"/>')
    elif not node.bars:
        parts.append(
            f'<rect class="leaf" x="{node.x - DOT:.1f}" y="{node.y - DOT:.1f}" '
            f'width="{2 * DOT:.0f}" height="{2 * DOT:.0f}"/>'
        )
    parts += [
        f'<rect class="c{number % len(CLASS_COLOURS)}" x="{x:.1f}" y="{y:.1f}" '
        f'width="{width:.1f}" height="{BAR:.0f}"/>'
        for x, y, width, number in node.bars
    ]
    for x, y, text, is_small in node.texts:
        small = ' class="small"' if is_small else ""
        parts.append(f'<text{small} x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>')
    return "".join(parts)


def tree_html(nodes: Sequence[TreeNode], classes: Sequence[str], width: float = 620) -> str:
    """Draw a tree as a self-contained HTML figure."""
    colours = "".join(
        f".ensemblage-tree .c{k}{{fill:{colour};background:{colour}}}"
        for k, colour in enumerate(CLASS_COLOURS)
    )
    signs = "".join(
        f'<i class="c{k % len(CLASS_COLOURS)}"></i>{escape(name)}' for k, name in enumerate(classes)
    )
    drawing = draw_tree(nodes, width)
    cut = "".join(
        f"<div><dt>{escape(shown)}</dt><dd>{escape(whole)}</dd></div>"
        for shown, whole in drawing.cut
    )
    legend = f"<div>{signs}</div>" if signs else ""
    names = f"<dl>{cut}</dl>" if cut else ""
    return (
        f"<style>{STYLE}{colours}</style>"
        f'<figure class="ensemblage-tree">{legend}{tree_svg(drawing)}{names}</figure>'
    )
