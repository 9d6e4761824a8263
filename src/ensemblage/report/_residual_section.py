"""What predicted numbers miss, as a section of a page."""

from __future__ import annotations

from functools import partial

import numpy as np

from ensemblage.evaluation import PredictedNumbers, draw_residuals, draw_source_means
from ensemblage.messages import MEASURES, count
from ensemblage.methods import Residuals
from ensemblage.pages import (
    Block,
    Column,
    Field,
    FigureBlock,
    Section,
    TableBlock,
    count_field,
    number_field,
    signed_field,
)

LEGEND = (
    "Bias is the mean of the numbers less that of the predictions: above zero, predictions are "
    "too low there."
)
COVERED = " Covered is the share of the numbers in intervals of 90 %."


def residual_section(found: Residuals | None) -> list[Section]:
    """Draw residuals and calibration, and list the sources; nothing where classes are predicted."""
    if found is None:
        return []
    rows = PredictedNumbers(
        np.array(found.numbers), np.array(found.predicted),
        None if found.intervals is None else np.array(found.intervals),
        None if found.row_sources is None else np.array(found.row_sources),
    )  # fmt: skip
    blocks: list[Block] = [_figure(found, rows), _means(found, rows)]
    if found.sources:
        blocks.append(_sources(found))
    return [Section("Residuals", blocks)]


def _figure(found: Residuals, rows: PredictedNumbers) -> FigureBlock:
    missed = rows.y - rows.predicted
    ends = np.quantile(missed, [0.05, 0.95]).tolist()
    low, high = (MEASURES["rmse"].written(each) for each in ends)
    return FigureBlock(
        partial(draw_residuals, rows), 3.1, 3.1,
        f"Residuals of {found.label} over its predictions; nine in ten lie between {low} and "
        f"{high}.",
        f"What {found.label} misses on {count(len(missed), 'row')} that it was not fitted on: the "
        "number less its prediction. Around zero without a shape is what a good model leaves.",
    )  # fmt: skip


def _means(found: Residuals, rows: PredictedNumbers) -> FigureBlock:
    each = "one line per source" if found.sources else "one line for all"
    return FigureBlock(
        partial(draw_source_means, rows), 3.1, 3.1,
        f"Mean numbers over mean predictions of {found.label}, {each}.",
        "The mean number over the mean prediction, in bins of rows ordered by prediction"
        f"{', a line per source' if found.sources else ''}. On the diagonal predictions are right "
        "on average; above it they are too low.",
    )  # fmt: skip


def _sources(found: Residuals) -> TableBlock:
    largest = max(each.rmse for each in found.sources)
    places = MEASURES["rmse"].places(largest)
    columns = [
        Column("source"), Column("rows", numeric=True), Column("bias", numeric=True),
        Column("RMSE", numeric=True),
        *([] if found.intervals is None else [Column("covered", numeric=True)]),
    ]  # fmt: skip
    fields = [
        [
            Field(each.source), count_field(each.rows), signed_field(each.bias, places),
            number_field(each.rmse, places),
            *([] if found.intervals is None else [number_field(each.coverage, 3)]),
        ]
        for each in found.sources
    ]  # fmt: skip
    legend = LEGEND + (COVERED if found.intervals is not None else "")
    return TableBlock(columns, fields, "What is missed, source by source", legend)
