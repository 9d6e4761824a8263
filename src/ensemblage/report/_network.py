"""Bayesian networks described."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from ensemblage._core import (
    MINUS,
    NOTHING,
    Field,
    Heading,
    TableBlock,
    count,
    final_step,
    listed,
    rows_at_final_step,
)
from ensemblage.bayes import NetworkDisplay
from ensemblage.report._blocks import NetworkBlock, Section
from ensemblage.report._contributions import (
    Decision,
    RowDecision,
    contributions_of,
    row_section,
    row_text,
    value_text,
)
from ensemblage.report._explanation import (
    Explanation,
    ModelPage,
    Subject,
    column_names,
    saved_picture,
)

MOST_CONFIGURATIONS = 8
"""So many side by side; more stand below each other."""
MOST_ROWS = 60
MOST_RANGES = 12
"""Ranges of a number beyond this are joined."""
JOINED = 8
"""To so many."""

Labels = Mapping[str, Sequence[str]]


class NodeTable(NamedTuple):
    """A node's states, the cuts between them if they are ranges of a number, and its table.

    Row i of ``probabilities``, of shape (n_configurations, n_states), is the distribution of the
    states where the parents are in the states ``given[i]``, by position.
    """

    states: Sequence[str]
    cuts: Sequence[float] | None
    parents: Sequence[str]
    given: NDArray[np.integer[Any]]
    probabilities: NDArray[np.float64]


def probability_tables(tables: Mapping[str, NodeTable]) -> list[TableBlock]:
    """Write each node's table, closed until the reader opens it."""
    labels = {
        node: table.states if table.cuts is None else range_labels(table.cuts)
        for node, table in tables.items()
    }
    return [_block(node, table, labels) for node, table in tables.items()]


def range_labels(cuts: Sequence[float]) -> list[str]:
    """Name the ranges between ascending cut points, one more than there are cuts."""
    if len(cuts) == 0:
        return ["any"]
    ends = [f"{cut:.6g}" for cut in cuts]
    if len(set(ends)) < len(cuts):
        ends = [repr(float(cut)) for cut in cuts]
    ends = [end.replace("-", MINUS) for end in ends]
    between = [f"{low} to {high}" for low, high in pairwise(ends)]
    return [f"≤ {ends[0]}", *between, f"> {ends[-1]}"]


def join_ranges(
    cuts: Sequence[float], chances: NDArray[np.float64], most: int = JOINED
) -> tuple[list[str], NDArray[np.float64]]:
    """Join neighbouring ranges into a few that are about equally likely.

    Chances are of shape (n_configurations, n_ranges); labels and chances of the joined are given.
    """
    share = chances.mean(axis=0)
    group = ((np.cumsum(share) - share / 2) * most).astype(int)
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    kept = [cuts[start - 1] for start in starts[1:]]
    return range_labels(kept), np.add.reduceat(chances, starts, axis=1)


def _block(node: str, table: NodeTable, labels: Labels) -> TableBlock:
    given = [
        [labels[parent][code] for parent, code in zip(table.parents, codes, strict=True)]
        for codes in table.given.tolist()
    ]
    states, chances = list(labels[node]), table.probabilities
    notes = []
    if table.cuts is not None and len(states) > MOST_RANGES:
        notes.append(f"{len(states)} ranges are joined here.")
        states, chances = join_ranges(table.cuts, chances)
    if len(given) <= MOST_CONFIGURATIONS:
        columns = [Heading(node)]
        columns += [Heading(", ".join(each) or "probability", numeric=True) for each in given]
        rows = _rows([[state] for state in states], chances.T)
    else:
        columns = [Heading(parent) for parent in table.parents]
        columns += [Heading(state, numeric=True) for state in states]
        rows = _rows(given, chances)
    if len(rows) > MOST_ROWS:
        notes.append(f"{len(rows) - MOST_ROWS:,} more rows are not shown.")
    said = f"{node} given {', '.join(table.parents)}" if table.parents else node
    return TableBlock(columns, rows[:MOST_ROWS], said, " ".join(notes), folded=True)


def _rows(names: Sequence[Sequence[str]], chances: NDArray[np.float64]) -> list[list[Field]]:
    return [
        [*map(Field, name), *(Field(f"{value:.3f}", round(value, 6)) for value in line)]
        for name, line in zip(names, chances.tolist(), strict=True)
    ]


# Longer lists of a network's nodes are cut short.
MANY_NODES = 8
MOST_TOLD = 12
MOST_OPEN = 24
"""A longer list of nodes waits until somebody opens it."""

Parents = Mapping[str, Sequence[str]]
Confidence = dict[str, dict[str, float]]


class NetworkDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A Bayesian network."""

    parents: Annotated[dict[str, list[str]], Meta(description="What each node depends on.")]
    confidence: Annotated[
        dict[str, dict[str, float]] | None,
        Meta(
            description="For each node, the share of the crowd that chooses each parent when its "
            "members search alone; null without a crowd."
        ),
    ] = None


class NetworkFacts(NamedTuple):
    """Parents of each node, the class first, and the nodes' tables, in the columns' names.

    The confidence is the share of a crowd that chooses an arc, by node and parent.
    """

    parents: dict[str, list[str]]
    target: str
    tables: dict[str, NodeTable]
    confidence: Confidence | None = None


@dataclass(frozen=True)
class NetworkExplanation(Explanation):
    """A network in the names of the user's columns."""

    has = "a Bayesian network"
    documents = (NetworkDocument,)

    facts: NetworkFacts
    story: RowDecision | None = None

    @classmethod
    def explains(cls, estimator: Any) -> bool:
        """Recognise a network classifier by its graph."""
        return hasattr(estimator, "parents_")

    @classmethod
    def learned(cls, estimator: Any, columns: Sequence[str]) -> Iterator[str]:
        """Size of the network, and nodes with more than one parent."""
        parents = _named_parents(estimator, columns)
        yield _size(parents)
        linked = {node: names for node, names in parents.items() if len(names) > 1}
        for node, names in list(linked.items())[:MANY_NODES]:
            yield f"{node} depends on {listed(names)}"
        if len(linked) > MANY_NODES:
            yield f"and {len(linked) - MANY_NODES} more nodes with two parents or more"

    @classmethod
    def of(cls, subject: Subject) -> NetworkExplanation:
        """Read the graph and the tables."""
        estimator, columns = final_step(subject.model), subject.columns
        parents = _named_parents(estimator, columns)
        target = estimator.target_name_
        story = None if subject.row is None else network_decision(subject, subject.row)
        tables, confidence = _tables(estimator, columns), _named_confidence(estimator, columns)
        return cls(NetworkFacts(parents, target, tables, confidence), story)

    @property
    def document(self) -> NetworkDocument | RowDecision:
        """The decision about the row if one was named, else the graph."""
        if self.story is not None:
            return self.story
        return NetworkDocument(self.facts.parents, self.facts.confidence)

    def text(self) -> list[str | TableBlock]:
        """List what each node depends on, or what each said of the row."""
        if self.story is not None:
            return row_text(self.story)
        parents = self.facts.parents
        rows = [[Field(node), self._depends_on(node)] for node in parents]
        columns = [Heading("node"), Heading("depends on")]
        return [f"A network of {count(len(parents), 'node')}.", TableBlock(columns, rows, "")]

    def page(self) -> ModelPage:
        """Show the drawing, the nodes, the tables."""
        parents, target, tables, confidence = self.facts
        arrows = sum(map(len, parents.values()))
        linked = [node for node, above in parents.items() if len(above) > 1]
        beside = [node for node, above in parents.items() if node != target and target in above]
        depend = _how_many_depend(len(parents) - 1, len(beside), len(linked))
        rows = [
            [Field(node), self._depends_on(node), Field(str(len(above)), len(above))]
            for node, above in parents.items()
        ]
        columns = [Heading("node"), Heading("depends on"), Heading("parents", numeric=True)]
        said, many = "Each node and what it depends on", len(rows) > MOST_OPEN
        nodes = TableBlock(columns, rows, said, folded=many)
        sections = [
            Section("Network", [network_figure(parents, target, confidence)]),
            Section("Nodes", [nodes]),
            Section("Tables", probability_tables(tables)),
        ]
        if self.story is not None:
            sections.insert(0, row_section(self.story))
        known = [("nodes", str(len(parents))), ("arrows", str(arrows))]
        # what was noted in training is said here with the columns' own names
        return ModelPage(
            [f"{_size(parents).capitalize()}.", depend], known, sections, complete=True
        )

    def draw(self, picture: str = "png") -> bytes:
        """Draw the network in layers, the class on top."""
        parents, target, _, confidence = self.facts
        display = NetworkDisplay(parents, target, confidence).plot()
        return saved_picture(display, picture, bbox_inches="tight")

    def _depends_on(self, node: str) -> Field:
        """List a node's parents, with the share of the crowd that chooses each."""
        above, shares = self.facts.parents[node], (self.facts.confidence or {}).get(node, {})
        told = [f"{each} ({shares[each]:.0%})" if each in shares else each for each in above]
        return Field(", ".join(told)) if told else NOTHING


def network_decision(subject: Subject, row: int) -> RowDecision:
    """Tell what each column's table adds to the log odds: exact, as the network is a product."""
    estimator, X = final_step(subject.model), subject.X[row : row + 1]
    scores = subject.model.predict_proba(X)[0]
    label = int(np.argmax(scores))
    parts = estimator.explain(rows_at_final_step(subject.model, X))[0]
    two = parts.ndim == 1
    # of two classes it is told what speaks for the second
    amounts = parts * (1 if label == 1 else -1) if two else parts[:, label]
    measure = "log odds" if two else "log probability against the mean of the classes"
    gaps = any(value_text(value) == "missing" for value in subject.values(row))
    filled = "; gaps are filled with the most frequent value here" if gaps else ""
    classes = [str(each) for each in estimator.classes_]
    return RowDecision(
        row=row,
        prediction=classes[label],
        classes=classes,
        scores=[float(score) for score in scores],
        decision=Decision(
            label=classes[label],
            measure=f"{measure}; the start is the class's share in training, and each column adds "
            f"what its table says of the row{filled}",
            base=float(amounts[0]),
            contributions=contributions_of(
                subject.columns, subject.values(row), amounts[1:], subject.kinds
            ),
            value=float(amounts.sum()),
        ),
    )


def _named_parents(estimator: Any, columns: Sequence[str]) -> dict[str, list[str]]:
    names = column_names(estimator, columns)
    return {
        names.get(node, node): [names.get(each, each) for each in above]
        for node, above in estimator.parents_.items()
    }


def _named_confidence(estimator: Any, columns: Sequence[str]) -> Confidence | None:
    found = getattr(estimator, "arc_confidence_", None)
    if found is None:
        return None
    names = column_names(estimator, columns)
    return {
        names.get(node, node): {names.get(each, each): share for each, share in shares.items()}
        for node, shares in found.items()
    }


def network_figure(
    parents: Parents, target: str, confidence: Confidence | None = None
) -> NetworkBlock:
    """Draw the network in layers, the class on top."""
    arrows = sum(map(len, parents.values()))
    wide = " An arrow is wider the more of the crowd choose it when they search alone."
    return NetworkBlock(
        parents, target,
        f"Network of {len(parents)} nodes and {arrows} arrows. {_arrows_in_words(parents)}",
        "An arrow leads from a node to one whose probabilities depend on it. Arrows from the "
        f"class are drawn faintly.{wide if confidence else ''}",
        confidence or {},
    )  # fmt: skip


def _tables(estimator: Any, columns: Sequence[str]) -> dict[str, NodeTable]:
    network, names = estimator.graph(), column_names(estimator, columns)
    tables = {}
    for node in network.nodes:
        table, cuts = network.tables[node], estimator.cut_points_.get(node)
        tables[names.get(node, node)] = NodeTable(
            states=network.states[node],
            cuts=None if cuts is None else cuts.tolist(),
            parents=[names.get(each, each) for each in table.parents],
            given=table.configurations,
            probabilities=table.probabilities,
        )
    return tables


def _size(parents: Parents) -> str:
    arrows = sum(map(len, parents.values()))
    return f"a network of {count(len(parents), 'node')} and {count(arrows, 'arrow')}"


def _how_many_depend(features: int, on_class: int, further: int) -> str:
    """Say how many features depend on the class, and how many of all on further ones."""
    if features == 1:
        direct = "The only feature depends" if on_class else "The only feature does not depend"
    elif on_class in (0, features):
        direct = f"All {features} features depend" if on_class else "No feature depends"
    else:
        direct = f"{on_class} of the {features} features depend{'s' * (on_class == 1)}"
    more = f"; {further} depend{'s' * (further == 1)} on further features too" if further else ""
    return f"{direct} on the class directly{more}."


def _arrows_in_words(parents: Parents) -> str:
    linked = [(node, above) for node, above in parents.items() if above]
    told = [f"{node} depends on {', '.join(above)}" for node, above in linked[:MOST_TOLD]]
    more = f"; and {len(linked) - MOST_TOLD} more" if len(linked) > MOST_TOLD else ""
    return "; ".join(told) + f"{more}."
