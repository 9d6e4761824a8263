"""Words as columns of zeros and ones, and which categories get one of their own."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.tables._column import MISSING, Column

GAP = "missing"
"""The category of a gap, where there were gaps in training."""

OTHER = "other"
"""The name of what rare categories are put together under."""


class Split(NamedTuple):
    """Categories with a feature each, and rare ones that share one more."""

    own: list[Any]
    rare: list[Any]

    @property
    def n_features(self) -> int:
        """Number of columns of zeros and ones."""
        return len(self.own) + bool(self.rare)

    @property
    def labels(self) -> list[Any]:
        """What each of them stands for."""
        return [*self.own, OTHER] if self.rare else self.own


def _seen_categories(column: Column) -> list[Any]:
    """Categories that occur, sorted, a gap as one of them."""
    seen = column.occurring()
    if (column.match(seen) == MISSING).any() and GAP not in seen:
        return Column(column.name, values=[*seen, GAP]).occurring()
    return seen


def _word_codes(column: Column, known: Sequence[Any]) -> NDArray[np.int32]:
    """Code by known categories; ``len(known)`` for any other, and for a gap if none was known."""
    codes = column.match(known)
    codes[codes == MISSING] = known.index(GAP) if GAP in known else len(known)
    return codes


def split_rare(column: Column, min_frequency: float | None, max_categories: int | None) -> Split:
    """Put together categories with too few rows, and the rarest of too many."""
    seen = _seen_categories(column)
    counts = np.bincount(_word_codes(column, seen), minlength=len(seen))
    is_count = min_frequency is None or isinstance(min_frequency, Integral)
    least = (min_frequency or 0) * (1 if is_count else column.n_rows)
    rare = counts < least
    if max_categories is not None and len(seen) - rare.sum() + rare.any() > max_categories:
        rare |= np.argsort(np.argsort(-counts, kind="stable")) >= max_categories - 1
    own = [category for category, few in zip(seen, rare, strict=True) if not few]
    return Split(own, [category for category, few in zip(seen, rare, strict=True) if few])


def group_codes(column: Column, split: Split) -> NDArray[np.int32]:
    """Code by features: rare categories share the last, and unseen ones have one more."""
    codes = _word_codes(column, [*split.own, *split.rare])
    unseen = codes == len(split.own) + len(split.rare)
    return np.where(unseen, split.n_features, np.minimum(codes, len(split.own)))


def write_words(column: Column, split: Split, out: NDArray[np.float64]) -> None:
    """Set ones in ``out``, zeros of shape (n_rows, n_features); unseen categories have none."""
    codes = group_codes(column, split)
    rows = np.flatnonzero(codes < split.n_features)
    out[rows, codes[rows]] = 1.0
