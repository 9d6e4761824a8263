"""Plots of inner trees and of cluster prototypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import CLASS_COLOURS, FAINT, FONT, INK, QUIET, require, set_module
from ensemblage.inner._tree import outline, tree_names
from ensemblage.inner._tree_drawing import (
    BAR,
    DOT,
    SMALL,
    PlacedNode,
    TreeNode,
    draw_tree,
)

POINTS = 72
"""Points per inch."""
MAX_VALUES = 200
"""Maximal number of prototype values that are written into a figure."""


@set_module("ensemblage.inner")
class TreeDisplay:
    """Plot of a tree as an outline: children below their parent, the "yes" child first.

    Parameters
    ----------
    nodes : sequence of TreeNode
        Nodes in reading order.
    classes : sequence of str, default=()
        Names of the classes, for the colours of the leaves' bars.
    width : float, default=560
        Width of a new figure, in points; the height follows from the nodes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the plot.
    figure_ : matplotlib Figure
        Figure of the axes.
    text_ : list of matplotlib Text
        All lines, from top to bottom.

    See Also
    --------
    ensemblage.inner.InnerTreeClassifier : Fits such trees.

    Notes
    -----
    The mark of a split is grey if the views' thresholds differ, and dark if all are equal.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from ensemblage.inner import TreeDisplay
    >>> from ensemblage.inner import InnerTreeClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> tree = InnerTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X, y)
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
        """Plot a fitted tree.

        Parameters
        ----------
        estimator : InnerTreeClassifier or InnerTreeRegressor
            Fitted estimator.
        ax : matplotlib Axes, default=None
            Axes to plot on; None for a new figure.
        width : float, default=560
            Width of a new figure, in points.

        Returns
        -------
        TreeDisplay
            The display.
        """
        check_is_fitted(estimator, "tree_")
        names = tree_names(estimator)
        return cls(outline(estimator.tree_, names), names.classes, width).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> TreeDisplay:
        """Plot the tree.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to plot on; None for a new figure.

        Returns
        -------
        TreeDisplay
            The display.
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
    for x, y, width, number in node.bars:
        colour = CLASS_COLOURS[number % len(CLASS_COLOURS)]
        ax.add_patch(patches.Rectangle((x, y), width, BAR, facecolor=colour))
    return [
        ax.text(
            x, y, text.replace("$", r"\$"), va="baseline",
            fontsize=scale * (SMALL if is_small else FONT), color=QUIET if is_small else INK,
        )
        for x, y, text, is_small in node.texts
    ]  # fmt: skip


@set_module("ensemblage.inner")
class PrototypeDisplay:
    """Heat map of cluster prototypes, clusters by features.

    Colours show standardised values, so that features of different units can be compared; the
    written values are in the units of the data.

    Parameters
    ----------
    prototypes : ndarray of shape (n_clusters, n_features)
        The prototypes, in the units of the data.
    center : ndarray of shape (n_features,)
        Value of each feature with the neutral colour, usually the mean.
    scale : ndarray of shape (n_features,)
        Unit of the colour scale of each feature, usually the standard deviation.
    sizes : ndarray of shape (n_clusters,), default=None
        Number of rows in each cluster.
    feature_names : sequence of str, default=None
        Names of the features.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the plot.
    figure_ : matplotlib Figure
        Figure of the axes.
    image_ : matplotlib AxesImage
        The heat map.
    """

    def __init__(
        self,
        prototypes: NDArray[Any],
        *,
        center: NDArray[Any],
        scale: NDArray[Any],
        sizes: NDArray[Any] | None = None,
        feature_names: Any = None,
    ) -> None:
        self.prototypes = prototypes
        self.center = center
        self.scale = scale
        self.sizes = sizes
        self.feature_names = feature_names

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, ax: Any = None, cmap: str = "RdBu_r"
    ) -> PrototypeDisplay:
        """Plot the prototypes of a fitted clusterer.

        Parameters
        ----------
        estimator : clusterer
            Fitted clusterer with ``cluster_centers_`` and ``predict``.
        X : array-like of shape (n_samples, n_features)
            Rows from which the mean and standard deviation of each feature are computed.
        ax : matplotlib Axes, default=None
            Axes to plot on; None for a new figure.
        cmap : str, default="RdBu_r"
            Name of a matplotlib colour map.

        Returns
        -------
        PrototypeDisplay
            The display.
        """
        check_is_fitted(estimator, "cluster_centers_")
        names = getattr(estimator, "feature_names_in_", None)
        labels = estimator.predict(X)
        return cls.from_predictions(
            X, labels, prototypes=estimator.cluster_centers_, feature_names=names, ax=ax, cmap=cmap
        )

    @classmethod
    def from_predictions(
        cls,
        X: Any,
        labels: Any,
        *,
        prototypes: Any = None,
        feature_names: Any = None,
        ax: Any = None,
        cmap: str = "RdBu_r",
    ) -> PrototypeDisplay:
        """Plot the prototypes of any clustering.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        labels : array-like of shape (n_samples,)
            Their clusters, from 0.
        prototypes : array-like of shape (n_clusters, n_features), default=None
            The prototypes; means of the clusters if None.
        feature_names : sequence of str, default=None
            Names of the features.
        ax : matplotlib Axes, default=None
            Axes to plot on; None for a new figure.
        cmap : str, default="RdBu_r"
            Name of a matplotlib colour map.

        Returns
        -------
        PrototypeDisplay
            The display.
        """
        rows, labels = np.asarray(X, dtype=np.float64), np.asarray(labels)
        if prototypes is None:
            prototypes = np.stack([rows[labels == k].mean(axis=0) for k in np.unique(labels)])
        sizes = np.bincount(labels[labels >= 0], minlength=len(prototypes))
        scale = rows.std(axis=0)
        display = cls(
            np.asarray(prototypes, dtype=np.float64), center=rows.mean(axis=0),
            scale=np.where(scale > 0, scale, 1.0), sizes=sizes, feature_names=feature_names,
        )  # fmt: skip
        return display.plot(ax=ax, cmap=cmap)

    def plot(self, *, ax: Any = None, cmap: str = "RdBu_r") -> PrototypeDisplay:
        """Plot the prototypes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to plot on; None for a new figure.
        cmap : str, default="RdBu_r"
            Name of a matplotlib colour map.

        Returns
        -------
        PrototypeDisplay
            The display.
        """
        plt = require("matplotlib.pyplot", "PrototypeDisplay", extra="plot")
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        steps = (self.prototypes - self.center) / self.scale
        limit = max(float(np.abs(steps).max()), 1e-12)
        self.image_ = ax.imshow(steps, cmap=cmap, vmin=-limit, vmax=limit, aspect="auto")
        n_clusters, n_features = self.prototypes.shape
        names = self.feature_names
        names = [f"x{j}" for j in range(n_features)] if names is None else list(names)
        rows = [f"cluster {k}" for k in range(n_clusters)]
        if self.sizes is not None:
            rows = [f"{name} (n={size})" for name, size in zip(rows, self.sizes, strict=True)]
        ax.set_xticks(range(n_features), names, rotation=45, ha="right")
        ax.set_yticks(range(n_clusters), rows)
        shown = self.prototypes if steps.size <= MAX_VALUES else np.empty((0, 0))
        for (k, j), value in np.ndenumerate(shown):
            color = "white" if abs(steps[k, j]) > 0.6 * limit else "black"
            ax.text(j, k, f"{value:.3g}", ha="center", va="center", color=color, fontsize=7)
        ax.figure.colorbar(self.image_, ax=ax, label="standard deviations from the mean row")
        self.ax_, self.figure_ = ax, ax.figure
        return self
