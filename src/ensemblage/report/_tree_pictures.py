"""Trees as drawings of a page's own: one for a wide window, one for a phone."""

from __future__ import annotations

from typing import NamedTuple

from ensemblage.pages import TreeBlock, TreeDrawing, draw_tree

WIDE, NARROW = 960.0, 350.0
COLOURS = 6
"""So many colours of classes there are; then they come again."""


class TreePicture(NamedTuple):
    """A drawing, for which width it is, and its elbows as the path of an SVG."""

    width: str
    drawing: TreeDrawing
    lines: str

    def colour(self, number: int) -> int:
        """Give the number of a class's colour."""
        return number % COLOURS


def tree_pictures(block: TreeBlock) -> list[TreePicture]:
    """Draw a tree for both widths."""
    return [
        _picture("wide", draw_tree(block.nodes, WIDE)),
        _picture("narrow", draw_tree(block.nodes, NARROW)),
    ]


def _picture(width: str, drawing: TreeDrawing) -> TreePicture:
    lines = "".join(
        f"M{x:.1f} {top:.1f}V{bottom:.1f}H{child:.1f}" for x, top, bottom, child in drawing.elbows
    )
    return TreePicture(width, drawing, lines)
