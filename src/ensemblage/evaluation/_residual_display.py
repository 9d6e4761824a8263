"""Picture of predicted numbers: what they miss, and whether they are right on average."""

from __future__ import annotations

from typing import Any

import numpy as np

from ensemblage.evaluation._residuals import PredictedNumbers, binned_means
from ensemblage.messages import require

LIGHT, DARK = "0.7", "0.35"
COLOURS = ("tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple", "tab:brown")
OTHERS = "others"
MOST_TICKS = 5
"""Of large numbers, more would run into each other."""


class ResidualDisplay:
    """Two pictures of predicted numbers: residuals, and means source by source.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The numbers.
    predicted : array-like of shape (n_rows,)
        What was predicted for them, best by a model that has not seen the rows.
    sources : array-like of shape (n_rows,), default=None
        Where the rows come from; the six with most rows have a colour each.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        The two, side by side.
    figure_ : matplotlib Figure
        Their figure.

    See Also
    --------
    SourceDisplay : The like for classes.

    Notes
    -----
    Left: each row's number less its prediction, over the prediction; around zero without a shape
    is what a good model leaves. Right: the mean number over the mean prediction, in bins of rows
    ordered by prediction, a line per source. On the diagonal predictions are right on average; a
    line above it is a source whose numbers are predicted too low.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.evaluation import ResidualDisplay
    >>> y = np.arange(40.0)
    >>> display = ResidualDisplay(y, y + 1, np.repeat(["north", "south"], 20)).plot()
    >>> display.axes_.shape
    (2,)
    """

    def __init__(self, y: Any, predicted: Any, sources: Any = None) -> None:
        self.y = y
        self.predicted = predicted
        self.sources = sources

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, sources: Any = None, axes: Any = None
    ) -> ResidualDisplay:
        """Predict rows by a fitted regressor, and draw.

        Parameters
        ----------
        estimator : regressor
            Fitted, best on other rows.
        X : array-like or dataframe of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Their numbers.
        sources : array-like of shape (n_rows,), default=None
            Where they come from.
        axes : sequence of two matplotlib Axes, default=None
            Where to draw; a new figure if not given.

        Returns
        -------
        ResidualDisplay
            Drawn.
        """
        return cls(y, estimator.predict(X), sources).plot(axes=axes)

    def plot(self, *, axes: Any = None) -> ResidualDisplay:
        """Draw.

        Parameters
        ----------
        axes : sequence of two matplotlib Axes, default=None
            Where to draw; a new figure if not given.

        Returns
        -------
        ResidualDisplay
            Itself, with ``axes_`` and ``figure_`` set.
        """
        plt = require("matplotlib.pyplot", "ResidualDisplay", extra="plot")
        rows = PredictedNumbers.of(self.y, self.predicted, sources=self.sources)
        if axes is None:
            axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")[1]
        draw_residuals(rows, axes[0])
        draw_source_means(rows, axes[1])
        self.axes_, self.figure_ = np.asarray(axes), axes[0].figure
        return self


def draw_residuals(rows: PredictedNumbers, ax: Any) -> None:
    """Draw what predictions miss, a point per row."""
    ax.axhline(0, color=LIGHT, zorder=0)
    size = float(np.clip(3000 / len(rows.y), 4, 24))
    for name, part, colour in _parts(rows):
        missed = part.y - part.predicted
        ax.scatter(part.predicted, missed, s=size, color=colour, alpha=0.6, linewidths=0,
                   label=name)  # fmt: skip
    ax.set(xlabel="predicted", ylabel="number less prediction", title="Residuals")
    ax.locator_params(axis="x", nbins=MOST_TICKS)
    if rows.names:
        ax.legend(fontsize="small", frameon=False)


def draw_source_means(rows: PredictedNumbers, ax: Any) -> None:
    """Draw mean numbers over mean predictions, a line per source."""
    ends = [float(rows.predicted.min()), float(rows.predicted.max())]
    ax.plot(ends, ends, color=LIGHT, zorder=0)
    for name, part, colour in _parts(rows):
        ax.plot(*binned_means(part), "o-", color=colour, markersize=4, linewidth=1, label=name)
    ax.set(xlabel="mean prediction", ylabel="mean number", title="Calibration")
    ax.locator_params(axis="x", nbins=MOST_TICKS)
    if rows.names:
        ax.legend(fontsize="small", frameon=False)


def _parts(rows: PredictedNumbers) -> list[tuple[str | None, PredictedNumbers, str]]:
    """Give each of the largest sources a colour; the others have one together."""
    if rows.sources is None:
        return [(None, rows, DARK)]
    shown = rows.names[: len(COLOURS)]
    parts: list[tuple[str | None, PredictedNumbers, str]] = []
    if len(rows.names) > len(shown):
        joined = np.where(np.isin(rows.sources, shown), rows.sources, "")
        parts.append((OTHERS, rows._replace(sources=joined).of_source(""), LIGHT))
    return parts + [
        (name, rows.of_source(name), colour) for name, colour in zip(shown, COLOURS, strict=False)
    ]
