"""Linear models: a coefficient for each feature, and what each column adds to a decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from ensemblage.explain._decision import (
    Decision,
    RowDecision,
    add_up,
    by_column,
    contributions_of,
    row_section,
    row_text,
)
from ensemblage.explain._explanation import Explanation, ModelPage, Subject
from ensemblage.explain._feature_origins import feature_names, feature_origins
from ensemblage.explain._linear_members import linear_part
from ensemblage.messages import plain_name
from ensemblage.pages import Bar, BarsBlock, Column, Field, Section, TableBlock, signed_field
from ensemblage.parallel import final_step, rows_at_final_step

MOST_BARS = 15
LEGEND = (
    "Change of the log odds per unit of the feature as the model sees it: numbers are "
    "standardised, so that a unit is a standard deviation; a category counts 1 where it is."
)


class LinearFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A linear model."""

    estimator: Annotated[str, Meta(description="Its class.")]
    classes: list[str]
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
        """Recognise a classifier by one row of coefficients per class."""
        classes = getattr(estimator, "classes_", None)
        return classes is not None and linear_part(estimator, classes) is not None

    @classmethod
    def learned(cls, estimator: Any, columns: Sequence[str]) -> Iterator[str]:
        """Tell how many coefficients there are."""
        del columns
        used = int((estimator.coef_ != 0).any(axis=0).sum())
        yield f"one coefficient for each of {used} features; `explain` lists them"

    @classmethod
    def of(cls, subject: Subject) -> LinearExplanation:
        """Read the coefficients, and what they make of the row."""
        estimator = final_step(subject.model)
        facts = LinearFacts(
            estimator=type(estimator).__name__,
            classes=[str(each) for each in estimator.classes_],
            features=feature_names(subject.model, subject.columns),
            coefficients=np.asarray(estimator.coef_, dtype=float).tolist(),
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
        return [f"{self._name}: a coefficient per feature", self._table(), LEGEND]

    def page(self) -> ModelPage:
        """Show the largest coefficients, and all."""
        facts = self.facts
        sections = [Section("All coefficients", [self._table()])]
        if len(facts.coefficients) == 1:
            pairs = zip(facts.features, facts.coefficients[0], strict=True)
            largest = sorted(pairs, key=lambda pair: -abs(pair[1]))[:MOST_BARS]
            bars = [Bar(name, value, f"{value:+.3f}") for name, value in largest]
            said = f"The largest coefficients; above zero they speak for {facts.classes[1]}."
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

    def _table(self) -> TableBlock:
        facts = self.facts
        heads = facts.classes if len(facts.coefficients) > 1 else [f"for {facts.classes[-1]}"]
        values = np.array(facts.coefficients)
        order = np.argsort(-np.abs(values).max(axis=0), kind="stable")
        rows = [
            [Field(facts.features[j]), *(signed_field(float(each[j]), 3) for each in values)]
            for j in order
        ]
        columns = [Column("feature"), *(Column(head, numeric=True) for head in heads)]
        return TableBlock(columns, rows, "Coefficients, the largest first", LEGEND)


def linear_decision(subject: Subject, row: int) -> RowDecision:
    """Tell what each column adds: coefficient times its distance from the mean of the rows."""
    estimator = final_step(subject.model)
    encoded = np.asarray(rows_at_final_step(subject.model, subject.X), dtype=float)
    classes = [str(each) for each in estimator.classes_]
    predicted = subject.model.predict(subject.X[row : row + 1])[0]
    label = int(np.flatnonzero(estimator.classes_ == predicted)[0])
    return RowDecision(
        row=row,
        prediction=classes[label],
        classes=classes,
        scores=_scores(subject, row),
        decision=_decision(subject, row, encoded, label),
    )


def _decision(subject: Subject, row: int, encoded: Any, label: int) -> Decision | None:
    estimator = final_step(subject.model)
    part = linear_part(estimator, estimator.classes_)
    origins = feature_origins(subject.model, subject.columns)
    if part is None or origins is None:
        return None
    several = len(encoded) > 1
    start = encoded.mean(axis=0) if several else np.zeros(encoded.shape[1])
    coef, level = add_up([part], np.ones(1), label)
    amounts = by_column(coef * (encoded[row] - start), origins, len(subject.columns))
    base = level + float(coef @ start)
    where = "the mean of the rows given" if several else "zero, as there is no other row"
    odds = "log odds" if len(estimator.classes_) == 2 else "logit against the mean of the classes"
    return Decision(
        label=str(estimator.classes_[label]),
        measure=f"{odds}; each column against {where}",
        base=base,
        contributions=contributions_of(
            subject.columns, subject.values(row), amounts, subject.kinds
        ),
        value=base + float(amounts.sum()),
    )


def _scores(subject: Subject, row: int) -> list[float]:
    X = subject.X[row : row + 1]
    if hasattr(subject.model, "predict_proba"):
        return [float(each) for each in subject.model.predict_proba(X)[0]]
    values = np.ravel(subject.model.decision_function(X))
    return [-float(values[0]), float(values[0])] if len(values) == 1 else values.tolist()
