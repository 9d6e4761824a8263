"""A comparison as a table: the measure first, the best method first, its sentence below."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ensemblage.messages import MEASURES, TASKS, count
from ensemblage.pages import Column, Field, TableBlock, html_table, text_table

if TYPE_CHECKING:
    from ensemblage.methods._method_documents import Comparison, SummaryRow

MARK = "*"
# Of the other measures so many fit beside the one that decides, at 80 places.
MOST_BESIDE = 3
HEADINGS = {name: each.heading for name, each in MEASURES.items()}


def comparison_block(result: Comparison) -> TableBlock:
    """Lay out the means, the deciding measure with its standard error."""
    beside = _beside(result)
    heads = ["method", HEADINGS[result.measure], *(HEADINGS[name] for name in beside), "seconds"]
    columns = [Column(head, numeric=head != "method") for head in heads]
    return TableBlock(
        columns,
        [[Field(text) for text in _texts(row, result.measure, beside)] for row in result.summary],
        "",
        _legend(result),
    )


def _beside(result: Comparison) -> list[str]:
    """Choose further measures to show: those of classes always, others where there is a value."""
    names = [name for name in TASKS[result.task].measures if name != result.measure]
    if result.n_classes is None:
        names = [
            name for name in names if any(getattr(row, name) is not None for row in result.summary)
        ]
    return names[:MOST_BESIDE]


def comparison_title(result: Comparison) -> str:
    """Say what was compared on what."""
    repeats = f", repeated {result.n_repeats} times" if result.n_repeats > 1 else ""
    what = "numbers" if result.n_classes is None else f"{result.n_classes} classes"
    return (
        f"{result.dataset}: {count(result.n_rows, 'row')}, {count(result.n_features, 'column')}, "
        f"{what}; {result.n_splits} folds{repeats}, seed {result.seed}"
    )


def comparison_text(result: Comparison) -> str:
    """Write all that for a terminal."""
    block = comparison_block(result)
    parts = [comparison_title(result), "", text_table(block), "", block.legend, *_said(result)]
    return "\n".join(parts)


def comparison_html(result: Comparison) -> str:
    """Write all that for a notebook."""
    said = "".join(f"<p>{escape(text)}</p>" for text in _said(result))
    return f"<p>{escape(comparison_title(result))}</p>{html_table(comparison_block(result))}{said}"


def _said(result: Comparison) -> list[str]:
    return [result.verdict, *([] if result.choice is None else [result.choice.detail])]


def _legend(result: Comparison) -> str:
    order = f"{'more' if MEASURES[result.measure].greater_is_better else 'less'} is better"
    ours = f"{MARK} a method of this library; " if any(row.ours for row in result.summary) else ""
    return (
        f"{ours}by {HEADINGS[result.measure]}, {order}; ± is a standard error; seconds are per "
        "fold, on one core"
    )


def _texts(row: SummaryRow, measure: str, beside: list[str]) -> list[str]:
    name = f"{row.label} {MARK}" if row.ours else row.label
    if row.usual is None:
        return [name, "failed", *[""] * (len(beside) + 1)]
    score = "-" if row.score is None else MEASURES[measure].with_error(row.score, row.score_se)
    return [name, score, *(_number(row, each) for each in beside), _time(row.seconds)]


def _number(row: SummaryRow, measure: str) -> str:
    value = getattr(row, measure)
    return "-" if value is None else MEASURES[measure].written(value)


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.{2 if seconds < 100 else 0}f}"
