"""A drawn tree as SVG: for a page, whose styles it takes, and with its own for a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ensemblage.pages._tree_drawing import BAR, DOT, PlacedNode, TreeDrawing, TreeNode, draw_tree

CLASS_COLOURS = ("#1a5f6e", "#b3541e", "#6b4fa0", "#5d7f1f", "#b13a6f", "#767b83")
"""Of the leaves' bars; then they come again."""

# letters and lines are of the notebook's own colour, so that they are seen on dark ones too
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


def tree_svg(drawing: TreeDrawing, kind: str = "") -> str:
    """Write a drawing; its parts have classes: line, leaf, soft, small, and c0 to c5 for bars."""
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
        f'<rect class="c{bar.number % len(CLASS_COLOURS)}" x="{bar.x:.1f}" y="{bar.y:.1f}" '
        f'width="{bar.width:.1f}" height="{BAR:.0f}"/>'
        for bar in node.bars
    ]
    for text in node.texts:
        small = ' class="small"' if text.is_small else ""
        parts.append(f'<text{small} x="{text.x:.1f}" y="{text.y:.1f}">{escape(text.text)}</text>')
    return "".join(parts)


def tree_html(nodes: Sequence[TreeNode], classes: Sequence[str], width: float = 620) -> str:
    """Draw a tree as a figure that brings its own styles."""
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
