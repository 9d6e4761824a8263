"""What predicted numbers miss, source by source."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from ensemblage.evaluation._number_measures import interval_coverage

Floats = NDArray[np.float64]

MOST_BINS = 8
"""Rows of one source are put into so many bins at most, by what is predicted."""
BIN_ROWS = 10


class SourceResiduals(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What predictions miss in the rows of one source.

    Parameters
    ----------
    source : str
        Its name.
    rows : int
        How many.
    bias : float
        Mean of the numbers less that of the predictions: above zero, these are too low.
    rmse : float
        Root mean squared error.
    coverage : float or None
        Share of the numbers in intervals of 90 %; None where none are given.
    """

    source: Annotated[str, Meta(description="Its name.")]
    rows: Annotated[int, Meta(ge=1, description="How many.")]
    bias: Annotated[
        float,
        Meta(description="Mean of the numbers less that of the predictions."),
    ]
    rmse: Annotated[float, Meta(ge=0, description="Root mean squared error.")]
    coverage: Annotated[
        float | None,
        Meta(description="Share of the numbers in intervals of 90 %; null without any."),
    ] = None


class PredictedNumbers(NamedTuple):
    """Numbers, what was predicted for them, intervals of 90 %, and where the rows come from.

    Intervals are of shape (n_rows, 2).
    """

    y: Floats
    predicted: Floats
    intervals: Floats | None = None
    sources: NDArray[Any] | None = None

    @classmethod
    def of(
        cls, y: Any, predicted: Any, intervals: Any = None, sources: Any = None
    ) -> PredictedNumbers:
        """Take arrays, which must have one finite value per row."""
        numbers, said = np.asarray(y, dtype=float), np.asarray(predicted, dtype=float)
        if said.shape != numbers.shape or numbers.ndim != 1:
            raise ValueError(
                f"One prediction per number is needed, got shapes {numbers.shape} and {said.shape}."
            )
        if not (np.isfinite(numbers).all() and np.isfinite(said).all()):
            raise ValueError("Numbers and predictions must be finite: leave the others out.")
        names = None if sources is None else np.asarray(sources).astype(str)
        if names is not None and names.shape != numbers.shape:
            raise ValueError(f"One source per row is needed, got an array of shape {names.shape}.")
        ends = None if intervals is None else np.asarray(intervals, dtype=float)
        return cls(numbers, said, ends, names)

    def of_source(self, name: str) -> PredictedNumbers:
        """Keep the rows of one source."""
        here = self.sources == name
        ends = None if self.intervals is None else self.intervals[here]
        return PredictedNumbers(self.y[here], self.predicted[here], ends)

    @property
    def names(self) -> list[str]:
        """The sources, those with most rows first; none if they are not known."""
        if self.sources is None:
            return []
        names, counts = np.unique(self.sources, return_counts=True)
        return [str(names[i]) for i in np.argsort(-counts, kind="stable")]


def residuals_of(rows: PredictedNumbers, source: str) -> SourceResiduals:
    """Summarise what predictions miss in some rows."""
    missed = rows.y - rows.predicted
    covered = None if rows.intervals is None else interval_coverage(rows.y, *rows.intervals.T)
    return SourceResiduals(
        source=source, rows=len(missed), bias=float(missed.mean()),
        rmse=float(np.sqrt((missed**2).mean())), coverage=covered,
    )  # fmt: skip


def source_residuals(rows: PredictedNumbers) -> tuple[SourceResiduals, ...]:
    """Summarise the rows of each source, those with most rows first."""
    return tuple(residuals_of(rows.of_source(name), name) for name in rows.names)


def binned_means(rows: PredictedNumbers) -> tuple[Floats, Floats]:
    """Average predictions and numbers in bins of equally many rows, ordered by prediction."""
    n_bins = int(np.clip(len(rows.y) // BIN_ROWS, 1, MOST_BINS))
    parts = np.array_split(np.argsort(rows.predicted, kind="stable"), n_bins)
    means = [(rows.predicted[part].mean(), rows.y[part].mean()) for part in parts]
    predicted, actual = np.array(means).T
    return predicted, actual
