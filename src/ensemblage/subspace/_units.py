"""What a mask flips: features, or groups of them, and the columns that hang on these."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]


class Units(NamedTuple):
    """The units that are flipped as a whole; a column is seen if both of its units are."""

    first: Indices  # (n_columns,)
    second: Indices  # (n_columns,), the same but for products of two features
    lead: Indices  # (n_units,), a column that stands for the unit

    def flipped_columns(self, support: Mask, flipped: Indices) -> Indices:
        """Columns that come or go when units are flipped."""
        seen = support[self.lead]
        seen[flipped] ^= True
        return np.flatnonzero((seen[self.first] & seen[self.second]) ^ support)


def units_of(owners: tuple[Indices, Indices] | None, groups: Indices | None) -> Units | None:
    """Units of columns that belong to one or two features each; None if columns are the units.

    ``groups`` numbers each feature's group from 0; the first columns are the features themselves.
    """
    if owners is None:
        if groups is None:
            return None
        owners = np.arange(groups.size), np.arange(groups.size)
    first, second = owners
    if groups is None:
        return Units(first, second, np.arange(int(first.max()) + 1))
    lead = np.unique(groups, return_index=True)[1]
    return Units(groups[first], groups[second], lead)


def correlated_groups(features: NDArray[np.floating[Any]], weights: Any, least: float) -> Indices:
    r"""Find the groups of features that are chained by correlations of at least :math:`\pm` least.

    Features are (n_features, n_rows), of mean zero. Groups are numbered in the order of their
    first features. Constant features are groups alone.
    """
    scaled = features.astype(float) * np.sqrt(np.asarray(weights, dtype=float))
    norms = np.sqrt((scaled**2).sum(axis=1))
    scaled /= np.where(norms > 0, norms, 1.0)[:, None]
    close = np.abs(scaled @ scaled.T) >= least - 1e-9
    groups = np.full(len(features), -1)
    for d in range(len(features)):
        if groups[d] < 0:
            groups[_chained(close, d)] = groups.max() + 1
    return groups


def _chained(close: Mask, start: int) -> Mask:
    """Mark what can be reached from a feature over close ones."""
    reached = np.zeros(len(close), dtype=bool)
    reached[start] = True
    while True:
        wider = reached | close[reached].any(axis=0)
        if (wider == reached).all():
            return reached
        reached = wider
