"""Stability against the number of clusters, drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from ensemblage._core import require, set_module
from ensemblage.consensus._stability import StabilityCurve

KINDS = ("stability", "cdf", "delta-area")


@set_module("ensemblage.consensus")
class ClusterStabilityDisplay:
    """A stability curve as people know it from consensus clustering.

    Parameters
    ----------
    curve : StabilityCurve
        What :func:`ensemblage.consensus.stability_curve` gives.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the picture.
    figure_ : matplotlib Figure
        Figure that holds it.
    lines_ : list of matplotlib Line2D
        The curves drawn.

    See Also
    --------
    ensemblage.consensus.stability_curve : Clusters samples of the rows.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ensemblage.consensus import stability_curve
    >>> from ensemblage.consensus import ClusterStabilityDisplay
    >>> X, _ = make_blobs(120, centers=4, cluster_std=0.5, random_state=2)
    >>> curve = stability_curve(X, range(2, 8), random_state=0)
    >>> display = ClusterStabilityDisplay.from_curve(curve, kind="cdf")
    >>> len(display.lines_)
    6
    """

    def __init__(self, curve: StabilityCurve) -> None:
        self.curve = curve

    @classmethod
    def from_curve(
        cls, curve: StabilityCurve, *, kind: str = "stability", ax: Any = None
    ) -> ClusterStabilityDisplay:
        """Draw a stability curve.

        Parameters
        ----------
        curve : StabilityCurve
            What :func:`ensemblage.consensus.stability_curve` gives.
        kind : {"stability", "cdf", "delta-area"}, default="stability"
            What to draw, see :meth:`plot`.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        ClusterStabilityDisplay
            With the picture drawn.
        """
        return cls(curve).plot(kind=kind, ax=ax)

    def plot(self, *, kind: str = "stability", ax: Any = None) -> ClusterStabilityDisplay:
        """Draw.

        Parameters
        ----------
        kind : {"stability", "cdf", "delta-area"}, default="stability"
            ``"stability"``: the share of ambiguous pairs of rows in the data and in references
            without clusters. ``"cdf"``: for each number of clusters, the distribution of the
            consensus of pairs; flat in the middle where clusterings agree. ``"delta-area"``: by
            how much the area under that distribution grows from each number to the next.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        ClusterStabilityDisplay
            Itself.
        """
        if kind not in KINDS:
            raise ValueError(f"kind={kind!r} is not one of: {', '.join(KINDS)}.")
        plt = require("matplotlib.pyplot", "ClusterStabilityDisplay", extra="plot")
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        draw = {"stability": self._draw_stability, "cdf": self._draw_cdf}
        self.lines_ = draw.get(kind, self._draw_delta_area)(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_stability(self, ax: Any) -> list[Any]:
        curve = self.curve
        numbers, references = curve.n_clusters, curve.references
        ax.fill_between(numbers, references.min(axis=0), references.max(axis=0), alpha=0.25,
                        color="gray", linewidth=0)  # fmt: skip
        without = ax.plot(numbers, references.mean(axis=0), "--", color="gray",
                          label="data without clusters")  # fmt: skip
        data = ax.plot(numbers, curve.ambiguity, "o-", label="data")
        if curve.best_n_clusters > 1:
            ax.axvline(curve.best_n_clusters, color="black", linewidth=0.8, linestyle=":")
        _name_numbers(ax, numbers)
        ax.set_ylabel("share of ambiguous pairs of rows")
        ax.set_ylim(bottom=0)
        ax.legend()
        return [*data, *without]

    def _draw_cdf(self, ax: Any) -> list[Any]:
        curve = self.curve
        grid = np.linspace(0, 1, curve.cdf.shape[1])
        shades = np.linspace(0.15, 0.9, len(curve.n_clusters))
        colors = require("matplotlib", "ClusterStabilityDisplay", extra="plot").colormaps["viridis"]
        lines = [
            ax.plot(grid, each, color=colors(shade), label=str(number))[0]
            for each, shade, number in zip(curve.cdf, shades, curve.n_clusters, strict=True)
        ]
        ax.set_xlabel("consensus of a pair of rows")
        ax.set_ylabel("share of the pairs at most so high")
        ax.legend(title="clusters", fontsize="small")
        return lines

    def _draw_delta_area(self, ax: Any) -> list[Any]:
        lines: list[Any] = ax.plot(self.curve.n_clusters, self.curve.delta_area, "o-")
        _name_numbers(ax, self.curve.n_clusters)
        ax.set_ylabel("relative change of the area under the distribution")
        return lines


def _name_numbers(ax: Any, numbers: Any) -> None:
    ax.set_xticks(numbers)
    ax.set_xlabel("number of clusters")
