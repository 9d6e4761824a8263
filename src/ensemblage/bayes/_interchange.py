"""What the text formats of networks have in common: variables and tables as a document gives them.

In a :class:`Definition` the node's own states change fastest.
"""

from __future__ import annotations

import math
from graphlib import CycleError, TopologicalSorter
from itertools import product
from typing import NamedTuple

import numpy as np

from ensemblage.bayes._probability_table import MAX_ENTRIES, ProbabilityTable, check_entries

LONGEST_PROBLEM = 400


class NetworkFormatError(ValueError):
    """A file that should hold a network does not; the message says where."""


class NetworkParts(NamedTuple):
    """States and tables of all nodes, as :class:`BayesNetwork` takes them."""

    states: dict[str, list[str]]
    tables: dict[str, ProbabilityTable]


class Definition(NamedTuple):
    """A node's table as a file gives it, beginning at a line."""

    node: str
    parents: list[str]
    values: list[float]
    line: int


def fail(line: int, problem: str) -> NetworkFormatError:
    """Make an error that names the line, and not all of a name that fills the document."""
    if len(problem) > LONGEST_PROBLEM:
        problem = f"{problem[: LONGEST_PROBLEM // 2]} … {problem[-LONGEST_PROBLEM // 2 :]}"
    return NetworkFormatError(f"Line {line}: {problem}")


def read_number(text: str, line: int) -> float:
    """Read a probability."""
    try:
        value = float(text)
    except ValueError:
        raise fail(line, f"expected a probability, got {text!r}.") from None
    if not 0.0 <= value <= 1.0:
        raise fail(line, f"a probability lies between 0 and 1, got {text!r}.")
    return value


def add_variable(states: dict[str, list[str]], name: str, found: list[str], line: int) -> None:
    """Take in a variable, in place."""
    if name in states or not found or len(set(found)) < len(found):
        raise fail(line, f"variable {name!r} needs states, once, all different.")
    states[name] = found


def assemble(states: dict[str, list[str]], definitions: list[Definition]) -> NetworkParts:
    """Check that variables and tables fit together."""
    if not states:
        raise fail(1, "the document declares no variable.")
    tables: dict[str, ProbabilityTable] = {}
    for definition in definitions:
        if definition.node in tables:
            raise fail(definition.line, f"a second table of {definition.node!r}.")
        tables[definition.node] = _make_table(states, definition)
    without = [name for name in states if name not in tables]
    if without:
        raise fail(1, f"no table for {without}; each variable needs one.")
    try:
        TopologicalSorter({name: table.parents for name, table in tables.items()}).prepare()
    except CycleError as error:
        raise fail(1, f"the nodes {error.args[1][1:]} form a cycle.") from None
    return NetworkParts(states, {name: tables[name] for name in states})


def n_entries(states: dict[str, list[str]], names: list[str]) -> int:
    """Count the numbers in the table of the first of these nodes, given the others."""
    return math.prod(len(states[name]) for name in names)


def _make_table(states: dict[str, list[str]], definition: Definition) -> ProbabilityTable:
    node, parents, values, line = definition
    for name in (node, *parents):
        if name not in states:
            raise fail(line, f"the table of {node!r} names {name!r}, which is no variable.")
    sizes = [len(states[name]) for name in parents]
    n_states = len(states[node])
    expected = n_entries(states, [node, *parents])
    check_entries(expected, MAX_ENTRIES, node, parents)
    if len(values) != expected:
        raise fail(line, f"the table of {node!r} has {len(values)} numbers, expected {expected}.")
    probabilities = np.array(values).reshape(-1, n_states)
    if np.abs(probabilities.sum(axis=1) - 1.0).max() > 1e-3:
        raise fail(line, f"the table of {node!r} has a distribution that does not add up to 1.")
    listed = np.array(list(product(*map(range, sizes))), dtype=np.int32)
    return ProbabilityTable(
        parents, listed.reshape(len(probabilities), len(parents)), probabilities
    )
