"""Linear models described: coefficients, and contributions to a prediction."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from ensemblage._core import (
    Field,
    Heading,
    TableBlock,
    final_step,
    plain_name,
    rows_at_final_step,
    signed_field,
    write_number,
)
from ensemblage.evaluation import MEASURES
from ensemblage.report._blocks import Bar, BarsBlock, Section
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

SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler)
MAX_BARS = 15
LEGEND = (
    "Change of {what} per unit of the encoded feature: numeric features are standardised, so that "
    "a unit is a standard deviation; a category is 1 where it is present."
)


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


DOCUMENTS = (LinearDocument,)


def matches(estimator: Any) -> bool:
    """Recognise a classifier by one row of coefficients per class, a regressor by one."""
    return linear_part(estimator, getattr(estimator, "classes_", None)) is not None


def learned(estimator: Any, columns: Sequence[str]) -> Iterator[str]:
    """Count the coefficients."""
    del columns
    used = int((np.atleast_2d(estimator.coef_) != 0).any(axis=0).sum())
    yield f"one coefficient for each of {used} features; `explain` lists them"


def explain(context: ModelContext) -> Explanation:
    """Show the largest coefficients, and all."""
    estimator = context.estimator
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
    legend = LEGEND.format(what="the log-odds" if classes else TARGET)
    return TableBlock(columns, rows, "Coefficients, the largest first", legend)


def explain_row(context: ModelContext) -> tuple[RowExplanation, list[Section]]:
    """Explain a row: coefficients times the differences from the mean of the rows."""
    estimator = context.estimator
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
