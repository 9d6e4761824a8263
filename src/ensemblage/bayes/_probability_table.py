"""A node's probabilities as users see them, and how many of them a table may have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_ENTRIES = 2**24


class ProbabilityTable(NamedTuple):
    """A node's distribution for each configuration of its parents.

    Parameters
    ----------
    parents : list of str
        Their names.
    configurations : ndarray of shape (n_configurations, n_parents)
        Positions among the parents' states. A configuration that is not listed is uniform.
    probabilities : ndarray of shape (n_configurations, n_states)
        One distribution per configuration.
    """

    parents: list[str]
    configurations: NDArray[np.int32]
    probabilities: NDArray[np.float64]

    def given(self, states: NDArray[np.int64]) -> NDArray[np.float64]:
        """Find the distribution of each row.

        Parameters
        ----------
        states : ndarray of shape (n_rows, n_parents)
            The parents' states.

        Returns
        -------
        ndarray of shape (n_rows, n_states)
            Probabilities, up to a factor per row.
        """
        known = np.asarray(self.configurations, dtype=np.int64)
        _, number = np.unique(np.concatenate([known, states]), axis=0, return_inverse=True)
        number = number.reshape(-1)
        chances = np.full((number.max() + 1, self.probabilities.shape[1]), 1.0)
        chances[number[: len(known)]] = self.probabilities
        return chances[number[len(known) :]]


class EntryCapError(ValueError):
    """A table would have more entries than ``max_entries`` allows."""


def check_entries(entries: int, max_entries: int, node: str, parents: Sequence[str]) -> None:
    """Refuse a table that is too large, before any of it is allocated."""
    if entries > max_entries:
        given = ", ".join(map(repr, parents)) or "no parents"
        raise EntryCapError(
            f"The table of {node!r} given {given} would take {entries} entries, more than "
            f"max_entries={max_entries}. Lower max_parents, leave out or merge columns with many "
            "categories, or raise max_entries."
        )
