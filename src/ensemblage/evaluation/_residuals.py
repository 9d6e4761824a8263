"""Residuals of a regression, by source, and their plot."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from ensemblage._core import require, set_module
from ensemblage.evaluation._measures import interval_coverage

Doubles = NDArray[np.float64]

# Maximum number of bins, by prediction, of the rows of one source.
MAX_BINS = 8
# Minimum number of rows of a bin.
BIN_ROWS = 10
# More tick labels would overlap.
MAX_TICKS = 5
# Colours of the largest sources.
COLOURS = ("tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple", "tab:brown")
# Label of all other sources together.
OTHERS = "others"
LIGHT = "0.7"
DARK = "0.35"


class SourceResiduals(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Residuals (observed minus predicted) of one source."""

    source: Annotated[str, Meta(description="Name of the source.")]
    rows: Annotated[int, Meta(ge=1, description="Number of rows.")]
    bias: Annotated[
        float,
        Meta(description="Mean residual (observed minus predicted)."),
    ]
    rmse: Annotated[float, Meta(ge=0, description="Root mean squared error.")]
    coverage: Annotated[
        float | None,
        Meta(description="Coverage of the 90 % prediction intervals; null without intervals."),
    ] = None


class PredictedValues(NamedTuple):
    """A numeric target, its predictions and 90 % prediction intervals, and the rows' sources.

    Intervals are of shape (n_rows, 2).
    """

    y: Doubles
    predicted: Doubles
    intervals: Doubles | None = None
    sources: NDArray[Any] | None = None

    @classmethod
    def of(
        cls, y: Any, predicted: Any, intervals: Any = None, sources: Any = None
    ) -> PredictedValues:
        """Validate arrays: one finite value per row."""
        y, predicted = np.asarray(y, dtype=float), np.asarray(predicted, dtype=float)
        if predicted.shape != y.shape or y.ndim != 1:
            raise ValueError(
                f"Expected one prediction per row, got shapes {y.shape} and {predicted.shape}."
            )
        if not (np.isfinite(y).all() and np.isfinite(predicted).all()):
            raise ValueError("Target and predictions must be finite: drop the other rows.")
        names = None if sources is None else np.asarray(sources).astype(str)
        if names is not None and names.shape != y.shape:
            raise ValueError(f"Expected one source per row, got an array of shape {names.shape}.")
        ends = None if intervals is None else np.asarray(intervals, dtype=float)
        return cls(y, predicted, ends, names)

    def of_source(self, name: str) -> PredictedValues:
        """Keep the rows of one source."""
        here = self.sources == name
        ends = None if self.intervals is None else self.intervals[here]
        return PredictedValues(self.y[here], self.predicted[here], ends)

    @property
    def names(self) -> list[str]:
        """The sources, the largest first; empty if they are not given."""
        if self.sources is None:
            return []
        names, counts = np.unique(self.sources, return_counts=True)
        return [str(names[i]) for i in np.argsort(-counts, kind="stable")]


def source_residuals(rows: PredictedValues) -> tuple[SourceResiduals, ...]:
    """Summarise the residuals of each source, the largest source first."""
    found = []
    for name in rows.names:
        part = rows.of_source(name)
        residuals = part.y - part.predicted
        covered = None if part.intervals is None else interval_coverage(part.y, *part.intervals.T)
        rmse, bias = float(np.sqrt((residuals**2).mean())), float(residuals.mean())
        found.append(
            SourceResiduals(
                source=name, rows=len(residuals), bias=bias, rmse=rmse, coverage=covered
            )
        )
    return tuple(found)


def binned_means(rows: PredictedValues) -> tuple[Doubles, Doubles]:
    """Mean predictions and targets in bins of equally many rows, ordered by prediction."""
    n_bins = int(np.clip(len(rows.y) // BIN_ROWS, 1, MAX_BINS))
    parts = np.array_split(np.argsort(rows.predicted, kind="stable"), n_bins)
    means = [(rows.predicted[part].mean(), rows.y[part].mean()) for part in parts]
    predicted, actual = np.array(means).T
    return predicted, actual


@set_module("ensemblage.evaluation")
class ResidualDisplay:
    """Residual plot and calibration plot of a regression, by source.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Target.
    predicted : array-like of shape (n_rows,)
        Predictions, preferably out of fold.
    sources : array-like of shape (n_rows,), default=None
        Source of each row; the six largest have a colour each.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        The two axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    ensemblage.sources.SourceAuditDisplay : The equivalent for classification.

    Notes
    -----
    Left: residuals (observed minus predicted) against predictions; those of a good model scatter
    around zero without a pattern. Right: mean target against mean prediction, in bins of rows
    ordered by prediction, a line per source. On the diagonal predictions are unbiased; above it
    they are too low.

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
        """Predict rows with a fitted regressor, and plot.

        Parameters
        ----------
        estimator : regressor
            A fitted regressor, preferably fitted on other rows.
        X : array-like or dataframe of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Target.
        sources : array-like of shape (n_rows,), default=None
            Source of each row.
        axes : sequence of two matplotlib Axes, default=None
            Axes to plot on; a new figure if not given.

        Returns
        -------
        ResidualDisplay
            The display, plotted.
        """
        return cls(y, estimator.predict(X), sources).plot(axes=axes)

    def plot(self, *, axes: Any = None) -> ResidualDisplay:
        """Plot.

        Parameters
        ----------
        axes : sequence of two matplotlib Axes, default=None
            Axes to plot on; a new figure if not given.

        Returns
        -------
        ResidualDisplay
            The display, with ``axes_`` and ``figure_`` set.
        """
        plt = require("matplotlib.pyplot", "ResidualDisplay", extra="plot")
        rows = PredictedValues.of(self.y, self.predicted, sources=self.sources)
        if axes is None:
            axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")[1]
        draw_residuals(rows, axes[0])
        draw_source_means(rows, axes[1])
        self.axes_, self.figure_ = np.asarray(axes), axes[0].figure
        return self


def draw_residuals(rows: PredictedValues, ax: Any) -> None:
    """Plot residuals against predictions, a point per row."""
    ax.axhline(0, color=LIGHT, zorder=0)
    size = float(np.clip(3000 / len(rows.y), 4, 24))
    for name, part, colour in _parts(rows):
        residuals = part.y - part.predicted
        ax.scatter(part.predicted, residuals, s=size, color=colour, alpha=0.6, linewidths=0,
                   label=name)  # fmt: skip
    ax.set(xlabel="predicted", ylabel="observed \N{MINUS SIGN} predicted", title="Residuals")
    ax.locator_params(axis="x", nbins=MAX_TICKS)
    if rows.names:
        ax.legend(fontsize="small", frameon=False)


def draw_source_means(rows: PredictedValues, ax: Any) -> None:
    """Plot mean targets against mean predictions, a line per source."""
    ends = [float(rows.predicted.min()), float(rows.predicted.max())]
    ax.plot(ends, ends, color=LIGHT, zorder=0)
    for name, part, colour in _parts(rows):
        ax.plot(*binned_means(part), "o-", color=colour, markersize=4, linewidth=1, label=name)
    ax.set(xlabel="mean prediction", ylabel="mean target", title="Calibration")
    ax.locator_params(axis="x", nbins=MAX_TICKS)
    if rows.names:
        ax.legend(fontsize="small", frameon=False)


def _parts(rows: PredictedValues) -> list[tuple[str | None, PredictedValues, str]]:
    """Assign a colour to each of the largest sources, and one to all others."""
    if rows.sources is None:
        return [(None, rows, DARK)]
    shown = rows.names[: len(COLOURS)]
    parts: list[tuple[str | None, PredictedValues, str]] = []
    if len(rows.names) > len(shown):
        joined = np.where(np.isin(rows.sources, shown), rows.sources, "")
        parts.append((OTHERS, rows._replace(sources=joined).of_source(""), LIGHT))
    return parts + [
        (name, rows.of_source(name), colour) for name, colour in zip(shown, COLOURS, strict=False)
    ]
