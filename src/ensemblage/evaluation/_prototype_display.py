"""Prototypes drawn: what the clusters are like, feature by feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ensemblage.messages import require


class PrototypeDisplay:
    """Cluster prototypes as a table of colours, clusters by features.

    Each feature is shown in standard deviations over the prototypes' data scale, so that
    features of different units can be compared; the numbers written in it are in the units
    of the data.

    Parameters
    ----------
    prototypes : ndarray of shape (n_clusters, n_features)
        The prototypes, in the units of the data.
    center : ndarray of shape (n_features,)
        What counts as neither high nor low.
    scale : ndarray of shape (n_features,)
        What counts as one step up.
    sizes : ndarray of shape (n_clusters,), default=None
        Rows of each cluster.
    feature_names : sequence of str, default=None
        Names of the features.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the picture.
    figure_ : matplotlib Figure
        Figure that holds it.
    image_ : matplotlib AxesImage
        The colours.
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
        """Draw the prototypes of a fitted clusterer.

        Parameters
        ----------
        estimator : clusterer
            Fitted, with ``cluster_centers_`` and ``predict``.
        X : array-like of shape (n_samples, n_features)
            Rows that tell how each feature varies.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.
        cmap : str, default="RdBu_r"
            Name of matplotlib's colour map.

        Returns
        -------
        PrototypeDisplay
            With the picture drawn.
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
        """Draw the prototypes of any clustering.

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
            Where to draw; a new figure if None.
        cmap : str, default="RdBu_r"
            Name of matplotlib's colour map.

        Returns
        -------
        PrototypeDisplay
            With the picture drawn.
        """
        rows, labels = np.asarray(X, dtype=np.float64), np.asarray(labels)
        if prototypes is None:
            prototypes = np.stack([rows[labels == k].mean(axis=0) for k in np.unique(labels)])
        sizes = np.bincount(labels[labels >= 0], minlength=len(prototypes))
        spread = rows.std(axis=0)
        display = cls(
            np.asarray(prototypes, dtype=np.float64), center=rows.mean(axis=0),
            scale=np.where(spread > 0, spread, 1.0), sizes=sizes, feature_names=feature_names,
        )  # fmt: skip
        return display.plot(ax=ax, cmap=cmap)

    def plot(self, *, ax: Any = None, cmap: str = "RdBu_r") -> PrototypeDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.
        cmap : str, default="RdBu_r"
            Name of matplotlib's colour map.

        Returns
        -------
        PrototypeDisplay
            Itself.
        """
        plt = require("matplotlib.pyplot", "PrototypeDisplay", extra="plot")
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        steps = (self.prototypes - self.center) / self.scale
        limit = max(float(np.abs(steps).max()), 1e-12)
        self.image_ = ax.imshow(steps, cmap=cmap, vmin=-limit, vmax=limit, aspect="auto")
        self._name_axes(ax)
        self._write_values(ax, steps, limit)
        ax.figure.colorbar(self.image_, ax=ax, label="standard deviations from the mean row")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _name_axes(self, ax: Any) -> None:
        n_clusters, n_features = self.prototypes.shape
        names = self.feature_names
        names = [f"x{j}" for j in range(n_features)] if names is None else list(names)
        rows = [f"cluster {k}" for k in range(n_clusters)]
        if self.sizes is not None:
            rows = [f"{name} (n={size})" for name, size in zip(rows, self.sizes, strict=True)]
        ax.set_xticks(range(n_features), names, rotation=45, ha="right")
        ax.set_yticks(range(n_clusters), rows)

    def _write_values(self, ax: Any, steps: NDArray[Any], limit: float) -> None:
        if steps.size > 200:
            return  # more numbers than this cannot be read
        for (k, j), value in np.ndenumerate(self.prototypes):
            color = "white" if abs(steps[k, j]) > 0.6 * limit else "black"
            ax.text(j, k, f"{value:.3g}", ha="center", va="center", color=color, fontsize=7)
