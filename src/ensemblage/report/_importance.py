"""Any other model, described by permutation importance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from sklearn.base import is_regressor

from ensemblage._core import Field, Heading, TableBlock, count, final_step, plain_name, signed_field
from ensemblage.evaluation import MEASURES
from ensemblage.report._blocks import Bar, BarsBlock, Section
from ensemblage.report._explanation import Explanation, ModelPage, Subject

N_REPEATS = 5
MOST_ROWS = 2000
"""Of more rows, these many in equal steps are looked at."""
MOST_BARS = 15


class ImportanceFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much a model's accuracy, or its RMSE, on the rows given needs each column."""

    estimator: Annotated[str, Meta(description="Its class.")]
    n_rows: Annotated[int, Meta(description="Rows that were looked at.")]
    accuracy: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        Meta(description="Of the model on these rows; null if it predicts numbers."),
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
        Meta(description="Of the model on these rows; null if it predicts classes."),
    ] = None

    @property
    def score(self) -> str:
        """The measure and its value, in words."""
        if self.rmse is not None:
            return f"RMSE {MEASURES['rmse'].written(self.rmse)}"
        return f"accuracy {self.accuracy:.4f}"

    @property
    def change(self) -> str:
        """What shuffling a column brings about."""
        return "loss of accuracy" if self.rmse is None else "rise of RMSE"

    def written(self, value: float) -> str:
        """Write an importance in a chart."""
        if self.rmse is None:
            return f"{value:+.1%}"
        return f"{value:+.{MEASURES['rmse'].places(self.rmse)}f}"


@dataclass(frozen=True)
class OtherExplanation(Explanation):
    """Permutation importance of the columns, on rows with their classes or numbers."""

    has = "rows and their target"
    documents = (ImportanceFacts,)

    facts: ImportanceFacts

    @classmethod
    def explains(cls, estimator: Any) -> bool:
        """Take any classifier or regressor."""
        return hasattr(estimator, "predict") and (
            hasattr(estimator, "classes_") or is_regressor(estimator)
        )

    @classmethod
    def learned(cls, estimator: Any, columns: Sequence[str]) -> Iterator[str]:
        """Say nothing: there is nothing to be seen without rows."""
        del estimator, columns
        yield from ()

    @classmethod
    def of(cls, subject: Subject) -> OtherExplanation:
        """Shuffle each column in turn; refuse where that cannot be done."""
        name = plain_name(type(final_step(subject.model)).__name__)
        if subject.row is not None:
            raise ValueError(
                f"This is a {name}: which columns moved one decision cannot be told exactly. "
                "Leave `row` out to see which columns it needs."
            )
        if subject.X is None or subject.y is None:
            raise ValueError(
                f"This is a {name}, which has no parts to list: give rows with their target, to "
                "see which columns it needs to predict them."
            )
        return cls(importance_facts(subject, name))

    @property
    def document(self) -> ImportanceFacts:
        """The importances."""
        return self.facts

    def text(self) -> list[str | TableBlock]:
        """List the columns, the most important first."""
        facts = self.facts
        said = f"{facts.estimator}: {facts.score} on {count(facts.n_rows, 'row')}"
        return [said, self._table(), self._legend()]

    def page(self) -> ModelPage:
        """Draw the most important columns, and list all."""
        facts = self.facts
        pairs = list(zip(facts.columns, facts.importance, strict=True))[:MOST_BARS]
        bars = [Bar(name, value, facts.written(value)) for name, value in pairs]
        chart = BarsBlock(bars, self._legend(), percent=facts.rmse is None, signed=True)
        sections = [Section("Importance", [chart]), Section("All columns", [self._table()])]
        told = (
            f"A {facts.estimator}, which has no parts to list. It has {facts.score} on "
            f"{count(facts.n_rows, 'row')}, and needs {facts.columns[0]} most for that."
        )
        return ModelPage([told], [("columns", str(len(facts.columns)))], sections)

    def draw(self, picture: str = "png") -> bytes:
        """Refuse: a page has the chart."""
        del picture
        raise ValueError("Importances have no drawing of their own: write a page (.html) instead.")

    def _legend(self) -> str:
        return (
            f"{self.facts.change[0].upper()}{self.facts.change[1:]} on the rows given when a "
            f"column's values are shuffled, mean of {N_REPEATS}; columns that say the same can "
            "stand in for each other. A model looks better on its training rows than it is: rows "
            "that it has not seen tell more."
        )

    def _table(self) -> TableBlock:
        pairs = zip(self.facts.columns, self.facts.importance, strict=True)
        rmse = self.facts.rmse
        places = 4 if rmse is None else MEASURES["rmse"].places(rmse)
        rows = [[Field(name), signed_field(value, places)] for name, value in pairs]
        columns = [Heading("column"), Heading(self.facts.change, numeric=True)]
        return TableBlock(columns, rows, "Columns that the model needs", self._legend())


def importance_facts(subject: Subject, name: str) -> ImportanceFacts:
    """Measure what is lost when each column is shuffled, with fixed seeds."""
    step = -(-len(subject.X) // MOST_ROWS)
    X, y = np.asarray(subject.X)[::step], np.asarray(subject.y)[::step]
    numbers = is_regressor(subject.model)
    loss = _rmse if numbers else _error
    said = subject.model.predict(X)
    whole = loss(said, y)
    rng = np.random.default_rng(0)
    losses = []
    for j in range(X.shape[1]):
        changed, found = X.copy(), []
        for _ in range(N_REPEATS):
            changed[:, j] = rng.permutation(X[:, j])
            found.append(loss(subject.model.predict(changed), y) - whole)
        losses.append(float(np.mean(found)))
    order = np.argsort(-np.array(losses), kind="stable")
    return ImportanceFacts(
        estimator=name,
        n_rows=len(y),
        accuracy=None if numbers else float(np.mean(said == y)),
        columns=[str(subject.columns[j]) for j in order],
        importance=[losses[j] for j in order],
        rmse=whole if numbers else None,
    )


def _rmse(predicted: Any, y: Any) -> float:
    return float(np.sqrt(np.mean((predicted - y) ** 2)))


def _error(predicted: Any, y: Any) -> float:
    return float(np.mean(predicted != y))
