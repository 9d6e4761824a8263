"""Residuals of a regression, by source, and their display."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from ensemblage._core import require, set_module
from ensemblage.evaluation._measures import interval_coverage

Doubles = NDArray[np.float64]

# Rows of one source are put into so many bins at most, by their prediction, of so many rows each.
MAX_BINS = 8
BIN_ROWS = 10
# More ticks of many digits would run into each other.
MAX_TICKS = 5
# Sources with a colour of their own; the rest has one together, and this name.
COLOURS = ("tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple", "tab:brown")
OTHERS = "others"
LIGHT = "0.7"
DARK = "0.35"


class SourceResiduals(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What predictions miss in the rows of one source; with a bias above zero they are too low."""

    source: Annotated[str, Meta(description="Its name.")]
    rows: Annotated[int, Meta(ge=1, description="How many.")]
    bias: Annotated[
        float,
        Meta(description="Mean of the target less that of the predictions."),
    ]
    rmse: Annotated[float, Meta(ge=0, description="Root mean squared error.")]
    coverage: Annotated[
        float | None,
        Meta(description="Share of rows inside their intervals of 90 %; null without any."),
    ] = None


class PredictedValues(NamedTuple):
    """Values of a numeric target, their predictions, intervals of 90 %, and the rows' sources.

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
        """Take arrays, which must have one finite value per row."""
        y, predicted = np.asarray(y, dtype=float), np.asarray(predicted, dtype=float)
        if predicted.shape != y.shape or y.ndim != 1:
            raise ValueError(
                f"One prediction per row is needed, got shapes {y.shape} and {predicted.shape}."
            )
        if not (np.isfinite(y).all() and np.isfinite(predicted).all()):
            raise ValueError("Target and predictions must be finite: leave the others out.")
        names = None if sources is None else np.asarray(sources).astype(str)
        if names is not None and names.shape != y.shape:
            raise ValueError(f"One source per row is needed, got an array of shape {names.shape}.")
        ends = None if intervals is None else np.asarray(intervals, dtype=float)
        return cls(y, predicted, ends, names)

    def of_source(self, name: str) -> PredictedValues:
        """Keep the rows of one source."""
        here = self.sources == name
        ends = None if self.intervals is None else self.intervals[here]
        return PredictedValues(self.y[here], self.predicted[here], ends)

    @property
    def names(self) -> list[str]:
        """The sources, those with most rows first; none if they are not known."""
        if self.sources is None:
            return []
        names, counts = np.unique(self.sources, return_counts=True)
        return [str(names[i]) for i in np.argsort(-counts, kind="stable")]


def source_residuals(rows: PredictedValues) -> tuple[SourceResiduals, ...]:
    """Summarise the rows of each source, those with most rows first."""
    found = []
    for name in rows.names:
        part = rows.of_source(name)
        missed = part.y - part.predicted
        covered = None if part.intervals is None else interval_coverage(part.y, *part.intervals.T)
        rmse, bias = float(np.sqrt((missed**2).mean())), float(missed.mean())
        found.append(
            SourceResiduals(source=name, rows=len(missed), bias=bias, rmse=rmse, coverage=covered)
        )
    return tuple(found)


def binned_means(rows: PredictedValues) -> tuple[Doubles, Doubles]:
    """Average predictions and target in bins of equally many rows, ordered by prediction."""
    n_bins = int(np.clip(len(rows.y) // BIN_ROWS, 1, MAX_BINS))
    parts = np.array_split(np.argsort(rows.predicted, kind="stable"), n_bins)
    means = [(rows.predicted[part].mean(), rows.y[part].mean()) for part in parts]
    predicted, actual = np.array(means).T
    return predicted, actual


@set_module("ensemblage.evaluation")
class ResidualDisplay:
    """Two pictures of a regression: residuals, and calibration source by source.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The target.
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
    SourceAuditDisplay : The like for classes.

    Notes
    -----
    Left: the residuals over the predictions; around zero without a shape is what a good model
    leaves. Right: the mean target over the mean prediction, in bins of rows
    ordered by prediction, a line per source. On the diagonal predictions are right on average; a
    line above it is a source whose target is predicted too low.

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
            Their target.
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
        rows = PredictedValues.of(self.y, self.predicted, sources=self.sources)
        if axes is None:
            axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")[1]
        draw_residuals(rows, axes[0])
        draw_source_means(rows, axes[1])
        self.axes_, self.figure_ = np.asarray(axes), axes[0].figure
        return self


def draw_residuals(rows: PredictedValues, ax: Any) -> None:
    """Draw what predictions miss, a point per row."""
    ax.axhline(0, color=LIGHT, zorder=0)
    size = float(np.clip(3000 / len(rows.y), 4, 24))
    for name, part, colour in _parts(rows):
        missed = part.y - part.predicted
        ax.scatter(part.predicted, missed, s=size, color=colour, alpha=0.6, linewidths=0,
                   label=name)  # fmt: skip
    ax.set(xlabel="predicted", ylabel="residual", title="Residuals")
    ax.locator_params(axis="x", nbins=MAX_TICKS)
    if rows.names:
        ax.legend(fontsize="small", frameon=False)


def draw_source_means(rows: PredictedValues, ax: Any) -> None:
    """Draw mean targets over mean predictions, a line per source."""
    ends = [float(rows.predicted.min()), float(rows.predicted.max())]
    ax.plot(ends, ends, color=LIGHT, zorder=0)
    for name, part, colour in _parts(rows):
        ax.plot(*binned_means(part), "o-", color=colour, markersize=4, linewidth=1, label=name)
    ax.set(xlabel="mean prediction", ylabel="mean target", title="Calibration")
    ax.locator_params(axis="x", nbins=MAX_TICKS)
    if rows.names:
        ax.legend(fontsize="small", frameon=False)


def _parts(rows: PredictedValues) -> list[tuple[str | None, PredictedValues, str]]:
    """Give each of the largest sources a colour; the others have one together."""
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
