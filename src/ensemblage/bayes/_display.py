"""A network, drawn."""

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

# Inside and edge of a box.
TARGET_COLOURS = (ACCENT_FILL, ACCENT)
FEATURE_COLOURS = (FILL, QUIET)
POINTS = 72
"""In an inch."""
WIDTH = 900.0
"""Of a new figure at most, in points."""


@set_module("ensemblage.bayes")
class NetworkDisplay:
    """Drawing of a network in layers: the class on top, every arrow downwards.

    Parameters
    ----------
    parents : dict of str to list of str
        The graph.
    target_name : str, default=None
        The class: on top, in colour, its arrows faint.
    confidence : dict of str to dict of str to float, default=None
        For each node, the share of the views that choose each parent: arrows that few choose are
        thin.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.
    text_ : list of matplotlib Text
        The nodes' names, long ones in lines.
    positions : dict of str to tuple of float
        Where each node stands, between 0 and 1 across and upwards.

    See Also
    --------
    ensemblage.bayes.BayesNetClassifier : Learns such networks.

    Notes
    -----
    Nodes stand in rows below all their parents. A row that is too wide goes on in the next, so
    that large networks grow downwards. Rows are ordered by the barycentre of their neighbours, in
    a few sweeps down and up, which leaves few crossings. Arrows past other rows run between the
    columns.

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
        """Draw a fitted classifier's network, with the confidence in its arcs if it has one.

        Parameters
        ----------
        estimator : BayesNetClassifier or InnerBayesNetClassifier
            Fitted.
        ax : matplotlib Axes, default=None
            Where to draw; None for a new figure.

        Returns
        -------
        NetworkDisplay
            Drawn.
        """
        check_is_fitted(estimator, "parents_")
        confidence = getattr(estimator, "arc_confidence_", None)
        return cls(estimator.parents_, estimator.target_name_, confidence).plot(ax=ax)

    @classmethod
    def from_network(cls, network: Any, *, ax: Any = None) -> NetworkDisplay:
        """Draw a network.

        Parameters
        ----------
        network : BayesNetwork
            Such as one read from a file.
        ax : matplotlib Axes, default=None
            Where to draw; None for a new figure.

        Returns
        -------
        NetworkDisplay
            Drawn.
        """
        return cls(network.parents).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> NetworkDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None for a new figure.

        Returns
        -------
        NetworkDisplay
            Itself.
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
