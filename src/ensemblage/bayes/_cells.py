"""How many cells a table may have, and which configurations of parents occur."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._tables import refine

MAX_CELLS = 2**24

Refined = tuple[NDArray[np.int32], NDArray[np.int32], int]
"""Configuration of each row, where the last parent's values lead, number of configurations."""

KNOWN_ROWS = 2**22
"""Configurations are remembered up to so many rows in all."""


class EntryCapError(ValueError):
    """A table would have more entries than ``max_entries`` allows."""


def check_cells(cells: int, max_entries: int, node: str, parents: Sequence[str]) -> None:
    """Refuse a table that is too large, before any of it is allocated.

    Parameters
    ----------
    cells : int
        What the table would take.
    max_entries : int
        The cap.
    node : str
        Name of the table's node.
    parents : sequence of str
        Names of the parents that it would have.
    """
    if cells > max_entries:
        given = ", ".join(map(repr, parents)) or "no parents"
        raise EntryCapError(
            f"The table of {node!r} given {given} would take {cells} entries, more than "
            f"max_entries={max_entries}. Lower max_parents, leave out or merge columns with many "
            "categories, or raise max_entries."
        )


class Configurations:
    """Numbers the observed configurations of growing sets of parents.

    Parameters
    ----------
    columns : ndarray of shape (n_nodes, n_rows)
        Codes; the class first.
    n_categories : ndarray of shape (n_nodes,)
        Number of codes of each node.
    names : list of str
        Names of the nodes, for errors.
    max_entries : int
        Cap on the cells of any table.
    """

    def __init__(
        self,
        columns: NDArray[np.int32],
        n_categories: NDArray[np.int64],
        names: list[str],
        max_entries: int = MAX_CELLS,
    ) -> None:
        self.columns = columns
        self.n_categories = n_categories
        self.names = names
        self.max_entries = max_entries
        self._empty = np.zeros(columns.shape[1], dtype=np.int32)
        self._known: dict[tuple[int, ...], Refined] = {}

    def of(self, parents: Sequence[int]) -> tuple[NDArray[np.int32], int]:
        """Count off the rows' configurations of some parents.

        Parameters
        ----------
        parents : sequence of int
            Nodes, in the order in which they were added.

        Returns
        -------
        configuration : ndarray of shape (n_rows,)
            Number of each row's configuration.
        n_configurations : int
            How many occur.
        """
        if not parents:
            return self._empty, 1
        configuration, _, count = self._refined(tuple(parents))
        return configuration, count

    def steps(
        self, parents: Sequence[int]
    ) -> tuple[NDArray[np.int32], int, list[NDArray[np.int32]]]:
        """Count off the configurations and keep where each parent's value leads.

        Parameters
        ----------
        parents : sequence of int
            Nodes, in the order in which they were added.

        Returns
        -------
        configuration : ndarray of shape (n_rows,)
            Number of each row's configuration.
        n_configurations : int
            How many occur.
        steps : list of ndarray
            One per parent; see :func:`ensemblage.kernels._tables.refine`.
        """
        steps = [self._refined(tuple(parents[: j + 1]))[1] for j in range(len(parents))]
        return *self.of(parents), steps

    def check(self, node: int, parents: Sequence[int], n_configurations: int, extra: int) -> int:
        """Count a candidate's cells and refuse too many.

        Parameters
        ----------
        node : int
            Whose table it is.
        parents : sequence of int
            Its parents now.
        n_configurations : int
            Their observed configurations, times the classes if the class is a parent.
        extra : int
            The candidate; the node itself for none.

        Returns
        -------
        int
            Cells of the table.
        """
        split = 1 if extra == node else int(self.n_categories[extra])
        cells = n_configurations * split * int(self.n_categories[node])
        if cells > self.max_entries:
            given = [*parents, extra] if extra != node else [*parents]
            check_cells(cells, self.max_entries, self.names[node], [self.names[p] for p in given])
        return cells

    def _refined(self, parents: tuple[int, ...]) -> Refined:
        """Refine the configurations of all parents but the last by the last."""
        if parents not in self._known:
            configuration, count = self.of(parents[:-1])
            last = parents[-1]
            n_codes = int(self.n_categories[last])
            check_cells(count * n_codes, self.max_entries, self.names[last], ["other parents"])
            if len(self._known) * len(self._empty) > KNOWN_ROWS:
                self._known.clear()
            self._known[parents] = refine(configuration, count, self.columns[last], n_codes)
        return self._known[parents]
