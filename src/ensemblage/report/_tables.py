"""A network's conditional probabilities as tables to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ensemblage.report._cells import MINUS
from ensemblage.report._page import Cell, Column, TableBlock

MOST_CONFIGURATIONS = 8
"""So many side by side; more stand below each other."""
MOST_ROWS = 60
MOST_RANGES = 12
"""Ranges of a number beyond this are joined."""
JOINED = 8
"""To so many."""

Labels = Mapping[str, Sequence[str]]


def table_blocks(tables: Mapping[str, Mapping[str, Any]]) -> list[TableBlock]:
    """Write each node's table.

    Parameters
    ----------
    tables : mapping of str to mapping
        Per node its ``states``, the ``cuts`` between them if they are ranges of a number, else
        None, its ``parents``, and ``rows``: which state of each parent is ``given``, by position,
        and the ``probabilities`` of the states.

    Returns
    -------
    list of TableBlock
        Closed until the reader opens them.
    """
    labels = {
        node: table["states"] if table["cuts"] is None else range_labels(table["cuts"])
        for node, table in tables.items()
    }
    return [_block(node, table, labels) for node, table in tables.items()]


def range_labels(cuts: Sequence[float]) -> list[str]:
    """Name the ranges between cut points.

    Parameters
    ----------
    cuts : sequence of float
        Ascending.

    Returns
    -------
    list of str
        One more than there are cuts.
    """
    if len(cuts) == 0:
        return ["any"]
    ends = [f"{cut:.6g}" for cut in cuts]
    if len(set(ends)) < len(cuts):
        ends = [repr(float(cut)) for cut in cuts]
    ends = [end.replace("-", MINUS) for end in ends]
    between = [f"{low} to {high}" for low, high in pairwise(ends)]
    return [f"≤ {ends[0]}", *between, f"> {ends[-1]}"]


def join_ranges(
    cuts: Sequence[float], chances: np.ndarray, most: int = JOINED
) -> tuple[list[str], np.ndarray]:
    """Join neighbouring ranges into a few that are about equally likely.

    Parameters
    ----------
    cuts : sequence of float
        Ascending.
    chances : ndarray of shape (n_configurations, n_ranges)
        Probabilities of the ranges.
    most : int, default=8
        So many at most.

    Returns
    -------
    labels : list of str
        Of the joined ranges.
    chances : ndarray of shape (n_configurations, n_joined)
        Their probabilities.
    """
    share = chances.mean(axis=0)
    group = ((np.cumsum(share) - share / 2) * most).astype(int)
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    kept = [cuts[start - 1] for start in starts[1:]]
    return range_labels(kept), np.add.reduceat(chances, starts, axis=1)


def _block(node: str, table: Mapping[str, Any], labels: Labels) -> TableBlock:
    parents: Sequence[str] = table["parents"]
    given = [
        [labels[parent][code] for parent, code in zip(parents, row["given"], strict=True)]
        for row in table["rows"]
    ]
    states = list(labels[node])
    chances = np.array([row["probabilities"] for row in table["rows"]], dtype=float)
    notes = []
    if table["cuts"] is not None and len(states) > MOST_RANGES:
        notes.append(f"{len(states)} ranges are joined here.")
        states, chances = join_ranges(table["cuts"], chances)
    if len(given) <= MOST_CONFIGURATIONS:
        columns = [Column(node)]
        columns += [Column(", ".join(each) or "probability", numeric=True) for each in given]
        rows = _rows([[state] for state in states], chances.T)
    else:
        columns = [Column(parent) for parent in parents]
        columns += [Column(state, numeric=True) for state in states]
        rows = _rows(given, chances)
    if len(rows) > MOST_ROWS:
        notes.append(f"{len(rows) - MOST_ROWS:,} more rows are not shown.")
    said = f"{node} given {', '.join(parents)}" if parents else node
    return TableBlock(columns, rows[:MOST_ROWS], said, " ".join(notes), folded=True)


def _rows(names: Sequence[Sequence[str]], chances: np.ndarray) -> list[list[Cell]]:
    return [
        [*map(Cell, name), *(Cell(f"{value:.3f}", round(value, 6)) for value in line)]
        for name, line in zip(names, chances.tolist(), strict=True)
    ]
