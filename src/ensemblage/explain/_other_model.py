"""Models that cannot be looked into: how much their accuracy needs each column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from ensemblage.explain._explanation import Explanation, ModelPage, Subject
from ensemblage.messages import count, plain_name
from ensemblage.pages import Bar, BarsBlock, Column, Field, Section, TableBlock, signed_field
from ensemblage.parallel import final_step

N_REPEATS = 5
MOST_ROWS = 2000
"""Of more rows, these many in equal steps are looked at."""
MOST_BARS = 15


class ImportanceFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much a model's accuracy on the rows given needs each column."""

    estimator: Annotated[str, Meta(description="Its class.")]
    n_rows: Annotated[int, Meta(description="Rows that were looked at.")]
    accuracy: Annotated[float, Meta(ge=0, le=1, description="Of the model on these rows.")]
    columns: Annotated[list[str], Meta(description="The most important first.")]
    importance: Annotated[
        list[float],
        Meta(description="Mean loss of accuracy when the column's values are shuffled."),
    ]


@dataclass(frozen=True)
class OtherExplanation(Explanation):
    """Permutation importance of the columns, on rows with their classes."""

    has = "rows and their classes"
    documents = (ImportanceFacts,)

    facts: ImportanceFacts

    @classmethod
    def explains(cls, estimator: Any) -> bool:
        """Take any classifier."""
        return hasattr(estimator, "classes_") and hasattr(estimator, "predict")

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
                "Leave `row` out to see which columns its accuracy needs."
            )
        if subject.X is None or subject.y is None:
            raise ValueError(
                f"This is a {name}, which has no parts to list: give rows with their classes, to "
                "see which columns its accuracy on them needs."
            )
        return cls(importance_facts(subject, name))

    @property
    def document(self) -> ImportanceFacts:
        """The importances."""
        return self.facts

    def text(self) -> list[str | TableBlock]:
        """List the columns, the most important first."""
        facts = self.facts
        said = f"{facts.estimator}: accuracy {facts.accuracy:.4f} on {count(facts.n_rows, 'row')}"
        return [said, self._table(), self._legend()]

    def page(self) -> ModelPage:
        """Draw the most important columns, and list all."""
        facts = self.facts
        pairs = list(zip(facts.columns, facts.importance, strict=True))[:MOST_BARS]
        bars = [Bar(name, value, f"{value:+.1%}") for name, value in pairs]
        chart = BarsBlock(bars, self._legend(), percent=True, signed=True)
        sections = [Section("Importance", [chart]), Section("All columns", [self._table()])]
        told = (
            f"A {facts.estimator}, which has no parts to list; what its accuracy on "
            f"{count(facts.n_rows, 'row')}, {facts.accuracy:.4f}, needs most is {facts.columns[0]}."
        )
        return ModelPage([told], [("columns", str(len(facts.columns)))], sections)

    def draw(self, picture: str = "png") -> bytes:
        """Refuse: a page has the chart."""
        del picture
        raise ValueError("Importances have no drawing of their own: write a page (.html) instead.")

    def _legend(self) -> str:
        return (
            "Loss of accuracy on the rows given when a column's values are shuffled, mean of "
            f"{N_REPEATS}; columns that say the same can stand in for each other. A model looks "
            "better on its training rows than it is: rows that it has not seen tell more."
        )

    def _table(self) -> TableBlock:
        pairs = zip(self.facts.columns, self.facts.importance, strict=True)
        rows = [[Field(name), signed_field(value, 4)] for name, value in pairs]
        columns = [Column("column"), Column("loss of accuracy", numeric=True)]
        return TableBlock(columns, rows, "Columns that the model needs", self._legend())


def importance_facts(subject: Subject, name: str) -> ImportanceFacts:
    """Measure the loss of accuracy when each column is shuffled, with fixed seeds."""
    step = -(-len(subject.X) // MOST_ROWS)
    X, y = np.asarray(subject.X)[::step], np.asarray(subject.y)[::step]
    accuracy = float(np.mean(subject.model.predict(X) == y))
    rng = np.random.default_rng(0)
    losses = []
    for j in range(X.shape[1]):
        changed, found = X.copy(), []
        for _ in range(N_REPEATS):
            changed[:, j] = rng.permutation(X[:, j])
            found.append(accuracy - float(np.mean(subject.model.predict(changed) == y)))
        losses.append(float(np.mean(found)))
    order = np.argsort(-np.array(losses), kind="stable")
    return ImportanceFacts(
        estimator=name,
        n_rows=len(y),
        accuracy=accuracy,
        columns=[str(subject.columns[j]) for j in order],
        importance=[losses[j] for j in order],
    )
