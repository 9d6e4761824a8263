"""Linear models described."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
    NUMBER,
    Decision,
    LinearPart,
    RowDecision,
    add_up,
    by_column,
    contributions_of,
    row_section,
    row_text,
)
from ensemblage.report._explanation import (
    Explanation,
    ModelPage,
    Subject,
    feature_names,
    feature_origins,
)

SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler)


def linear_part(member: Any, classes: NDArray[Any]) -> LinearPart | None:
    """Give a classifier's coefficients for all classes; None where it is not linear in its rows.

    A class that it has not seen has zeros. Scalers before it are taken in.
    """
    classifier = final_step(member)
    coef, intercept = (getattr(classifier, name, None) for name in ("coef_", "intercept_"))
    if coef is None or intercept is None or not hasattr(classifier, "classes_"):
        return None
    coef, intercept = np.atleast_2d(np.asarray(coef, dtype=float)), np.ravel(intercept)
    known = classifier.classes_
    if hasattr(classifier, "support_vectors_") and len(known) > 2:
        return None  # its coefficients are those of pairs of classes
    if len(coef) != (1 if len(known) == 2 else len(known)) or len(intercept) != len(coef):
        return None
    scaled = _through_scalers(member, coef, np.asarray(intercept, dtype=float))
    return (
        None
        if scaled is None
        else _on_all_classes(scaled, np.searchsorted(classes, known), len(classes))
    )


def linear_numbers(member: Any) -> LinearPart | None:
    """Give a regressor's coefficients, as those of one class; None where it is not linear."""
    regressor = final_step(member)
    coef, intercept = (getattr(regressor, name, None) for name in ("coef_", "intercept_"))
    if coef is None or intercept is None or not is_regressor(regressor):
        return None
    coef, level = np.atleast_2d(np.asarray(coef, dtype=float)), np.ravel(intercept).astype(float)
    if len(coef) != 1 or len(level) != 1:
        return None
    corners = np.stack([np.zeros(coef.shape[1]), np.ones(coef.shape[1])])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        said = np.ravel(regressor.predict(corners))
    if not np.allclose(said, corners @ coef[0] + level[0]):
        return None  # its coefficients are those of a logarithm, say
    return _through_scalers(member, coef, level)


def _on_all_classes(part: LinearPart, known: NDArray[np.intp], n_classes: int) -> LinearPart:
    if len(known) == 2:
        part = LinearPart(*(np.stack([np.zeros_like(each[0]), each[0]]) for each in part))
    coef = np.zeros((n_classes, part.coef.shape[1]))
    intercept = np.zeros(n_classes)
    coef[known], intercept[known] = part
    return LinearPart(coef, intercept)


def _through_scalers(
    member: Any, coef: NDArray[np.float64], intercept: NDArray[np.float64]
) -> LinearPart | None:
    """Put coefficients into the units of what comes before a pipeline's scalers."""
    if not isinstance(member, Pipeline):
        return LinearPart(coef, intercept)
    for _, step in reversed(member.steps[:-1]):
        if not isinstance(step, SCALERS):
            return None
        # an affine map of each column: its value at zero, and its slope
        origin = step.transform(np.zeros((1, coef.shape[1])))[0]
        slope = step.transform(np.ones((1, coef.shape[1])))[0] - origin
        intercept = intercept + coef @ origin
        coef = coef * slope
    return LinearPart(coef, intercept)


MOST_BARS = 15
LEGEND = (
    "Change of {what} per unit of the feature as the model sees it: numbers are "
    "standardised, so that a unit is a standard deviation; a category counts 1 where it is."
)


class LinearFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A linear model."""

    estimator: Annotated[str, Meta(description="Its class.")]
    classes: Annotated[list[str], Meta(description="None if numbers are predicted.")]
    features: Annotated[list[str], Meta(description="The features, as the table's columns.")]
    coefficients: Annotated[
        list[list[float]],
        Meta(description="One list per class, or one for the second of two classes."),
    ]
    intercepts: Annotated[list[float], Meta(description="One per list of coefficients.")]


@dataclass(frozen=True)
class LinearExplanation(Explanation):
    """The coefficients in the names of the user's columns."""

    has = "coefficients"
    documents = (LinearFacts,)

    facts: LinearFacts
    story: RowDecision | None = None

    @classmethod
    def explains(cls, estimator: Any) -> bool:
        """Recognise a classifier by one row of coefficients per class, a regressor by one."""
        return _part(estimator) is not None

    @classmethod
    def learned(cls, estimator: Any, columns: Sequence[str]) -> Iterator[str]:
        """Tell how many coefficients there are."""
        del columns
        used = int((np.atleast_2d(estimator.coef_) != 0).any(axis=0).sum())
        yield f"one coefficient for each of {used} features; `explain` lists them"

    @classmethod
    def of(cls, subject: Subject) -> LinearExplanation:
        """Read the coefficients, and what they make of the row."""
        estimator = final_step(subject.model)
        facts = LinearFacts(
            estimator=type(estimator).__name__,
            classes=[str(each) for each in getattr(estimator, "classes_", ())],
            features=feature_names(subject.model, subject.columns),
            coefficients=np.atleast_2d(np.asarray(estimator.coef_, dtype=float)).tolist(),
            intercepts=np.ravel(estimator.intercept_).astype(float).tolist(),
        )
        return cls(facts, None if subject.row is None else linear_decision(subject, subject.row))

    @property
    def document(self) -> LinearFacts | RowDecision:
        """The decision about the row if one was named, else the coefficients."""
        return self.facts if self.story is None else self.story

    def text(self) -> list[str | TableBlock]:
        """List the coefficients, or what moved the decision about the row."""
        if self.story is not None:
            return row_text(self.story)
        return [f"{self._name}: a coefficient per feature", self._table(), self._legend]

    def page(self) -> ModelPage:
        """Show the largest coefficients, and all."""
        facts = self.facts
        sections = [Section("All coefficients", [self._table()])]
        if len(facts.coefficients) == 1:
            pairs = zip(facts.features, facts.coefficients[0], strict=True)
            largest = sorted(pairs, key=lambda pair: -abs(pair[1]))[:MOST_BARS]
            bars = [Bar(name, value, f"{value:+.3f}") for name, value in largest]
            raised = f"speak for {facts.classes[1]}" if facts.classes else "raise the number"
            said = f"The largest coefficients; above zero they {raised}."
            sections.insert(0, Section("Coefficients", [BarsBlock(bars, said, signed=True)]))
        if self.story is not None:
            sections.insert(0, row_section(self.story))
        told = f"{self._name}: one coefficient for each of {len(facts.features)} features."
        return ModelPage([told], [("features", str(len(facts.features)))], sections)

    def draw(self, picture: str = "png") -> bytes:
        """Refuse: a table says it all."""
        del picture
        raise ValueError("Coefficients have no drawing of their own: write a page (.html) instead.")

    @property
    def _name(self) -> str:
        """What the estimator is, at the start of a sentence."""
        name = plain_name(self.facts.estimator)
        return name[0].upper() + name[1:]

    @property
    def _legend(self) -> str:
        return LEGEND.format(what="the log odds" if self.facts.classes else NUMBER)

    def _table(self) -> TableBlock:
        facts = self.facts
        last = facts.classes[-1] if facts.classes else NUMBER
        heads = facts.classes if len(facts.coefficients) > 1 else [f"for {last}"]
        values = np.array(facts.coefficients)
        order = np.argsort(-np.abs(values).max(axis=0), kind="stable")
        places = 3 if facts.classes else MEASURES["rmse"].places(float(np.abs(values).max()))
        rows = [
            [Field(facts.features[j]), *(signed_field(float(each[j]), places) for each in values)]
            for j in order
        ]
        columns = [Heading("feature"), *(Heading(head, numeric=True) for head in heads)]
        return TableBlock(columns, rows, "Coefficients, the largest first", self._legend)


def _part(estimator: Any) -> LinearPart | None:
    """Give the coefficients for all classes, or for the number."""
    classes = getattr(estimator, "classes_", None)
    return linear_numbers(estimator) if classes is None else linear_part(estimator, classes)


def linear_decision(subject: Subject, row: int) -> RowDecision:
    """Tell what each column adds: coefficient times its distance from the mean of the rows."""
    estimator = final_step(subject.model)
    encoded = np.asarray(rows_at_final_step(subject.model, subject.X), dtype=float)
    classes = [str(each) for each in getattr(estimator, "classes_", ())]
    predicted = subject.model.predict(subject.X[row : row + 1])[0]
    if not classes:
        return RowDecision(
            row=row, prediction=write_number(float(predicted), 6), classes=[], scores=[],
            decision=_decision(subject, row, encoded, None),
        )  # fmt: skip
    label = int(np.flatnonzero(estimator.classes_ == predicted)[0])
    return RowDecision(
        row=row,
        prediction=classes[label],
        classes=classes,
        scores=_scores(subject, row),
        decision=_decision(subject, row, encoded, label),
    )


def _decision(subject: Subject, row: int, encoded: Any, label: int | None) -> Decision | None:
    """Add up what the columns do for a class, or for the number where there is none."""
    part = _part(final_step(subject.model))
    origins = feature_origins(subject.model, subject.columns)
    if part is None or origins is None:
        return None
    several = len(encoded) > 1
    start = encoded.mean(axis=0) if several else np.zeros(encoded.shape[1])
    coef, level = add_up([part], np.ones(1), label)
    amounts = by_column(coef * (encoded[row] - start), origins, len(subject.columns))
    base = level + float(coef @ start)
    where = "the mean of the rows given" if several else "zero, as there is no other row"
    return Decision(
        label=NUMBER if label is None else str(final_step(subject.model).classes_[label]),
        measure=f"{_measure(label, len(part.coef))}; each column against {where}",
        base=base,
        contributions=contributions_of(
            subject.columns, subject.values(row), amounts, subject.kinds
        ),
        value=base + float(amounts.sum()),
    )


def _measure(label: int | None, n_classes: int) -> str:
    if label is None:
        return "prediction"
    return "log odds" if n_classes == 2 else "logit against the mean of the classes"


def _scores(subject: Subject, row: int) -> list[float]:
    X = subject.X[row : row + 1]
    if hasattr(subject.model, "predict_proba"):
        return [float(each) for each in subject.model.predict_proba(X)[0]]
    values = np.ravel(subject.model.decision_function(X))
    return [-float(values[0]), float(values[0])] if len(values) == 1 else values.tolist()
