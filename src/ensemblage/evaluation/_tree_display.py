"""A drawing of a tree whose thresholds a crowd places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ensemblage.inner import outline_of
from ensemblage.messages import require
from ensemblage.pages import (
    BAR,
    CLASS_COLOURS,
    DOT,
    FONT,
    SMALL,
    PlacedNode,
    TreeNode,
    draw_tree,
)

INK, QUIET, FAINT = "#1c2128", "#5b636e", "#c2bdb0"
POINTS = 72
"""In an inch."""


class TreeDisplay:
    """Drawing of a tree as an outline: children below their parent, the side of "yes" first.

    Parameters
    ----------
    nodes : sequence of TreeNode
        In the order of reading.
    classes : sequence of str, default=()
        Behind the colours of the leaves' bars.
    width : float, default=560
        Of a new figure, in points; the height is as much as the nodes need.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.
    text_ : list of matplotlib Text
        All lines, from top to bottom.

    See Also
    --------
    ensemblage.inner.InnerTreeClassifier : Learns such trees.

    Notes
    -----
    The mark of a split is grey where the crowd's thresholds differ, and dark where all are one.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from ensemblage.evaluation import TreeDisplay
    >>> from ensemblage.inner import InnerTreeClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> tree = InnerTreeClassifier(max_leaves=4, random_state=0).fit(X, y)
    >>> display = TreeDisplay.from_estimator(tree)
    >>> display.text_[0].get_text()
    'proline ≤ 755'
    """

    def __init__(
        self, nodes: Sequence[TreeNode], classes: Sequence[str] = (), width: float = 560
    ) -> None:
        self.nodes = nodes
        self.classes = classes
        self.width = width

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, width: float = 560) -> TreeDisplay:
        """Draw a fitted tree.

        Parameters
        ----------
        estimator : InnerTreeClassifier or InnerTreeRegressor
            Fitted.
        ax : matplotlib Axes, default=None
            Where to draw; None for a new figure.
        width : float, default=560
            Of a new figure, in points.

        Returns
        -------
        TreeDisplay
            Drawn.
        """
        check_is_fitted(estimator, "tree_")
        classes = [str(label) for label in getattr(estimator, "classes_", ())]
        return cls(outline_of(estimator), classes, width).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> TreeDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None for a new figure.

        Returns
        -------
        TreeDisplay
            Itself.
        """
        drawing = draw_tree(self.nodes, self.width)
        if ax is None:
            plt = require("matplotlib.pyplot", "TreeDisplay", extra="plot")
            figure = plt.figure(figsize=(drawing.width / POINTS, drawing.height / POINTS))
            ax = figure.add_axes((0, 0, 1, 1))
        ax.set(xlim=(0, drawing.width), ylim=(drawing.height, 0))
        for x, top, bottom, child in drawing.elbows:
            ax.plot([x, x, child], [top, bottom, bottom], color=FAINT, linewidth=1)
        box = ax.get_window_extent()
        scale = min(1.0, box.width * POINTS / ax.figure.dpi / drawing.width,
                    box.height * POINTS / ax.figure.dpi / drawing.height)  # fmt: skip
        self.text_ = [text for node in drawing.nodes for text in _draw_node(ax, node, scale)]
        ax.set_axis_off()
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _draw_node(ax: Any, node: PlacedNode, scale: float) -> list[Any]:
    patches = require("matplotlib.patches", "TreeDisplay", extra="plot")
    if not node.is_leaf:
        inside = FAINT if node.soft else INK
        ax.add_patch(patches.Circle((node.x, node.y), DOT, facecolor=inside, edgecolor=QUIET))
    for bar in node.bars:
        colour = CLASS_COLOURS[bar.number % len(CLASS_COLOURS)]
        ax.add_patch(patches.Rectangle((bar.x, bar.y), bar.width, BAR, facecolor=colour))
    return [
        ax.text(
            text.x, text.y, text.text.replace("$", r"\$"), va="baseline",
            fontsize=scale * (SMALL if text.is_small else FONT),
            color=QUIET if text.is_small else INK,
        )
        for text in node.texts
    ]  # fmt: skip
