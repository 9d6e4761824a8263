"""Bayesian networks: what each node depends on, and its probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from ensemblage.evaluation import NetworkDisplay
from ensemblage.explain._column_names import column_name, column_names
from ensemblage.explain._explanation import (
    Explanation,
    ModelPage,
    Subject,
    saved_picture,
)
from ensemblage.explain._probability_tables import NodeTable, probability_tables
from ensemblage.messages import count
from ensemblage.pages import (
    NOTHING,
    Column,
    Field,
    NetworkBlock,
    Section,
    TableBlock,
)
from ensemblage.parallel import final_step

# Longer lists of a network's nodes are cut short.
MANY_NODES = 8
MOST_TOLD = 12

Parents = Mapping[str, Sequence[str]]


class NetworkDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A Bayesian network."""

    parents: Annotated[dict[str, list[str]], Meta(description="What each node depends on.")]


class NetworkFacts(NamedTuple):
    """Parents of each node, the class first, and the nodes' tables, in the columns' names."""

    parents: dict[str, list[str]]
    target: str
    tables: dict[str, NodeTable]


@dataclass(frozen=True)
class NetworkExplanation(Explanation):
    """A network in the names of the user's columns."""

    has = "a Bayesian network"
    documents = (NetworkDocument,)

    facts: NetworkFacts

    @classmethod
    def explains(cls, estimator: Any) -> bool:
        """Recognise a network classifier by its graph."""
        return hasattr(estimator, "parents_")

    @classmethod
    def learned(cls, estimator: Any) -> Iterator[str]:
        """Size of the network, and nodes with more than one parent."""
        parents = estimator.parents_
        yield _size(parents)
        linked = {node: names for node, names in parents.items() if len(names) > 1}
        for node, names in list(linked.items())[:MANY_NODES]:
            yield f"{node} depends on {' and '.join(names)}"
        if len(linked) > MANY_NODES:
            yield f"and {len(linked) - MANY_NODES} more nodes with two parents or more"

    @classmethod
    def of(cls, subject: Subject) -> NetworkExplanation:
        """Read the graph and the tables."""
        estimator, columns = final_step(subject.model), subject.columns
        parents = {
            column_name(node, columns): column_names(above, columns)
            for node, above in estimator.parents_.items()
        }
        target = column_name(estimator.target_name_, columns)
        return cls(NetworkFacts(parents, target, _tables(estimator, columns)))

    @property
    def document(self) -> NetworkDocument:
        """The graph."""
        return NetworkDocument(self.facts.parents)

    def text(self) -> list[str | TableBlock]:
        """List what each node depends on."""
        parents = self.facts.parents
        rows = [[Field(node), _joined(above)] for node, above in parents.items()]
        columns = [Column("node"), Column("depends on")]
        return [f"A network of {count(len(parents), 'node')}.", TableBlock(columns, rows, "")]

    def page(self) -> ModelPage:
        """Show the drawing, the nodes, the tables."""
        parents, target, tables = self.facts
        arrows = sum(map(len, parents.values()))
        linked = [node for node, above in parents.items() if len(above) > 1]
        beside = [node for node, above in parents.items() if node != target and target in above]
        depend = (
            f"{len(beside)} of the {count(len(parents) - 1, 'feature')} depend on the class "
            f"directly; {len(linked)} depend on further features too."
        )
        rows = [
            [Field(node), _joined(above), Field(str(len(above)), len(above))]
            for node, above in parents.items()
        ]
        columns = [Column("node"), Column("depends on"), Column("parents", numeric=True)]
        sections = [
            Section("Network", [network_figure(parents, target)]),
            Section("Nodes", [TableBlock(columns, rows, "Each node and what it depends on")]),
            Section("Tables", probability_tables(tables)),
        ]
        known = [("nodes", str(len(parents))), ("arrows", str(arrows))]
        # what was noted in training is said here with the columns' own names
        return ModelPage(
            [f"{_size(parents).capitalize()}.", depend], known, sections, complete=True
        )

    def draw(self, picture: str = "png") -> bytes:
        """Draw the network in layers, the class on top."""
        display = NetworkDisplay(self.facts.parents, self.facts.target).plot()
        return saved_picture(display, picture, bbox_inches="tight")


def network_figure(parents: Parents, target: str) -> NetworkBlock:
    """Draw the network in layers, the class on top."""
    arrows = sum(map(len, parents.values()))
    return NetworkBlock(
        parents, target,
        f"Network of {len(parents)} nodes and {arrows} arrows. {_arrows_in_words(parents)}",
        "An arrow leads from a node to one whose probabilities depend on it. Arrows from the "
        "class are drawn faintly.",
    )  # fmt: skip


def _tables(estimator: Any, columns: Sequence[str]) -> dict[str, NodeTable]:
    network = estimator.graph()
    tables = {}
    for node in network.nodes:
        table, cuts = network.tables[node], estimator.cut_points_.get(node)
        tables[column_name(node, columns)] = NodeTable(
            states=network.states[node],
            cuts=None if cuts is None else cuts.tolist(),
            parents=column_names(table.parents, columns),
            given=table.configurations,
            probabilities=table.probabilities,
        )
    return tables


def _size(parents: Parents) -> str:
    arrows = sum(map(len, parents.values()))
    return f"a network of {count(len(parents), 'node')} and {count(arrows, 'arrow')}"


def _joined(above: Sequence[str]) -> Field:
    return Field(", ".join(above)) if above else NOTHING


def _arrows_in_words(parents: Parents) -> str:
    linked = [(node, above) for node, above in parents.items() if above]
    told = [f"{node} depends on {', '.join(above)}" for node, above in linked[:MOST_TOLD]]
    more = f"; and {len(linked) - MOST_TOLD} more" if len(linked) > MOST_TOLD else ""
    return "; ".join(told) + f"{more}."
