"""Any other model, described by permutation importance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NoReturn

import msgspec
import numpy as np
from msgspec import Meta
from sklearn.base import is_regressor

from ensemblage._core import Field, Heading, TableBlock, count, plain_name, signed_field
from ensemblage.evaluation import MEASURES
from ensemblage.report._blocks import Bar, BarsBlock, Section
from ensemblage.report._explanation import Explanation, ModelContext

N_REPEATS = 5
MAX_ROWS = 2000
"""Of more rows, these many in equal steps are used."""
MAX_BARS = 15


class ImportanceDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Permutation importance: how much accuracy, or RMSE, on the rows given needs each column."""

    estimator: Annotated[str, Meta(description="Its class.")]
    n_rows: Annotated[int, Meta(description="Rows that were used.")]
    accuracy: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        Meta(description="Of the model on these rows; null for a regression."),
    ]
    columns: Annotated[list[str], Meta(description="The most important first.")]
    importance: Annotated[
        list[float],
        Meta(
            description="Mean loss of accuracy, or rise of RMSE, when the column's values are "
            "shuffled."
        ),
    ]
    rmse: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(description="Of the model on these rows; null for a classification."),
    ] = None


DOCUMENTS = (ImportanceDocument,)


def matches(estimator: Any) -> bool:
    """Take any classifier or regressor."""
    return hasattr(estimator, "predict") and (
        hasattr(estimator, "classes_") or is_regressor(estimator)
    )


def learned(estimator: Any, columns: Sequence[str]) -> Iterator[str]:
    """Give nothing: there is nothing to be seen without rows."""
    del estimator, columns
    yield from ()


def explain(context: ModelContext) -> Explanation:
    """Show the most important columns, and list all; refuse where that cannot be done."""
    name = plain_name(type(context.estimator).__name__)
    if context.row is not None:
        raise ValueError(
            f"This is a {name}: contributions of columns to one prediction are not known exactly. "
            "Leave `row` out to see which columns it needs."
        )
    if context.X is None or context.y is None:
        raise ValueError(
            f"This is a {name}, which has no parts to list: give rows with their target, to "
            "see which columns it needs to predict them."
        )
    document = permutation_importance(context, name)
    rmse = document.rmse
    pairs = list(zip(document.columns, document.importance, strict=True))
    if rmse is None:
        change, places = "loss of accuracy", 4
        score, texts = f"accuracy {document.accuracy:.4f}", [f"{each:+.1%}" for _, each in pairs]
    else:
        change, places = "rise of RMSE", MEASURES["rmse"].places(rmse)
        score = f"RMSE {MEASURES['rmse'].written(rmse)}"
        texts = [f"{each:+.{places}f}" for _, each in pairs]
    legend = (
        f"{change[0].upper()}{change[1:]} on the rows given when a column's values are shuffled, "
        f"mean of {N_REPEATS}; correlated columns can stand in for each other. On training rows "
        "the score is optimistic: use rows that the model has not seen."
    )
    bars = [Bar(*pair, text) for pair, text in zip(pairs, texts, strict=True)][:MAX_BARS]
    table = TableBlock(
        [Heading("column"), Heading(change, numeric=True)],
        [[Field(name), signed_field(value, places)] for name, value in pairs],
        "Permutation importance", legend,
    )  # fmt: skip
    text = (
        f"A {name}, which has no parts to list. It has {score} on "
        f"{count(document.n_rows, 'row')}, and needs {document.columns[0]} most for that."
    )
    return Explanation(
        document,
        [text],
        {"columns": str(len(pairs))},
        [
            Section("Importance", [BarsBlock(bars, legend, percent=rmse is None, signed=True)]),
            Section("All columns", [table]),
        ],
        display="Importances have no drawing of their own: write a page (.html) instead.",
    )


def explain_row(context: ModelContext) -> NoReturn:
    """Never reached: ``explain`` has refused the row."""
    raise NotImplementedError(context)


def permutation_importance(context: ModelContext, name: str) -> ImportanceDocument:
    """Measure what is lost when each column is shuffled, with fixed seeds."""
    step = -(-len(context.X) // MAX_ROWS)
    X, y = np.asarray(context.X)[::step], np.asarray(context.y)[::step]
    regression = is_regressor(context.model)

    def loss(predicted: Any) -> float:
        if regression:
            return float(np.sqrt(np.mean((predicted - y) ** 2)))
        return float(np.mean(predicted != y))

    predicted = context.model.predict(X)
    whole = loss(predicted)
    rng = np.random.default_rng(0)
    losses = []
    for j in range(X.shape[1]):
        changed, found = X.copy(), []
        for _ in range(N_REPEATS):
            changed[:, j] = rng.permutation(X[:, j])
            found.append(loss(context.model.predict(changed)) - whole)
        losses.append(float(np.mean(found)))
    order = np.argsort(-np.array(losses), kind="stable")
    return ImportanceDocument(
        estimator=name,
        n_rows=len(y),
        accuracy=None if regression else float(np.mean(predicted == y)),
        columns=[str(context.columns[j]) for j in order],
        importance=[losses[j] for j in order],
        rmse=whole if regression else None,
    )
