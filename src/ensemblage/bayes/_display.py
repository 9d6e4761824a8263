"""Plot of a Bayesian network."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from ensemblage._core import (
    ACCENT,
    ACCENT_FILL,
    FAINT,
    FILL,
    FONT,
    INK,
    LINE,
    QUIET,
    require,
    set_module,
)
from ensemblage.bayes._layout import HEAD, Arrow, Box, NetworkDrawing, arrow_width, draw_network

TARGET_COLOURS = (ACCENT_FILL, ACCENT)
"""Fill and edge of the class's box."""
FEATURE_COLOURS = (FILL, QUIET)
"""Fill and edge of a feature's box."""
POINTS = 72
"""Points per inch."""
WIDTH = 900.0
"""Maximal width of a new figure, in points."""


@set_module("ensemblage.bayes")
class NetworkDisplay:
    """Plot of a network in layers: the class at the top, all arrows downwards.

    Parameters
    ----------
    parents : dict of str to list of str
        Parents of each node.
    target_name : str, default=None
        Name of the class, which is at the top, in colour, with faint arrows.
    confidence : dict of str to dict of str to float, default=None
        For each node, the share of the views that choose each parent, shown by the width of the
        arrow.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the plot.
    figure_ : matplotlib Figure
        Figure of the axes.
    text_ : list of matplotlib Text
        Names of the nodes; long names have several lines.
    positions : dict of str to tuple of float
        Position of each node, x to the right and y upwards, between 0 and 1.

    See Also
    --------
    ensemblage.bayes.BayesNetClassifier : Fits such networks.

    Notes
    -----
    Nodes are in rows below all their parents. A row that is too wide continues in the next, so that
    large networks grow downwards. Nodes in a row are ordered by the barycentre of their neighbours,
    in a few sweeps down and up, which leaves few crossings. Arrows that pass other rows run between
    the columns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemblage.bayes import BayesNetClassifier
    >>> from ensemblage.bayes import NetworkDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = NetworkDisplay.from_estimator(BayesNetClassifier().fit(X, y))
    >>> len(display.text_)
    5
    """

    def __init__(
        self,
        parents: dict[str, list[str]],
        target_name: str | None = None,
        confidence: dict[str, dict[str, float]] | None = None,
    ) -> None:
        self.parents = parents
        self.target_name = target_name
        self.confidence = confidence
        self.positions = self._drawing.positions

    @property
    def _drawing(self) -> NetworkDrawing:
        return draw_network(self.parents, self.target_name, WIDTH)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> NetworkDisplay:
        """Plot the network of a fitted classifier, with the confidence of its arcs if available.

        Parameters
        ----------
        estimator : BayesNetClassifier or InnerBayesNetClassifier
            Fitted classifier.
        ax : matplotlib Axes, default=None
            Axes to plot on; None for a new figure.

        Returns
        -------
        NetworkDisplay
            The display.
        """
        check_is_fitted(estimator, "parents_")
        confidence = getattr(estimator, "arc_confidence_", None)
        return cls(estimator.parents_, estimator.target_name_, confidence).plot(ax=ax)

    @classmethod
    def from_network(cls, network: Any, *, ax: Any = None) -> NetworkDisplay:
        """Plot a network.

        Parameters
        ----------
        network : BayesNetwork
            The network, for instance read from a file.
        ax : matplotlib Axes, default=None
            Axes to plot on; None for a new figure.

        Returns
        -------
        NetworkDisplay
            The display.
        """
        return cls(network.parents).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> NetworkDisplay:
        """Plot the network.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to plot on; None for a new figure.

        Returns
        -------
        NetworkDisplay
            The display.
        """
        drawing = self._drawing
        if ax is None:
            plt = require("matplotlib.pyplot", "NetworkDisplay", extra="plot")
            figure = plt.figure(figsize=(drawing.width / POINTS, drawing.height / POINTS))
            ax = figure.add_axes((0, 0, 1, 1))
        ax.set(xlim=(0, drawing.width), ylim=(drawing.height, 0))
        for arrow in sorted(drawing.arrows, key=lambda each: not each.from_target):
            share = (self.confidence or {}).get(arrow.child, {}).get(arrow.parent)
            _draw_arrow(ax, arrow, None if share is None else arrow_width(share))
        box = ax.get_window_extent().width * POINTS / ax.figure.dpi
        size = FONT * min(1.0, box / drawing.width)
        self.text_ = [_draw_box(ax, each, size) for each in drawing.boxes]
        ax.set_axis_off()
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _draw_arrow(ax: Any, arrow: Arrow, width: float | None = None) -> None:
    patches, path = (require(f"matplotlib.{name}", "NetworkDisplay", extra="plot")
                     for name in ("patches", "path"))  # fmt: skip
    colour = FAINT if arrow.from_target else INK
    points = [arrow.stops[0], *(point for curve in arrow.curves for point in curve[1:])]
    codes = [path.Path.MOVETO] + [path.Path.CURVE4] * (len(points) - 1)
    line = path.Path(points, codes)
    ax.add_patch(patches.PathPatch(line, edgecolor=colour, facecolor="none", linewidth=width))
    (x, y), (half, length) = arrow.stops[-1], HEAD
    corners = [(x - half, y - length), (x + half, y - length), (x, y)]
    ax.add_patch(patches.Polygon(corners, facecolor=colour))


def _draw_box(ax: Any, box: Box, size: float) -> Any:
    patches = require("matplotlib.patches", "NetworkDisplay", extra="plot")
    inside, edge = TARGET_COLOURS if box.is_target else FEATURE_COLOURS
    ax.add_patch(
        patches.FancyBboxPatch(
            (box.x - box.width / 2, box.top), box.width, box.height, facecolor=inside,
            edgecolor=edge, boxstyle="round,pad=0,rounding_size=6", zorder=3,
        )
    )  # fmt: skip
    return ax.text(
        box.x, box.y, "\n".join(box.lines).replace("$", r"\$"), ha="center", va="center",
        fontsize=size, linespacing=LINE / FONT, zorder=4,
        fontweight="bold" if box.is_target else "normal",
    )  # fmt: skip
