"""A drawing of a Bayesian network."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ensemblage.messages import require

BOX = {"boxstyle": "round,pad=0.35", "edgecolor": "0.35"}
CLASS_COLOUR, FEATURE_COLOUR = "#ffd9a0", "#dce9f7"


def layered_positions(parents: dict[str, list[str]]) -> dict[str, tuple[float, float]]:
    """Place each node below its parents: across and height between 0 and 1, roots on top."""
    depth: dict[str, int] = {}
    waiting = list(parents)
    while waiting:
        for name in [n for n in waiting if all(p in depth for p in parents[n])]:
            depth[name] = 1 + max((depth[p] for p in parents[name]), default=-1)
            waiting.remove(name)
    levels = [[n for n in parents if depth[n] == level] for level in range(max(depth.values()) + 1)]
    positions: dict[str, tuple[float, float]] = {}
    for level, names in enumerate(levels):
        # a node stands below the middle of its parents, which keeps arrows short
        middle = [np.mean([positions[p][0] for p in parents[n]] or [0.5]) for n in names]
        across = np.argsort(middle, kind="stable")
        for place, j in enumerate(across):
            height = 1.0 - level / max(len(levels) - 1, 1)
            # neighbouring levels are shifted, so that long arrows pass between nodes
            shift = 0.5 if level % 2 == 0 else 0.62
            positions[names[j]] = ((place + shift) / len(names), float(height))
    return {name: positions[name] for name in parents}


class NetworkDisplay:
    """Drawing of a network: the class on top, arrows from parents to children.

    Parameters
    ----------
    parents : dict of str to list of str
        The graph.
    target_name : str, default=None
        Node to highlight.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.
    text_ : list of matplotlib Annotation
        The nodes' boxes.
    positions : dict of str to tuple of float
        Where each node stands.

    See Also
    --------
    ensemblage.bayes.BayesNetClassifier : Learns such networks.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemblage.bayes import BayesNetClassifier
    >>> from ensemblage.evaluation import NetworkDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = NetworkDisplay.from_estimator(BayesNetClassifier().fit(X, y))
    >>> len(display.text_)
    5
    """

    def __init__(self, parents: dict[str, list[str]], target_name: str | None = None) -> None:
        self.parents = parents
        self.target_name = target_name
        self.positions = layered_positions(parents)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> NetworkDisplay:
        """Draw a fitted classifier's network.

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
        return cls(estimator.parents_, estimator.target_name_).plot(ax=ax)

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
        if ax is None:
            ax = self._new_axes()
        for child, names in self.parents.items():
            for parent in names:
                ax.annotate(
                    "", xy=self.positions[child], xytext=self.positions[parent],
                    arrowprops={"arrowstyle": "->", "color": "0.5", "shrinkA": 14, "shrinkB": 14},
                )  # fmt: skip
        self.text_ = [self._box(ax, name) for name in self.parents]
        ax.set(xlim=(-0.05, 1.05), ylim=(-0.12, 1.12))
        ax.set_axis_off()
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _new_axes(self) -> Any:
        plt = require("matplotlib.pyplot", "NetworkDisplay", extra="plot")
        heights = [y for _, y in self.positions.values()]
        widest = max(heights.count(height) for height in heights)
        size = (max(6.0, 1.6 * widest), max(3.0, 1.3 * len(set(heights))))
        return plt.subplots(figsize=size)[1]

    def _box(self, ax: Any, name: str) -> Any:
        colour = CLASS_COLOUR if name == self.target_name else FEATURE_COLOUR
        return ax.text(
            *self.positions[name], name.replace("$", r"\$"), ha="center", va="center", fontsize=9,
            bbox={**BOX, "facecolor": colour}, zorder=3,
        )  # fmt: skip
