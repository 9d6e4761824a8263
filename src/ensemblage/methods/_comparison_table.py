"""A comparison as a table: the measure first, the best method first, its sentence below."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ensemblage.messages import count
from ensemblage.pages import Column, Field, TableBlock, html_table, text_table

if TYPE_CHECKING:
    from ensemblage.methods._method_documents import Comparison, SummaryRow

MARK = "*"
# Of the other measures so many fit beside the one that decides, at 80 places.
MOST_BESIDE = 3
HEADINGS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced",
    "log_loss": "log loss",
    "auc": "AUC",
    "f1": "F1",
}


def comparison_block(result: Comparison) -> TableBlock:
    """Lay out the means, the deciding measure with its standard error."""
    beside = [name for name in HEADINGS if name != result.measure][:MOST_BESIDE]
    heads = ["method", HEADINGS[result.measure], *(HEADINGS[name] for name in beside), "seconds"]
    columns = [Column(head, numeric=head != "method") for head in heads]
    return TableBlock(
        columns,
        [[Field(text) for text in _texts(row, beside)] for row in result.summary],
        "",
        _legend(result),
    )


def comparison_title(result: Comparison) -> str:
    """Say what was compared on what."""
    repeats = f", repeated {result.n_repeats} times" if result.n_repeats > 1 else ""
    return (
        f"{result.dataset}: {count(result.n_rows, 'row')}, {count(result.n_features, 'column')}, "
        f"{result.n_classes} classes; {result.n_splits} folds{repeats}, seed {result.seed}"
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
    order = "less is better" if result.measure == "log_loss" else "more is better"
    ours = f"{MARK} a method of this library; " if any(row.ours for row in result.summary) else ""
    return (
        f"{ours}by {HEADINGS[result.measure]}, {order}; ± is a standard error; seconds are per "
        "fold, on one core"
    )


def _texts(row: SummaryRow, beside: list[str]) -> list[str]:
    name = f"{row.label} {MARK}" if row.ours else row.label
    if row.accuracy is None:
        return [name, "failed", *[""] * (len(beside) + 1)]
    error = "" if row.score_se is None else f" ± {row.score_se:.3f}"
    score = "-" if row.score is None else f"{row.score:.3f}{error}"
    return [name, score, *(_number(getattr(row, each)) for each in beside), _time(row.seconds)]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.{2 if seconds < 100 else 0}f}"
