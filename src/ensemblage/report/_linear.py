"""Linear models described: coefficients, those of each source, contributions to a prediction."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from ensemblage._core import (
    UNKNOWN_SOURCE,
    Field,
    Heading,
    TableBlock,
    count,
    final_step,
    plain_name,
    rows_at_final_step,
    signed_field,
    write_number,
)
from ensemblage.evaluation import MEASURES
from ensemblage.report._blocks import Bar, BarsBlock, Block, Section
from ensemblage.report._contributions import (
    TARGET,
    Decision,
    LinearPart,
    RowExplanation,
    by_column,
    row_section,
    weighted_sum,
)
from ensemblage.report._explanation import (
    Explanation,
    ModelContext,
    feature_names,
    feature_origins,
)
from ensemblage.sources import (
    Deviation,
    PartialPoolingClassifier,
    PartialPoolingRegressor,
    lookup_sources,
    outer_sources,
    source_labels,
)

SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler)
MAX_BARS = 15
LEGEND = (
    "Change of {what} per unit of the encoded feature: numeric features are standardised, so that "
    "a unit is a standard deviation; a category is 1 where it is present."
)

COLUMN_LEGEND = "Change of {what} per unit of the column."
INTERCEPT = "intercept"
"""Name of a source's intercept among its deviations."""
MAX_EFFECTS = 12
"""Intercepts, offsets or coefficients of sources that are shown; the document has all."""
GIVEN = "given the other coefficients and the penalties"
INFINITE = "infinite"


def linear_part(member: Any, classes: NDArray[Any] | None) -> LinearPart | None:
    """Give a classifier's coefficients for all classes, or a regressor's where there are none.

    None where it is not linear in its rows. A class that is not among its training rows has zeros;
    scalers before it are included.
    """
    estimator = final_step(member)
    known = getattr(estimator, "classes_", None)
    part = None if (known is None) != (classes is None) else _own_part(estimator, known)
    part = None if part is None else _through_scalers(member, *part)
    if part is None or classes is None or known is None:
        return part
    if len(known) == 2:
        part = tuple(np.stack([np.zeros_like(each[0]), each[0]]) for each in part)  # type: ignore[assignment]
    coef, intercept = np.zeros((len(classes), part[0].shape[1])), np.zeros(len(classes))
    positions = np.searchsorted(classes, known)
    coef[positions], intercept[positions] = part
    return coef, intercept


def _own_part(estimator: Any, classes: NDArray[Any] | None) -> LinearPart | None:
    """Give the coefficients as they are fitted: one row for two classes or a regression."""
    coef, intercept = (getattr(estimator, name, None) for name in ("coef_", "intercept_"))
    if coef is None or intercept is None:
        return None
    coef, intercept = np.atleast_2d(np.asarray(coef, dtype=float)), np.ravel(intercept)
    intercept = np.asarray(intercept, dtype=float)
    n_rows = 1 if classes is None or len(classes) == 2 else len(classes)
    if len(coef) != n_rows or len(intercept) != n_rows:
        return None
    if classes is None:
        return (coef, intercept) if _is_affine(estimator, coef[0], intercept[0]) else None
    if hasattr(estimator, "support_vectors_") and len(classes) > 2:
        return None  # its coefficients are those of pairs of classes
    return coef, intercept


def _is_affine(estimator: Any, coef: NDArray[np.float64], intercept: float) -> bool:
    """Whether a regressor predicts by its coefficients, not by a function of their sum."""
    if not is_regressor(estimator):
        return False
    corners = np.stack([np.zeros(len(coef)), np.ones(len(coef))])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        predicted = np.ravel(estimator.predict(corners))
    return bool(np.allclose(predicted, corners @ coef + intercept))


def _through_scalers(
    member: Any, coef: NDArray[np.float64], intercept: NDArray[np.float64]
) -> LinearPart | None:
    """Put coefficients into the units of what comes before a pipeline's scalers."""
    if not isinstance(member, Pipeline):
        return coef, intercept
    for _, step in reversed(member.steps[:-1]):
        if not isinstance(step, SCALERS):
            return None
        # an affine map of each column: its value at zero, and its slope
        origin = step.transform(np.zeros((1, coef.shape[1])))[0]
        slope = step.transform(np.ones((1, coef.shape[1])))[0] - origin
        intercept = intercept + coef @ origin
        coef = coef * slope
    return coef, intercept


class LinearDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A linear model."""

    estimator: Annotated[str, Meta(description="Its class.")]
    classes: Annotated[list[str], Meta(description="None for a regression.")]
    features: Annotated[list[str], Meta(description="The features, named after the columns.")]
    coefficients: Annotated[
        list[list[float]],
        Meta(description="One list per class, or one for the second of two classes."),
    ]
    intercepts: Annotated[list[float], Meta(description="One per list of coefficients.")]


class SourcePenalty(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A penalty of partial pooling, as chosen by cross-validation or given."""

    name: Annotated[str, Meta(description="What it shrinks.")]
    value: Annotated[float | None, Meta(description="Null if it is infinite.")]
    meaning: str


class SourceEffect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An intercept, an offset or a coefficient of a source, with a 95 % confidence interval.

    It is the difference from the common one, of an inner source from that of its outer source.
    """

    source: Annotated[str, Meta(description="The source; of nested ones also `outer / inner`.")]
    feature: Annotated[
        str | None, Meta(description="The feature; null for an intercept or an offset.")
    ]
    label: Annotated[
        str | None, Meta(description="Class, the second of two; null for a regression.")
    ]
    value: float
    low: float
    high: float


class PartialPoolingDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A regression with coefficients of each source, shrunk towards common ones."""

    estimator: Annotated[str, Meta(description="Its class.")]
    classes: Annotated[list[str], Meta(description="None for a regression.")]
    features: Annotated[list[str], Meta(description="The features, named after the columns.")]
    sources: Annotated[list[str], Meta(description="The known sources, `outer / inner` if nested.")]
    outer_sources: Annotated[
        list[str], Meta(description="The known outer sources; none if sources are not nested.")
    ]
    common_coefficients: Annotated[
        list[list[float]],
        Meta(description="One list per class, or one for the second of two classes."),
    ]
    common_intercepts: Annotated[list[float], Meta(description="One per list of coefficients.")]
    penalties: list[SourcePenalty]
    intercepts: Annotated[
        list[SourceEffect],
        Meta(description="Of each source, at the mean of the columns; none if all are equal."),
    ]
    differences: Annotated[
        list[SourceEffect],
        Meta(
            description="Coefficients of sources that differ significantly, at a false discovery "
            "rate of 5 %, the most significant first."
        ),
    ]
    tested: Annotated[int, Meta(description="Coefficients of sources that may differ.")]


DOCUMENTS = (LinearDocument, PartialPoolingDocument)


def is_partial_pooling(estimator: Any) -> bool:
    return isinstance(estimator, PartialPoolingClassifier | PartialPoolingRegressor)


def matches(estimator: Any) -> bool:
    """Recognise a classifier by one row of coefficients per class, a regressor by one."""
    return (
        is_partial_pooling(estimator)
        or linear_part(estimator, getattr(estimator, "classes_", None)) is not None
    )


def learned(estimator: Any, columns: Sequence[str]) -> Iterator[str]:
    """Count the coefficients, and those in which sources differ."""
    del columns
    if is_partial_pooling(estimator):
        found = document_of_pooling(estimator, [f"x{j}" for j in range(estimator.n_features_in_)])
        yield from _differing(found)
        yield "penalties: " + ", ".join(
            f"{each.name} {_penalty_text(each)}" for each in found.penalties
        )
        return
    used = int((np.atleast_2d(estimator.coef_) != 0).any(axis=0).sum())
    yield f"one coefficient for each of {used} features; `explain` lists them"


def explain(context: ModelContext) -> Explanation:
    """Show the largest coefficients, and all."""
    estimator = context.estimator
    if is_partial_pooling(estimator):
        return _explain_pooling(context)
    document = LinearDocument(
        estimator=type(estimator).__name__,
        classes=[str(each) for each in getattr(estimator, "classes_", ())],
        features=feature_names(context.model, context.columns),
        coefficients=np.atleast_2d(np.asarray(estimator.coef_, dtype=float)).tolist(),
        intercepts=np.ravel(estimator.intercept_).astype(float).tolist(),
    )
    sections = [Section("All coefficients", [_table(document)])]
    if len(document.coefficients) == 1:
        pairs = zip(document.features, document.coefficients[0], strict=True)
        largest = sorted(pairs, key=lambda pair: -abs(pair[1]))[:MAX_BARS]
        bars = [Bar(name, value, f"{value:+.3f}") for name, value in largest]
        effect = f"favour {document.classes[1]}" if document.classes else "increase the prediction"
        caption = f"Largest coefficients; positive values {effect}."
        sections.insert(0, Section("Coefficients", [BarsBlock(bars, caption, signed=True)]))
    name = plain_name(document.estimator)
    n_features = len(document.features)
    return Explanation(
        document,
        [f"{name[0].upper()}{name[1:]}: one coefficient for each of {n_features} features."],
        {"features": str(n_features)},
        sections,
        display="Coefficients have no drawing of their own: write a report (.html) instead.",
    )


def _table(document: LinearDocument) -> TableBlock:
    classes, values = document.classes, np.array(document.coefficients)
    heads = (
        classes if len(values) > 1 else [f"coefficient for {classes[-1] if classes else TARGET}"]
    )
    places = 3 if classes else MEASURES["rmse"].places(float(np.abs(values).max()))
    rows = [
        [Field(document.features[j]), *(signed_field(float(each[j]), places) for each in values)]
        for j in np.argsort(-np.abs(values).max(axis=0), kind="stable")
    ]
    columns = [Heading("feature"), *(Heading(head, numeric=True) for head in heads)]
    return TableBlock(columns, rows, "Coefficients, the largest first", _legend(classes))


def _legend(classes: Sequence[str], *, encoded: bool = True) -> str:
    what = "the log-odds" if classes else TARGET
    return (LEGEND if encoded else COLUMN_LEGEND).format(what=what)


def document_of_pooling(estimator: Any, features: Sequence[str]) -> PartialPoolingDocument:
    """Describe partial pooling, whose features may be renamed."""
    named = copy(estimator)
    named.feature_names_in_ = np.array([str(j) for j in range(len(features))], dtype=object)
    intercepts = named.deviations(1.0, intercepts=True)
    order = {each: k for k, each in enumerate([*_outer_names(named), *_source_names(named)])}
    return PartialPoolingDocument(
        estimator=type(estimator).__name__,
        classes=[str(each) for each in getattr(estimator, "classes_", ())],
        features=list(features),
        sources=_source_names(estimator),
        outer_sources=_outer_names(estimator),
        common_coefficients=np.atleast_2d(estimator.common_coef_).tolist(),
        common_intercepts=np.ravel(estimator.common_intercept_).tolist(),
        penalties=list(_penalties(estimator)),
        intercepts=[
            _effect(each, None)
            for each in sorted(intercepts, key=lambda each: order[str(each.source)])
        ],
        differences=[_effect(each, features[int(each.column)]) for each in named.deviations()],
        tested=len(named.deviations(1.0)),
    )


def _source_names(estimator: Any) -> list[str]:
    return [str(each) for each in source_labels(estimator.sources_)]


def _outer_names(estimator: Any) -> list[str]:
    nested = estimator.sources_.ndim == 2
    return [str(each) for each in outer_sources(estimator.sources_)[0]] if nested else []


def _effect(found: Deviation, feature: str | None) -> SourceEffect:
    label = None if found.label is None else str(found.label)
    return SourceEffect(str(found.source), feature, label, found.value, found.low, found.high)


def _penalties(estimator: Any) -> Iterator[SourcePenalty]:
    """Name the penalties of the common coefficients, and of outer and inner sources."""
    value = float(estimator.common_penalty_)
    own = "shrinks the common coefficients towards zero"
    if np.isinf(value):
        own = "there are no common coefficients"
    yield SourcePenalty("common coefficients", _finite(value), own)
    given = estimator.deviation_penalty_, estimator.intercept_penalty_
    nested = isinstance(given[0], tuple)
    common = ("the common ones", "the common one")
    outer = ("those of the outer source", "that of the outer source")
    levels = [("an outer source", common), ("an inner source", outer)]
    for k, (level, targets) in enumerate(levels if nested else [("a source", common)]):
        for j, (what, it) in enumerate((("coefficients", "them"), ("intercept", "it"))):
            value = float(given[j][k] if nested else given[j])
            meaning = f"shrinks {it} towards {targets[j]}"
            if np.isinf(value):
                meaning = f"equal to {targets[j]}"
            yield SourcePenalty(f"{what} of {level}", _finite(value), meaning)


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _penalty_text(penalty: SourcePenalty) -> str:
    return INFINITE if penalty.value is None else write_number(penalty.value)


def _differing(document: PartialPoolingDocument) -> Iterator[str]:
    """Count the sources whose intercept or coefficients differ."""
    apart = sum(each.low > 0 or each.high < 0 for each in document.intercepts)
    n_found, n_intercepts = len(document.differences), len(document.intercepts)
    yield (
        f"the 95 % interval excludes zero for {apart} of {count(n_intercepts, 'intercept')} of "
        "sources"
        if n_intercepts
        else "all sources have the same intercept"
    )
    differing = {each.source for each in document.differences}
    nested = " or those of the outer source" if document.outer_sources else ""
    yield (
        f"{n_found} of {count(document.tested, 'coefficient')} of sources "
        f"{'differs' if n_found == 1 else 'differ'} significantly from the common ones{nested}"
        + (f", in {count(len(differing), 'source')}" if differing else "")
        if document.tested
        else "all sources have the same coefficients"
    )


def sources_text(document: PartialPoolingDocument) -> str:
    """Count the sources, or outer and inner ones."""
    found = count(len(document.sources), "source")
    if document.outer_sources:
        n_outer = len(document.outer_sources)
        found = f"{count(n_outer, 'outer source')} with {count(len(document.sources), 'inner one')}"
    return found


def is_encoded(model: Any) -> bool:
    """Whether the columns are encoded or scaled before the last step, or by it."""
    return isinstance(model, Pipeline) or hasattr(model, "encoder_")


def pooling_blocks(document: PartialPoolingDocument, *, encoded: bool) -> list[Block]:
    """Show in which coefficients and intercepts sources differ, and the penalties."""
    of_intercepts, of_coefficients = (
        f"{each[0].upper()}{each[1:]}." for each in _differing(document)
    )
    blocks: list[Block] = [of_intercepts]
    if document.intercepts:
        blocks.append(_intercept_bars(document))
    blocks.append(of_coefficients)
    if document.differences:
        blocks.append(_difference_bars(document, encoded=encoded))
    rows = [
        [Field(each.name), Field(_penalty_text(each), each.value), Field(each.meaning)]
        for each in document.penalties
    ]
    heads = [Heading("penalty on"), Heading("value", numeric=True), Heading("what it does")]
    legend = (
        "The larger a penalty, the more is shrunk. They were chosen by cross-validation, unless "
        "they were given."
    )
    return [*blocks, TableBlock(heads, rows, "Penalties", legend)]


def _intercept_bars(document: PartialPoolingDocument) -> BarsBlock:
    nested = ", of an inner source from that of its outer source" * bool(document.outer_sources)
    legend = (
        f"Difference from the common intercept{nested}, at the mean of each column, with 95 % "
        f"intervals {GIVEN}."
    )
    return interval_bars(document.intercepts, "Intercepts of sources", legend, document.classes)


def _difference_bars(document: PartialPoolingDocument, *, encoded: bool) -> BarsBlock:
    nested = ", of an inner source from that of its outer source" * bool(document.outer_sources)
    legend = (
        f"Difference from the common coefficient{nested}, with 95 % intervals {GIVEN}. "
        f"{_legend(document.classes, encoded=encoded)}"
    )
    title = "Differing coefficients, the most significant first"
    return interval_bars(document.differences, title, legend, document.classes)


def interval_bars(
    effects: Sequence[SourceEffect], title: str, legend: str, classes: Sequence[str]
) -> BarsBlock:
    """Show the effects of sources that are furthest from zero in standard errors; count the rest.

    Intercepts and offsets are ordered by value.
    """
    ordered = sorted(effects, key=lambda each: -abs(each.value) / (each.high - each.low))
    shown = ordered[:MAX_EFFECTS]
    if shown[0].feature is None:
        shown.sort(key=lambda each: -each.value)
    largest = max(max(abs(each.low), abs(each.high)) for each in shown)
    places = 3 if classes else MEASURES["rmse"].places(largest)
    several = len(classes) > 2
    bars, rows = [], []
    for each in shown:
        value, low, high = (
            signed_field(number, places) for number in (each.value, each.low, each.high)
        )
        parts = [each.source, *([] if each.feature is None else [each.feature])]
        parts += [f"class {each.label}"] if several else []
        half = (each.high - each.low) / 2
        bars.append(Bar(": ".join(parts), each.value, value.text, error=half))
        rows.append([*map(Field, parts), value, low, high])
    if len(classes) == 2:
        legend += f" Positive values favour {classes[1]}."
    rest = len(effects) - len(shown)
    if rest:
        legend += (
            f" Shown are the {len(shown)} furthest from zero in standard errors; {rest} "
            f"{'is' if rest == 1 else 'are'} not."
        )
    heads = ["source", *([] if shown[0].feature is None else ["feature"])]
    heads += ["class"] if several else []
    columns = [Heading(head) for head in heads]
    columns += [Heading(head, numeric=True) for head in ("difference", "from", "to")]
    table = TableBlock(columns, rows, title, legend)
    caption = f"{title}. {legend} ±: half the length of the interval."
    return BarsBlock(bars, caption, signed=True, table=table)


def _explain_pooling(context: ModelContext) -> Explanation:
    estimator, encoded = context.estimator, is_encoded(context.model)
    document = document_of_pooling(estimator, feature_names(context.model, context.columns))
    common = LinearDocument(
        document.estimator, document.classes, document.features, document.common_coefficients,
        document.common_intercepts,
    )  # fmt: skip
    kind = "logistic" if document.classes else "linear"
    n_sources, n_features = len(document.sources), len(document.features)
    table = _table(common)
    sentence = (
        f"Partial pooling: {kind} regression on {count(n_features, 'feature')} with coefficients "
        f"of {sources_text(document)}, shrunk towards common ones."
    )
    title = "Common coefficients, the largest first"
    legend = f"Used for rows of unknown source. {_legend(document.classes, encoded=encoded)}"
    table = TableBlock(table.columns, table.rows, title, legend)
    return Explanation(
        document,
        [sentence],
        {"sources": str(n_sources), "features": str(n_features)},
        [
            Section("Differences of sources", pooling_blocks(document, encoded=encoded)),
            Section("Common coefficients", [table]),
        ],
        display="Coefficients have no drawing of their own: write a report (.html) instead.",
    )


def _explain_pooled_row(context: ModelContext) -> tuple[RowExplanation, list[Section]]:
    """Explain a row by the coefficients of its source."""
    estimator, given = context.estimator, context.sources
    own = None if given is None else given[context.row_index : context.row_index + 1]
    code = int(lookup_sources(own, estimator.sources_, 1)[0])
    names, n_sources = source_labels(estimator.sources_), len(estimator.sources_)
    if code == UNKNOWN_SOURCE:
        source, part = None, (estimator.common_coef_, estimator.common_intercept_)
    elif code < n_sources:
        source, part = str(names[code]), (estimator.coef_[code], estimator.intercept_[code])
    else:
        outer = code - n_sources
        source = str(outer_sources(estimator.sources_)[0][outer])
        part = estimator.outer_coef_[outer], estimator.outer_intercept_[outer]
    coef, intercept = np.atleast_2d(part[0]), np.atleast_1d(part[1])
    classes = [str(each) for each in getattr(estimator, "classes_", ())]
    if len(classes) == 2:
        coef, intercept = (
            np.concatenate([np.zeros_like(each), each]) for each in (coef, intercept)
        )
    predicted = context.model.predict(context.one_row, sources=own)[0]
    if classes:
        label = int(np.flatnonzero(estimator.classes_ == predicted)[0])
        prediction = classes[label]
        scores = context.model.predict_proba(context.one_row, sources=own)[0].tolist()
    else:
        label, prediction, scores = None, write_number(float(predicted), 6), [float(predicted)]
    slopes, level = weighted_sum([(coef, intercept)], np.ones(1), label)
    origins = feature_origins(context.model, context.columns)
    decision = None
    if origins is not None:
        start = estimator.column_means_
        distance = np.ravel(np.asarray(context.encoded_row, dtype=float)) - start
        amounts = by_column(slopes * distance, origins, len(context.columns))
        baseline = level + float(slopes @ start)
        measure = "unit of the target"
        if label is not None:
            two = len(classes) == 2
            measure = "log-odds" if two else "logit against the mean of the classes"
        whose = "an unknown source" if source is None else f"source {source}"
        decision = Decision(
            label=TARGET if label is None else classes[label],
            measure=f"{measure}, with the coefficients of {whose}; each column is compared with "
            "the mean of the training rows",
            baseline=baseline,
            contributions=context.contributions(amounts),
            value=baseline + float(amounts.sum()),
        )
    row = RowExplanation(context.row_index, prediction, classes, scores, decision, source=source)
    return row, [row_section(row)]


def explain_row(context: ModelContext) -> tuple[RowExplanation, list[Section]]:
    """Explain a row: coefficients times the differences from the mean of the rows."""
    estimator = context.estimator
    if is_partial_pooling(estimator):
        return _explain_pooled_row(context)
    classes = [str(each) for each in getattr(estimator, "classes_", ())]
    predicted = context.model.predict(context.one_row)[0]
    if not classes:
        prediction, scores = write_number(float(predicted), 6), [float(predicted)]
        decision = _decision(context, None)
    else:
        label = int(np.flatnonzero(estimator.classes_ == predicted)[0])
        prediction, scores = classes[label], _class_scores(context)
        decision = _decision(context, label)
    row = RowExplanation(context.row_index, prediction, classes, scores, decision)
    return row, [row_section(row)]


def _decision(context: ModelContext, label: int | None) -> Decision | None:
    estimator = context.estimator
    part = linear_part(estimator, getattr(estimator, "classes_", None))
    origins = feature_origins(context.model, context.columns)
    if part is None or origins is None:
        return None
    encoded = np.asarray(rows_at_final_step(context.model, context.X), dtype=float)
    several = len(encoded) > 1
    start = encoded.mean(axis=0) if several else np.zeros(encoded.shape[1])
    coef, level = weighted_sum([part], np.ones(1), label)
    distance = encoded[context.row_index] - start
    amounts = by_column(coef * distance, origins, len(context.columns))
    baseline = level + float(coef @ start)
    reference = "the mean of the rows given" if several else "zero, as there is no other row"
    measure = "unit of the target"
    if label is not None:
        two = len(part[0]) == 2
        measure = "log-odds" if two else "logit against the mean of the classes"
    return Decision(
        label=TARGET if label is None else str(estimator.classes_[label]),
        measure=f"{measure}; each column is compared with {reference}",
        baseline=baseline,
        contributions=context.contributions(amounts),
        value=baseline + float(amounts.sum()),
    )


def _class_scores(context: ModelContext) -> list[float]:
    if hasattr(context.model, "predict_proba"):
        return [float(each) for each in context.model.predict_proba(context.one_row)[0]]
    values = np.ravel(context.model.decision_function(context.one_row))
    return [-float(values[0]), float(values[0])] if len(values) == 1 else values.tolist()
