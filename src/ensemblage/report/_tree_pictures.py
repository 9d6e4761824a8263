"""Trees as drawings of a page's own: one for a wide window, one for a phone."""

from __future__ import annotations

from typing import NamedTuple

from ensemblage.pages import TreeBlock, TreeDrawing, draw_tree, tree_svg

WIDE, NARROW = 960.0, 350.0


class TreePicture(NamedTuple):
    """A drawing, for which width it is, and its SVG, in which all texts are escaped."""

    width: str
    drawing: TreeDrawing
    svg: str


def tree_pictures(block: TreeBlock) -> list[TreePicture]:
    """Draw a tree for both widths."""
    return [
        _picture("wide", draw_tree(block.nodes, WIDE)),
        _picture("narrow", draw_tree(block.nodes, NARROW)),
    ]


def _picture(width: str, drawing: TreeDrawing) -> TreePicture:
    return TreePicture(width, drawing, tree_svg(drawing, f"for-{width}"))
