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
    """Permutation importance of the columns for accuracy, or RMSE, on the rows given."""

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
            description="Mean decrease of accuracy, or increase of RMSE, when the column's values "
            "are shuffled."
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
    """Give nothing: permutation importance needs rows."""
    del estimator, columns
    yield from ()


def explain(context: ModelContext) -> Explanation:
    """Show the most important columns, and list all; raise an error where that is impossible."""
    name = plain_name(type(context.estimator).__name__)
    if context.row is not None:
        raise ValueError(
            f"This is a {name}: exact contributions of columns to one prediction are not "
            "available. Leave out `row` for permutation importance."
        )
    if context.X is None or context.y is None:
        raise ValueError(
            f"This is a {name}, which is described by permutation importance: give rows with "
            "their target."
        )
    document = permutation_importance(context, name)
    rmse = document.rmse
    pairs = list(zip(document.columns, document.importance, strict=True))
    if rmse is None:
        change, places = "decrease of accuracy", 4
        score, texts = f"accuracy {document.accuracy:.4f}", [f"{each:+.1%}" for _, each in pairs]
    else:
        change, places = "increase of RMSE", MEASURES["rmse"].places(rmse)
        score = f"RMSE {MEASURES['rmse'].written(rmse)}"
        texts = [f"{each:+.{places}f}" for _, each in pairs]
    legend = (
        f"{change[0].upper()}{change[1:]} on the rows given when a column's values are shuffled, "
        f"mean of {N_REPEATS} repeats; correlated columns can replace each other. On training "
        "rows the score is optimistic: use rows that were not used in the fit."
    )
    bars = [Bar(*pair, text) for pair, text in zip(pairs, texts, strict=True)][:MAX_BARS]
    table = TableBlock(
        [Heading("column"), Heading(change, numeric=True)],
        [[Field(name), signed_field(value, places)] for name, value in pairs],
        "Permutation importance", legend,
    )  # fmt: skip
    text = (
        f"A {name} with {score} on the {count(document.n_rows, 'row')} given; the most important "
        f"column is {document.columns[0]}."
    )
    return Explanation(
        document,
        [text],
        {"columns": str(len(pairs))},
        [
            Section(
                "Permutation importance",
                [BarsBlock(bars, legend, percent=rmse is None, signed=True)],
            ),
            Section("All columns", [table]),
        ],
        display="Permutation importance has no drawing of its own: write a report (.html) instead.",
    )


def explain_row(context: ModelContext) -> NoReturn:
    """Never reached: ``explain`` raises an error for a row."""
    raise NotImplementedError(context)


def permutation_importance(context: ModelContext, name: str) -> ImportanceDocument:
    """Shuffle each column, with a fixed seed, and measure the loss of performance."""
    step = -(-len(context.X) // MAX_ROWS)
    X, y = np.asarray(context.X)[::step], np.asarray(context.y)[::step]
    regression = is_regressor(context.model)

    def loss(predicted: Any) -> float:
        if regression:
            return float(np.sqrt(np.mean((predicted - y) ** 2)))
        return float(np.mean(predicted != y))

    predicted = context.model.predict(X)
    reference = loss(predicted)
    rng = np.random.default_rng(0)
    losses = []
    for j in range(X.shape[1]):
        changed, found = X.copy(), []
        for _ in range(N_REPEATS):
            changed[:, j] = rng.permutation(X[:, j])
            found.append(loss(context.model.predict(changed)) - reference)
        losses.append(float(np.mean(found)))
    order = np.argsort(-np.array(losses), kind="stable")
    return ImportanceDocument(
        estimator=name,
        n_rows=len(y),
        accuracy=None if regression else float(np.mean(predicted == y)),
        columns=[str(context.columns[j]) for j in order],
        importance=[losses[j] for j in order],
        rmse=reference if regression else None,
    )
