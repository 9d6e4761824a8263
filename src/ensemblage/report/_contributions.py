"""Contributions of columns to one prediction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, TypeAlias

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from ensemblage._core import Field, Heading, TableBlock, count, signed_field
from ensemblage.evaluation import MEASURES
from ensemblage.report._blocks import Bar, BarsBlock, Block, Section

# Coefficients (n_classes, n_features) and intercepts (n_classes,); one class for a regression.
LinearPart: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]
Doubles: TypeAlias = NDArray[np.float64]
Share = Annotated[float, Meta(ge=0, le=1)]

MAX_COLUMNS = 10
"""Columns that are listed, the largest contributions first; the document has all."""
MAX_CLASSES = 6
"""Classes that are listed, the most probable ones."""
TARGET = "the target"
"""What the prediction of a regression is called."""
DAY = 86_400
"""Seconds."""


class Contribution(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contribution of one column to the decision value."""

    column: str
    value: Annotated[str, Meta(description="The row's value of the column.")]
    contribution: float
    standard_error: Annotated[
        float | None, Meta(description="Of the sampled orders of columns; null where exact.")
    ] = None


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decision value as a sum: ``baseline`` and all contributions add up to ``value``."""

    label: Annotated[str, Meta(description="The class it is the value of: the predicted one.")]
    measure: Annotated[
        str, Meta(description="The scale of the value, and how the contributions are computed.")
    ]
    baseline: Annotated[float, Meta(description="The value before any column contributes.")]
    contributions: Annotated[list[Contribution], Meta(description="Largest first.")]
    value: float
    explained_weight: Annotated[
        Share, Meta(description="Share of the members' weight that it explains.")
    ] = 1.0


class MemberPrediction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The prediction of one member of an ensemble for the row."""

    member: Annotated[str, Meta(description="Its name; of strata, their number or source.")]
    scores: Annotated[
        list[float],
        Meta(description="Of each class; for regression, mean and standard deviation."),
    ]
    weight: Annotated[float | None, Meta(description="Its share in this prediction.")]
    contribution: Annotated[
        float | None,
        Meta(description="What it adds to the log-odds against the next class, or to the mean."),
    ] = None
    name: Annotated[str | None, Meta(description="Of strata, a description of the stratum.")] = None
    membership: Annotated[
        float | None, Meta(description="Membership of the row in its stratum.")
    ] = None
    reasons: Annotated[
        list[str], Meta(description="Columns in which the row is similar to its stratum.")
    ] = []


class RowExplanation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model's prediction for one row."""

    row: Annotated[int, Meta(ge=0, description="The row, from 0.")]
    prediction: Annotated[str, Meta(description="The predicted class or value.")]
    classes: Annotated[list[str], Meta(description="The model's classes; none for regression.")]
    scores: Annotated[
        list[float],
        Meta(
            description="Of each class; for regression the prediction and, where the model has "
            "one, its standard deviation."
        ),
    ]
    decision: Annotated[
        Decision | None,
        Meta(description="Contributions of the columns; null where there are none."),
    ] = None
    member_predictions: Annotated[
        list[MemberPrediction], Meta(description="Of an ensemble's members.")
    ] = []
    source: Annotated[
        str | None, Meta(description="The row's source, if source-aware members predicted it.")
    ] = None


def class_contrast(values: Doubles, label: int | None) -> Doubles:
    """Contrast a class with the other one, or with the mean of all; classes on the first axis.

    Without a class, of a regression, there is nothing to contrast with.
    """
    if label is None:
        return np.asarray(values[0])
    if len(values) == 2:
        return np.asarray(values[label] - values[1 - label])
    return np.asarray(values[label] - values.mean(axis=0))


def weighted_sum(
    parts: Sequence[LinearPart], weights: Doubles, label: int | None
) -> tuple[Doubles, float]:
    """Average members into one linear function: coefficients (n_features,) and intercept."""
    pairs = list(zip(weights, parts, strict=True))
    coef = sum(weight * class_contrast(part[0], label) for weight, part in pairs)
    intercept = sum(weight * class_contrast(part[1], label) for weight, part in pairs)
    return np.asarray(coef, dtype=float), float(intercept)


def weighted_measure(members: str, n_classes: int | None, fusion: Any) -> str:
    """Describe the scale of ``weighted_sum``, with the mean of the training rows as reference."""
    what = f"predictions of the {members}"
    if n_classes is not None:
        against = "" if n_classes == 2 else " against the mean of the classes"
        what = f"log-odds{against} of the {members}"
    # a gate's weights depend on the row too, which no sum over columns includes
    gated = "; effects of columns on these weights are not included" if fusion.needs else ""
    return (
        f"{what}, with their weights in this prediction; each column is compared with the mean of "
        f"the training rows{gated}"
    )


def by_column(amounts: Doubles, origins: Sequence[int], n_columns: int) -> Doubles:
    """Sum contributions of the features that were made of one column."""
    return np.bincount(origins, amounts, minlength=n_columns).astype(float)


def value_text(value: Any, kind: str = "") -> str:
    """Write a field of a row as its file would."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "missing"
    if kind == "date" and isinstance(value, float):
        return datetime.fromtimestamp(value * DAY, UTC).date().isoformat()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def likely_classes(scores: Sequence[float]) -> list[int]:
    """Positions of the classes to show: all if they are few, else the most probable."""
    best = sorted(range(len(scores)), key=lambda k: -scores[k])
    return sorted(best[:MAX_CLASSES])


def prediction_text(row: RowExplanation) -> str:
    """State the prediction with the scores of the classes, those of the least probable summed."""
    text = f"Row {row.row}: predicted {row.prediction}"
    if not row.classes:
        return text
    shown = likely_classes(row.scores)
    scores = [f"{row.classes[k]} {row.scores[k]:.3f}" for k in shown]
    rest = len(row.classes) - len(shown)
    if rest:
        scores.append(f"{rest} others {sum(row.scores) - sum(row.scores[k] for k in shown):.3f}")
    return f"{text} ({', '.join(scores)})"


def row_section(row: RowExplanation) -> Section:
    """Show a prediction and its contributions."""
    blocks: list[Block] = [f"{prediction_text(row)}."]
    if row.decision is not None:
        blocks.append(contribution_bars(row.decision))
    return Section(f"Row {row.row}", blocks)


def contribution_bars(decision: Decision) -> BarsBlock:
    """Draw the baseline, the largest contributions, the others together, and the total."""
    places = 3
    if decision.label == TARGET:
        largest = max(abs(decision.value), abs(decision.baseline))
        places = MEASURES["rmse"].places(largest)
    least = 0.5 / 10**places  # less would be written as zero
    visible = [each for each in decision.contributions if abs(each.contribution) >= least]
    shown = visible[:MAX_COLUMNS]
    steps = [Contribution("baseline", "", decision.baseline), *shown]
    if len(visible) > len(shown):
        rest = decision.value - sum(each.contribution for each in steps)
        steps.append(Contribution(count(len(visible) - len(shown), "other column"), "", rest))
    steps.append(Contribution("total", "", decision.value))
    legend = f"Scale: {decision.measure}"
    if decision.explained_weight < 0.9995:
        legend += f"; the linear members have {decision.explained_weight:.0%} of the weight"
    bars, rows = [], []
    for each in steps:
        amount = signed_field(each.contribution, places)
        label = f"{each.column} = {each.value}" if each.value else each.column
        bars.append(Bar(label, each.contribution, amount.text, strong=bool(each.value)))
        name = each.column if each.value else f"({each.column})"
        rows.append([Field(name), Field(each.value), amount])
    heads = [Heading("column"), Heading("value"), Heading("contribution", numeric=True)]
    title = f"Contributions to the prediction of {decision.label}"
    return BarsBlock(
        bars,
        f"{title}: positive values increase it, negative values decrease it. {legend}.",
        signed=True,
        table=TableBlock(heads, rows, title, f"{legend}."),
    )
