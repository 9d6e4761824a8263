"""A network's conditional probabilities as tables to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ensemblage.report._page import Cell, Column, TableBlock

MOST_CONFIGURATIONS = 8
"""So many side by side; more stand below each other."""
MOST_ROWS = 60


def table_blocks(tables: Mapping[str, Mapping[str, Any]]) -> list[TableBlock]:
    """Write each node's table.

    Parameters
    ----------
    tables : mapping of str to mapping
        Per node ``states``, ``parents``, and ``rows``: what is ``given`` of the parents, and the
        ``probabilities`` of the states.

    Returns
    -------
    list of TableBlock
        Closed until the reader opens them.
    """
    return [_block(node, table) for node, table in tables.items()]


def _block(node: str, table: Mapping[str, Any]) -> TableBlock:
    given = f" given {', '.join(table['parents'])}" if table["parents"] else ""
    write = _states_down if len(table["rows"]) <= MOST_CONFIGURATIONS else _configurations_down
    columns, rows = write(node, table)
    left = len(rows) - MOST_ROWS
    legend = f"{left} more rows are not shown." if left > 0 else ""
    return TableBlock(columns, rows[:MOST_ROWS], f"{node}{given}", legend, folded=True)


def _states_down(node: str, table: Mapping[str, Any]) -> tuple[list[Column], list[list[Cell]]]:
    heads = [", ".join(row["given"]) or "probability" for row in table["rows"]]
    columns = [Column(node), *(Column(head, numeric=True) for head in heads)]
    rows = [
        [Cell(state), *(_probability(row["probabilities"][k]) for row in table["rows"])]
        for k, state in enumerate(table["states"])
    ]
    return columns, rows


def _configurations_down(
    node: str, table: Mapping[str, Any]
) -> tuple[list[Column], list[list[Cell]]]:
    del node
    columns = [Column(name) for name in table["parents"]]
    columns += [Column(state, numeric=True) for state in table["states"]]
    rows = [
        [*(Cell(each) for each in row["given"]), *map(_probability, row["probabilities"])]
        for row in table["rows"]
    ]
    return columns, rows


def _probability(value: float) -> Cell:
    return Cell(f"{value:.3f}", value)
