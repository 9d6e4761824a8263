"""Effects of columns: permutation importance, also of any other model, and dependence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray
from sklearn.base import is_regressor

from ensemblage._core import (
    PROBABILITY_FLOOR,
    Field,
    Heading,
    TableBlock,
    count,
    listing,
    plain_name,
    rows_at_final_step,
    signed_field,
    take_rows,
    write_number,
)
from ensemblage.datasets import is_frame, read_columns
from ensemblage.evaluation import MEASURES
from ensemblage.pool import (
    ColumnImportance,
    explain_by_columns,
    gather,
    log_contrast,
    n_permutations_for,
    permute_columns,
    places_for,
    summarise_importance,
)
from ensemblage.report._blocks import Bar, BarsBlock, Block, PanelsBlock, Section
from ensemblage.report._contributions import TARGET, Decision, value_text
from ensemblage.report._explanation import Explanation, ModelContext
from ensemblage.sources import Line, Panel, Panels

N_REPEATS = 5
MAX_ROWS = 2000
"""Of more rows, these many in equal steps are used."""
MAX_BARS = 15
PREDICTED_ROWS = 100_000
"""Rows predicted for the importance of a pool's columns, unless that leaves fewer than the next."""
MIN_ROWS = 200
MAX_CURVES = 5
"""Most important columns whose partial dependence is shown."""
MAX_POINTS = 20
"""Values of a numeric column at most."""
MAX_VALUES = 10
"""Categories or dates of a column at most."""
AVERAGED_ROWS = 200
"""Rows over which a prediction is averaged."""

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]


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


class ColumnImportanceDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Permutation importance of a column, with a 95 % confidence interval."""

    column: str
    importance: Annotated[float, Meta(description="Increase of the loss.")]
    low: float
    high: float


class PartialDependenceDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Mean predictions when all rows have the same value of a column."""

    column: str
    kind: Annotated[str, Meta(description="numeric, categorical or date")]
    values: Annotated[list[str], Meta(description="Values of the column.")]
    predictions: Annotated[
        list[list[float]],
        Meta(description="At each value: mean probability of each class, or mean prediction."),
    ]


class ColumnEffectsDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Effects of a pool's columns on the rows given."""

    measure: Annotated[str, Meta(description="The loss: log loss or squared error.")]
    loss: Annotated[float, Meta(description="Of the unchanged rows.")]
    rows: Annotated[int, Meta(description="Rows that were used.")]
    importance: Annotated[
        list[ColumnImportanceDocument],
        Meta(description="The largest first; too large if the rows were used in the fit."),
    ]
    partial_dependence: Annotated[
        list[PartialDependenceDocument], Meta(description="Of the most important columns.")
    ]


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


@dataclass(frozen=True)
class ColumnEffects:
    """Importance and partial dependence of a pool's columns, as a document and as sections."""

    document: ColumnEffectsDocument
    sentence: str
    sections: list[Section]


def effects_of_columns(context: ModelContext) -> ColumnEffects | None:
    """Measure the effects of a pool's columns on the rows given; None without their target."""
    if context.X is None or context.y is None or _classes(context) == []:
        return None
    X = context.X if is_frame(context.X) else np.asarray(context.X)
    y, known = _known_targets(context)
    n_columns = X.shape[1]
    limit = int(np.clip(PREDICTED_ROWS // (N_REPEATS * n_columns), MIN_ROWS, MAX_ROWS))
    kept = known[:: -(-len(known) // limit) or 1]
    if len(kept) < 2:
        return None

    def losses(table: Any, rows: Indices) -> Doubles:
        outputs, true = pool_outputs(context, table, kept[rows]), y[kept[rows]]
        if outputs.shape[1] == 1:
            return np.asarray((outputs[:, 0] - true) ** 2)
        probability = outputs[np.arange(len(true)), true.astype(int)]
        return np.asarray(-np.log(np.maximum(probability, PROBABILITY_FLOOR)))

    found = permute_columns(losses, take_rows(X, kept), N_REPEATS, np.random.default_rng(0))
    names = [str(each) for each in context.columns]
    measure = "log loss" if _classes(context) else "squared error"
    loss = float(found.losses.mean())
    importance = ColumnImportance(
        summarise_importance([found], names), measure, loss, len(kept), N_REPEATS, False
    )
    order = np.argsort(-importance.importances, kind="stable")
    curves = [
        partial_dependence(context, X, int(j), kept)
        for j in order[:MAX_CURVES]
        if importance[int(j)].importance > 0
    ]
    document = ColumnEffectsDocument(
        measure,
        loss,
        len(kept),
        [
            ColumnImportanceDocument(each.column, each.importance, each.low, each.high)
            for each in (importance[int(j)] for j in order)
        ],
        curves,
    )
    sections = [Section("Column importance", [_importance_bars(document, importance)])]
    if curves:
        blocks = _dependence_blocks(context, curves)
        sections.append(Section("Partial dependence", blocks, in_terminal=False))
    sure = [each.column for each in document.importance if each.low > 0]
    sentence = f"No column is significantly important on the {count(len(kept), 'row')} given."
    if sure:
        sentence = (
            f"Important columns on the {count(len(kept), 'row')} given, the largest first: "
            f"{listing(sure, MAX_CURVES)}."
        )
    return ColumnEffects(document, sentence, sections)


def pool_outputs(context: ModelContext, table: Any, rows: Indices) -> Doubles:
    """Predict changed rows with the sources of ``rows``: probabilities, or one column of values."""
    encoded, pool = rows_at_final_step(context.model, table), context.estimator
    sources = None if context.sources is None else np.asarray(context.sources)[rows]
    if _classes(context) is None:
        return np.asarray(pool.predict(encoded, sources=sources), dtype=float)[:, None]
    return np.asarray(pool.predict_proba(encoded, sources=sources))


def _classes(context: ModelContext) -> list[Any] | None:
    """List the classes; None for a regression, none without probabilities."""
    pool = context.estimator
    if not hasattr(pool, "classes_"):
        return None
    return list(pool.classes_.tolist()) if hasattr(pool, "predict_proba") else []


def _known_targets(context: ModelContext) -> tuple[NDArray[Any], Indices]:
    """Give codes of classes or values, and the rows whose target the model may predict."""
    y, classes = np.asarray(context.y), _classes(context)
    if classes is None:
        y = y.astype(float)
        return y, np.flatnonzero(np.isfinite(y))
    codes = {label: code for code, label in enumerate(classes)}
    coded = np.array([codes.get(label, -1) for label in y.tolist()])
    return coded, np.flatnonzero(coded >= 0)


def partial_dependence(
    context: ModelContext, X: Any, j: int, rows: Indices
) -> PartialDependenceDocument:
    """Average the predictions of some rows at values of a column, which are those of rows."""
    name = str(context.columns[j])
    column = read_columns(X, [str(each) for each in context.columns])[j]
    kind = context.kinds[j] if context.kinds else column.kind
    places, texts = [], []
    values = [column.field(i) for i in rows.tolist()]
    if kind == "categorical":
        labels = np.array([value_text(each) for each in values])
        found, first, counts = np.unique(labels, return_index=True, return_counts=True)
        shown = np.sort(np.argsort(-counts, kind="stable")[:MAX_VALUES])
        places, texts = rows[first[shown]].tolist(), found[shown].tolist()
    else:
        numbers = np.asarray(values, dtype=float)
        distinct, first = np.unique(numbers[~np.isnan(numbers)], return_index=True)
        positions = np.flatnonzero(~np.isnan(numbers))[first]
        limit = MAX_VALUES if kind == "date" else MAX_POINTS
        if len(distinct) > limit:
            wanted = np.quantile(numbers[~np.isnan(numbers)], np.linspace(0.025, 0.975, limit))
            positions = positions[np.unique(np.searchsorted(distinct, wanted, side="right") - 1)]
        places = rows[positions].tolist()
        texts = [value_text(float(numbers[i]), kind) for i in positions]
    averaged = rows[:: -(-len(rows) // AVERAGED_ROWS)]
    every = np.tile(averaged, len(places))
    changed = np.repeat(every[:, None], X.shape[1], axis=1)
    changed[:, j] = np.repeat(places, len(averaged))
    outputs = pool_outputs(context, gather(X, changed), every)
    means = outputs.reshape(len(places), len(averaged), -1).mean(axis=1)
    return PartialDependenceDocument(name, kind, texts, means.tolist())


def _importance_bars(document: ColumnEffectsDocument, importance: ColumnImportance) -> BarsBlock:
    table = importance.as_table()
    shown = document.importance[:MAX_BARS]
    places = places_for(each.high - each.low for each in document.importance)
    bars = [
        Bar(
            each.column, each.importance, signed_field(each.importance, places).text,
            error=each.high - each.importance,
        )
        for each in shown
    ]  # fmt: skip
    rest = len(document.importance) - len(shown)
    more = f" {count(rest, 'less important column is', 'less important columns are')} not shown."
    more *= rest > 0
    return BarsBlock(bars, f"{table.legend}{more}", signed=True, table=table)


def _dependence_blocks(
    context: ModelContext, curves: Sequence[PartialDependenceDocument]
) -> list[Block]:
    """Draw lines for numeric columns and bars for others, on the same scale of predictions."""
    classes = _classes(context)
    text = (
        "Mean prediction when all rows have the same value of a column; with correlated columns "
        "also for combinations that do not occur."
    )
    blocks: list[Block] = [text]
    chosen = [_shown_output(each, classes) for each in curves]
    levels = [np.array(each.predictions)[:, k] for each, k in zip(curves, chosen, strict=True)]
    what = ["mean prediction" if classes is None else f"mean probability of {classes[k]}"
            for k in chosen]  # fmt: skip
    low, high = min(map(np.min, levels)), max(map(np.max, levels))
    margin = 0.05 * (high - low) or 0.5
    y_axis = (float(low - margin), float(high + margin))
    panels, bars = [], []
    for each, level, text in zip(curves, levels, what, strict=True):
        if each.kind != "numeric" or len(level) < 3:
            bars.append(_dependence_bars(each, level, text, percent=classes is not None))
            continue
        numbers = [float(value) for value in each.values]
        points = list(zip(numbers, level.tolist(), strict=True))
        title = each.column if len(set(what)) == 1 else f"{each.column}: {text}"
        panels.append(Panel(title, [Line("model", points)], (numbers[0], numbers[-1])))
    if panels:
        label = what[0] if len(set(what)) == 1 else "mean probability of a class"
        drawn = Panels(panels, (0, 1), y_axis, "value of the column", label, {"model": label})
        alt = f"Partial dependence on {listing(each.title for each in panels)}."
        blocks.append(PanelsBlock(drawn, alt, "Numeric columns, on the same vertical scale."))
    return [*blocks, *bars]


def _dependence_bars(
    curve: PartialDependenceDocument, level: Doubles, text: str, *, percent: bool
) -> BarsBlock:
    bars = [
        Bar(value, float(mean), f"{mean:.1%}" if percent else write_number(float(mean)))
        for value, mean in zip(curve.values, level, strict=True)
    ]
    return BarsBlock(bars, f"{curve.column}: {text}.", percent=percent)


def _shown_output(curve: PartialDependenceDocument, classes: list[Any] | None) -> int:
    """Choose the second of two classes, or of more the one whose probability varies most."""
    if classes is None or len(classes) == 2:
        return 0 if classes is None else 1
    return int(np.ptp(np.array(curve.predictions), axis=0).argmax())


def decision_by_columns(context: ModelContext) -> Decision | None:
    """Explain a pool's prediction of a row by its columns, with the other rows as background."""
    classes = _classes(context)
    if classes == [] or len(context.X) < 2:
        return None
    X, row = context.X if is_frame(context.X) else np.asarray(context.X), context.row_index
    others = np.delete(np.arange(len(X)), row)
    own = pool_outputs(context, take_rows(X, np.array([row])), np.array([row]))
    code = int(own[0].argmax())

    def values(table: Any) -> Doubles:
        outputs = pool_outputs(context, table, np.full(len(table), row))
        return outputs[:, 0] if classes is None else log_contrast(outputs, code)

    found = explain_by_columns(
        values, take_rows(X, np.append(row, others)), n_permutations_for(X.shape[1]),
        np.random.default_rng(0),
    )  # fmt: skip
    scale = "unit of the target"
    if classes is not None:
        scale = "log-odds" if len(classes) == 2 else "logit against the mean of the classes"
    error = write_number(float(found.errors.max()), 2)
    return Decision(
        label=TARGET if classes is None else str(classes[code]),
        measure=f"{scale}; Shapley values, each column is compared with "
        f"{count(found.n_background, 'other row')} given, with standard errors of {error} at most",
        baseline=found.baseline,
        contributions=context.contributions(found.contributions, found.errors),
        value=found.total,
    )
