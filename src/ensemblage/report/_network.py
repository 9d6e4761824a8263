"""Bayesian networks described: arcs, probability tables, contributions to the log-odds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from ensemblage._core import MINUS, NOTHING, Field, Heading, TableBlock, count, listed
from ensemblage.bayes import NetworkDisplay, ProbabilityTable
from ensemblage.report._blocks import NetworkBlock, Section
from ensemblage.report._contributions import Decision, RowExplanation, row_section, value_text
from ensemblage.report._explanation import Explanation, ModelContext, column_names

MAX_CONFIGURATIONS = 8
"""Configurations of the parents that are columns of a table; more are its rows."""
MAX_TABLE_ROWS = 60
MAX_RANGES = 12
"""Ranges of a numeric node; more are merged."""
MERGED_RANGES = 8
"""Ranges after they are merged."""
MAX_LEARNED = 8
"""Nodes with several parents that are noted after a fit."""
MAX_ALT = 12
"""Nodes whose parents are listed in the text alternative of the drawing."""
MAX_OPEN = 24
"""A longer list of nodes is folded."""

Parents = Mapping[str, Sequence[str]]


class NetworkDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A Bayesian network."""

    parents: Annotated[dict[str, list[str]], Meta(description="The parents of each node.")]
    confidence: Annotated[
        dict[str, dict[str, float]] | None,
        Meta(
            description="For each node, the bootstrap frequency of each parent: the share of the "
            "bootstrap samples whose own search chooses it; null for a plain network."
        ),
    ] = None


DOCUMENTS = (NetworkDocument,)


def matches(estimator: Any) -> bool:
    """Recognise a network classifier by its graph."""
    return hasattr(estimator, "parents_")


def learned(estimator: Any, columns: Sequence[str]) -> Iterator[str]:
    """Size of the network, and nodes with more than one parent."""
    parents = _document(estimator, columns).parents
    yield _size(parents)
    linked = {node: names for node, names in parents.items() if len(names) > 1}
    for node, names in list(linked.items())[:MAX_LEARNED]:
        yield f"{node} depends on {listed(names)}"
    if len(linked) > MAX_LEARNED:
        yield f"and {len(linked) - MAX_LEARNED} more nodes with two parents or more"


def explain(context: ModelContext) -> Explanation:
    """Show the drawing, the nodes, the probability tables."""
    estimator = context.estimator
    document = _document(estimator, context.columns)
    parents, confidence, target = document.parents, document.confidence, estimator.target_name_
    n_arcs = sum(map(len, parents.values()))
    on_class = sum(target in above for node, above in parents.items() if node != target)
    several = sum(len(above) > 1 for above in parents.values())
    sections = [
        Section("Network", [network_figure(document, target)]),
        Section("Nodes", [_nodes_table(document)]),
        Section(
            "Conditional probability tables", _tables(estimator, context.columns), in_terminal=False
        ),
    ]
    return Explanation(
        document,
        [
            f"{_size(parents).capitalize()}.",
            dependence_text(len(parents) - 1, on_class, several),
        ],
        {"nodes": str(len(parents)), "arcs": str(n_arcs)},
        sections,
        display=lambda: NetworkDisplay(parents, target, confidence).plot().figure_,
    )


def explain_row(context: ModelContext) -> tuple[RowExplanation, list[Section]]:
    """Give each column's contribution to the log-odds: exact, as the network is a product."""
    scores = context.model.predict_proba(context.one_row)[0]
    label = int(np.argmax(scores))
    parts = context.estimator.explain(context.encoded_row)[0]
    two = parts.ndim == 1
    # of two classes the contributions are those to the second
    amounts = parts * (1 if label == 1 else -1) if two else parts[:, label]
    measure = "log-odds" if two else "log probability against the mean of the classes"
    added = "log likelihood ratio" if two else "conditional log probability"
    scaled = "" if context.estimator.temperature_ == 1 else " after temperature scaling"
    missing = any(value_text(value) == "missing" for value in context.values())
    imputed = "; missing values are imputed by the mode" if missing else ""
    classes = [str(each) for each in context.estimator.classes_]
    decision = Decision(
        label=classes[label],
        measure=f"{measure}{scaled}; the baseline is the class prior, and each column adds its "
        f"{added}{imputed}",
        baseline=float(amounts[0]),
        contributions=context.contributions(amounts[1:]),
        value=float(amounts.sum()),
    )
    row = RowExplanation(
        context.row_index, classes[label], classes, [float(each) for each in scores], decision
    )
    return row, [row_section(row)]


def _document(estimator: Any, columns: Sequence[str]) -> NetworkDocument:
    """Name the graph's nodes after the table's columns."""
    names = column_names(estimator, columns)
    found = getattr(estimator, "arc_confidence_", None)
    return NetworkDocument(
        {
            names.get(node, node): [names.get(each, each) for each in above]
            for node, above in estimator.parents_.items()
        },
        None
        if found is None
        else {
            names.get(node, node): {names.get(each, each): share for each, share in shares.items()}
            for node, shares in found.items()
        },
    )


def _size(parents: Parents) -> str:
    n_arcs = sum(map(len, parents.values()))
    return f"a network of {count(len(parents), 'node')} and {count(n_arcs, 'arc')}"


def dependence_text(n_features: int, on_class: int, on_more: int) -> str:
    """State how many features depend on the class, and how many of all on further ones."""
    if n_features == 1:
        direct = "The only feature depends" if on_class else "The only feature does not depend"
    elif on_class in (0, n_features):
        direct = f"All {n_features} features depend" if on_class else "No feature depends"
    else:
        direct = f"{on_class} of the {n_features} features depend{'s' * (on_class == 1)}"
    more = f"; {on_more} depend{'s' * (on_more == 1)} on further features too" if on_more else ""
    return f"{direct} on the class directly{more}."


def network_figure(document: NetworkDocument, target: str) -> NetworkBlock:
    """Draw the network in layers, the class on top."""
    parents, confidence = document.parents, document.confidence
    n_arcs = sum(map(len, parents.values()))
    linked = [(node, above) for node, above in parents.items() if above]
    arcs = "; ".join(f"{node} depends on {', '.join(above)}" for node, above in linked[:MAX_ALT])
    more = f"; and {len(linked) - MAX_ALT} more" if len(linked) > MAX_ALT else ""
    wide = " An arc is wider the higher its bootstrap frequency." if confidence else ""
    return NetworkBlock(
        parents,
        target,
        f"Network of {len(parents)} nodes and {n_arcs} arcs. {arcs}{more}.",
        "An arc leads from a node to one whose probabilities depend on it. Arcs from the class "
        f"are drawn faintly.{wide}",
        confidence or {},
    )


def _nodes_table(document: NetworkDocument) -> TableBlock:
    """List each node's parents, with their bootstrap frequencies."""
    rows = []
    for node, above in document.parents.items():
        shares = (document.confidence or {}).get(node, {})
        names = [f"{each} ({shares[each]:.0%})" if each in shares else each for each in above]
        depends = Field(", ".join(names)) if names else NOTHING
        rows.append([Field(node), depends, Field(str(len(above)), len(above))])
    columns = [Heading("node"), Heading("depends on"), Heading("number of parents", numeric=True)]
    return TableBlock(columns, rows, "Parents of each node", folded=len(rows) > MAX_OPEN)


def _tables(estimator: Any, columns: Sequence[str]) -> list[TableBlock]:
    network, names = estimator.graph(), column_names(estimator, columns)
    cuts = {node: estimator.cut_points_.get(node) for node in network.nodes}
    labels = {
        node: network.states[node] if cuts[node] is None else range_labels(cuts[node].tolist())
        for node in network.nodes
    }
    return [
        probability_table(node, network.tables[node], labels, cuts[node], names)
        for node in network.nodes
    ]


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


def merge_ranges(
    cuts: Sequence[float], probabilities: NDArray[np.float64], most: int = MERGED_RANGES
) -> tuple[list[str], NDArray[np.float64]]:
    """Merge neighbouring ranges into a few that are about equally likely.

    Probabilities are of shape (n_configurations, n_ranges); labels and probabilities of the
    merged ones are given.
    """
    share = probabilities.mean(axis=0)
    group = ((np.cumsum(share) - share / 2) * most).astype(int)
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    kept = [cuts[start - 1] for start in starts[1:]]
    return range_labels(kept), np.add.reduceat(probabilities, starts, axis=1)


def probability_table(
    node: str,
    table: ProbabilityTable,
    labels: Mapping[str, Sequence[str]],
    cuts: Any = None,
    names: Mapping[str, str] | None = None,
) -> TableBlock:
    """Write a node's table, folded; ``labels`` name all nodes' states, ``cuts`` are cut points."""
    names = names or {}
    own, parents = names.get(node, node), [names.get(each, each) for each in table.parents]
    given = [
        [labels[parent][code] for parent, code in zip(table.parents, codes, strict=True)]
        for codes in table.configurations.tolist()
    ]
    states, probabilities, notes = list(labels[node]), table.probabilities, []
    if cuts is not None and len(states) > MAX_RANGES:
        notes.append(f"{len(states)} ranges are merged here.")
        states, probabilities = merge_ranges(cuts, probabilities)
    if len(given) <= MAX_CONFIGURATIONS:
        columns = [Heading(own)]
        columns += [Heading(", ".join(each) or "probability", numeric=True) for each in given]
        given, probabilities = [[state] for state in states], probabilities.T
    else:
        columns = [Heading(parent) for parent in parents]
        columns += [Heading(state, numeric=True) for state in states]
    rows = [
        [*map(Field, row), *(Field(f"{value:.3f}", round(value, 6)) for value in line)]
        for row, line in zip(given, probabilities.tolist(), strict=True)
    ]
    if len(rows) > MAX_TABLE_ROWS:
        notes.append(f"{len(rows) - MAX_TABLE_ROWS:,} more rows are not shown.")
    caption = f"{own} given {', '.join(parents)}" if parents else own
    return TableBlock(columns, rows[:MAX_TABLE_ROWS], caption, " ".join(notes), folded=True)
