"""Contributions of columns to one prediction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from ensemblage._core import Field, Heading, TableBlock, count, signed_field
from ensemblage.evaluation import MEASURES
from ensemblage.report._blocks import Bar, BarsBlock, Block, Section, TextBlock

Doubles = NDArray[np.float64]


MOST_SHOWN = 10
"""So many columns are listed, those that moved most first; the document has all."""
MOST_CLASSES = 6
"""Of more, only the most probable are told."""
NUMBER = "the number"
"""What a model speaks for that gives no classes."""
DAY = 86_400


class Contribution(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one column did."""

    column: str
    value: Annotated[str, Meta(description="What the row holds there.")]
    amount: Annotated[float, Meta(description="What it adds to the decision value.")]


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decision value as a sum: ``base`` and all amounts add up to ``value``."""

    label: Annotated[str, Meta(description="The class that it speaks for: the predicted one.")]
    measure: Annotated[str, Meta(description="What the value is, in words.")]
    base: Annotated[float, Meta(description="The value before any column is looked at.")]
    contributions: Annotated[list[Contribution], Meta(description="Largest first.")]
    value: float
    share: Annotated[
        float, Meta(ge=0, le=1, description="Share of the members' weight that it accounts for.")
    ] = 1.0


class RowDecision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model's decision about one row."""

    row: Annotated[int, Meta(ge=0, description="The row, from 0.")]
    prediction: Annotated[str, Meta(description="Its predicted class, or number.")]
    classes: Annotated[list[str], Meta(description="The model's classes; none for numbers.")]
    scores: Annotated[list[float], Meta(description="The score of each class.")]
    decision: Annotated[
        Decision | None, Meta(description="What moved it; null where that cannot be told exactly.")
    ]


class LinearPart(NamedTuple):
    """A member's decision values, linear in features: ``coef`` (n_classes, n_features)."""

    coef: Doubles
    intercept: Doubles


def against_others(values: Doubles, label: int | None) -> Doubles:
    """Contrast a class with the other one, or with the mean of all; classes on the first axis.

    Without a class there is one number, and nothing to contrast it with.
    """
    if label is None:
        return np.asarray(values[0])
    if len(values) == 2:
        return np.asarray(values[label] - values[1 - label])
    return np.asarray(values[label] - values.mean(axis=0))


def add_up(
    parts: Sequence[LinearPart], weights: Doubles, label: int | None
) -> tuple[Doubles, float]:
    """Weigh members into one linear function for a class or number: coefficients, intercept."""
    coef = sum(w * against_others(part.coef, label) for w, part in zip(weights, parts, strict=True))
    level = sum(
        w * against_others(part.intercept, label) for w, part in zip(weights, parts, strict=True)
    )
    return np.asarray(coef, dtype=float), float(level)


def weighted_odds(members: str, n_classes: int, fusion: Any) -> str:
    """Say in words what ``add_up`` of some members gives, from the mean of the training rows."""
    against = "" if n_classes == 2 else " against the mean of the classes"
    return _weighted(f"log odds{against} of the {members}", fusion)


def weighted_numbers(members: str, fusion: Any) -> str:
    """Say the same of numbers."""
    return _weighted(f"predictions of the {members}", fusion)


def _weighted(what: str, fusion: Any) -> str:
    # a gate looks at the row too, which no sum over columns tells
    gated = "; how columns move these shares is not counted" if fusion.needs else ""
    return (
        f"{what}, weighted by their shares in this decision; each column against the mean of the "
        f"training rows{gated}"
    )


def by_column(amounts: Doubles, origins: Sequence[int], n_columns: int) -> Doubles:
    """Add up what the features that were made of one column did."""
    return np.bincount(origins, amounts, minlength=n_columns).astype(float)


def contributions_of(
    columns: Sequence[str], values: Sequence[Any], amounts: Doubles, kinds: Sequence[str] = ()
) -> list[Contribution]:
    """List all columns, those that moved most first."""
    order = np.argsort(-np.abs(amounts), kind="stable")
    return [
        Contribution(
            columns[j], value_text(values[j], kinds[j] if kinds else ""), float(amounts[j])
        )
        for j in order
    ]


def value_text(value: Any, kind: str = "") -> str:
    """Write a field of a row as its file would."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "missing"
    if kind == "date" and isinstance(value, float):
        return datetime.fromtimestamp(value * DAY, UTC).date().isoformat()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def check_row(X: Any, row: int) -> None:
    """Refuse a row that is not there."""
    if X is None:
        raise ValueError(f"`row` = {row} is a row of the data: give `X`.")
    if not 0 <= row < len(X):
        raise ValueError(f"There is no row {row}: the data have rows 0 to {len(X) - 1}.")


def leading(scores: Sequence[float]) -> list[int]:
    """Give the classes to show, by position: all if they are few, else the most probable."""
    best = sorted(range(len(scores)), key=lambda k: -scores[k])
    return sorted(best[:MOST_CLASSES])


def scores_text(story: RowDecision) -> str:
    """Write the scores of the classes, those of the least probable together."""
    shown = leading(story.scores)
    told = [f"{story.classes[k]} {story.scores[k]:.3f}" for k in shown]
    rest = len(story.classes) - len(shown)
    if rest:
        told.append(f"{rest} others {sum(story.scores) - sum(story.scores[k] for k in shown):.3f}")
    return ", ".join(told)


def predicted(story: RowDecision) -> str:
    """Say what was predicted, with the scores."""
    said = f"Row {story.row}: predicted {story.prediction}"
    return f"{said} ({scores_text(story)})" if story.scores else said


def row_text(story: RowDecision) -> list[str | TableBlock]:
    """Tell a decision for a terminal."""
    if story.decision is None:
        return [predicted(story)]
    table = decision_table(story.decision)
    return [predicted(story), table, table.legend]


def row_section(story: RowDecision) -> Section:
    """Tell a decision for a page."""
    blocks: list[Block] = [TextBlock([f"{predicted(story)}."])]
    if story.decision is not None:
        blocks.append(decision_bars(story.decision))
    return Section(f"Row {story.row}", blocks)


def decision_table(decision: Decision) -> TableBlock:
    """List the columns that moved a decision, between its base and its value."""
    steps = _steps(decision)
    names = [each.column if each.value else f"({each.column})" for each in steps]
    rows = [
        [Field(name), Field(each.value), signed_field(each.amount, _places(decision))]
        for name, each in zip(names, steps, strict=True)
    ]
    columns = [Heading("column"), Heading("value"), Heading(f"for {decision.label}", numeric=True)]
    return TableBlock(columns, rows, "Which columns moved the decision", _legend(decision))


def decision_bars(decision: Decision) -> BarsBlock:
    """Draw the same, a bar for each."""
    bars = [
        Bar(
            f"{each.column} = {each.value}" if each.value else each.column,
            each.amount,
            signed_field(each.amount, _places(decision)).text,
            strong=bool(each.value),
        )
        for each in _steps(decision)
    ]
    caption = (
        "Which columns moved the decision, to the right for it and to the left against it. "
        f"{_legend(decision)}"
    )
    return BarsBlock(bars, caption, signed=True)


def _places(decision: Decision) -> int:
    """Tell how many decimals to write: three, or such that four digits of a number are seen."""
    if decision.label != NUMBER:
        return 3
    return MEASURES["rmse"].places(max(abs(decision.value), abs(decision.base)))


def _steps(decision: Decision) -> list[Contribution]:
    """Give the start, what moved most, the others together, and the end; these have no value."""
    least = 0.5 / 10 ** _places(decision)  # what is less would be written as nothing
    moved = [each for each in decision.contributions if abs(each.amount) >= least]
    shown = moved[:MOST_SHOWN]
    rest = decision.value - decision.base - sum(each.amount for each in shown)
    steps = [Contribution("start", "", decision.base), *shown]
    if len(moved) > len(shown):
        others = count(len(moved) - len(shown), "other column")
        steps.append(Contribution(others, "", rest))
    return [*steps, Contribution("all together", "", decision.value)]


def _legend(decision: Decision) -> str:
    legend = f"For {decision.label}: {decision.measure}"
    if decision.share < 0.9995:
        legend += f"; members with {decision.share:.0%} of the weight are linear and counted here"
    return f"{legend}."
