"""A network's conditional probabilities as tables to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.pages import MINUS, Column, Field, TableBlock

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
        columns = [Column(node)]
        columns += [Column(", ".join(each) or "probability", numeric=True) for each in given]
        rows = _rows([[state] for state in states], chances.T)
    else:
        columns = [Column(parent) for parent in table.parents]
        columns += [Column(state, numeric=True) for state in states]
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
