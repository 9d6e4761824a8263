"""Which columns differ between sources, and how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from ensemblage.messages import write_number
from ensemblage.tables import MISSING, Column

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class ColumnShift:
    """How much of a column the source tells.

    Parameters
    ----------
    column : str
        Its name.
    strength : float
        0 if it is alike everywhere, 1 if the source tells it: for numbers the square root of the
        share of the ranks' variance that lies between sources, for words Cramér's V, both
        corrected for chance.
    source : str
        The source that differs most.
    there, elsewhere : str
        What is typical there and elsewhere: the median (or the mean, of equal medians), or the
        category that is most frequent in comparison, with its share.
    """

    column: str
    strength: float
    source: str
    there: str
    elsewhere: str


def column_shift(column: Column, sources: Codes, names: list[str]) -> ColumnShift:
    """Measure one column; a gap counts as a value of its own among words."""
    if column.numbers is not None and np.isfinite(column.numbers).any():
        return _numeric_shift(column.name, column.numbers, sources, names)
    words = [str(each) for each in column.occurring()]
    codes = column.match(column.occurring())
    codes = np.where(codes == MISSING, len(words), codes)
    return _word_shift(column.name, codes, [*words, "missing"], sources, names)


def _numeric_shift(
    name: str, numbers: NDArray[np.float64], sources: Codes, names: list[str]
) -> ColumnShift:
    known = np.isfinite(numbers)
    values, own = numbers[known], sources[known]
    ranks = rankdata(values)
    counts = np.bincount(own, minlength=len(names))
    means = np.bincount(own, ranks, minlength=len(names)) / np.maximum(counts, 1)
    total = float(((ranks - ranks.mean()) ** 2).sum())
    between = float(counts @ (means - ranks.mean()) ** 2)
    far = np.where(counts > 0, np.abs(means - ranks.mean()) * np.sqrt(counts), -1.0).argmax()
    there, elsewhere = _typical(values[own == far], values[own != far])
    share = _above_chance(between, total, int((counts > 0).sum()), len(values))
    return ColumnShift(name, float(np.sqrt(share)), names[far], there, elsewhere)


def _above_chance(between: float, total: float, n_groups: int, n_rows: int) -> float:
    """Share of a variance between groups, less what chance would put there (omega squared)."""
    if total <= 0 or n_rows <= n_groups:
        return 0.0
    noise = (total - between) / (n_rows - n_groups)
    return max(0.0, (between - (n_groups - 1) * noise) / (total + noise))


def _typical(there: NDArray[Any], elsewhere: NDArray[Any]) -> tuple[str, str]:
    """Give medians, or means where those are the same."""
    if len(there) == 0 or len(elsewhere) == 0:
        return "no value", "no value"
    middle = np.median(there), np.median(elsewhere)
    if middle[0] != middle[1]:
        return write_number(middle[0]), write_number(middle[1])
    return f"mean {write_number(there.mean(), 3)}", f"mean {write_number(elsewhere.mean(), 3)}"


def _word_shift(
    name: str, codes: NDArray[np.int32], words: list[str], sources: Codes, names: list[str]
) -> ColumnShift:
    table = np.zeros((len(names), len(words)))
    np.add.at(table, (sources, codes), 1)
    n_rows, own, per_word = table.sum(), table.sum(axis=1), table.sum(axis=0)
    expected = np.outer(own, per_word) / n_rows
    chi2 = float((((table - expected) ** 2) / np.where(expected > 0, expected, 1)).sum())
    n_sources, n_words = int((own > 0).sum()), int((per_word > 0).sum())
    shares = table / np.maximum(own, 1)[:, None]
    others = (per_word - table) / np.maximum(n_rows - own, 1)[:, None]
    far, word = np.unravel_index(((shares - others) * np.sqrt(own)[:, None]).argmax(), table.shape)
    there, elsewhere = (f"{words[int(word)]} {each[far, word]:.0%}" for each in (shares, others))
    strength = _cramer(chi2 / n_rows, n_sources, n_words, n_rows)
    return ColumnShift(name, strength, names[int(far)], there, elsewhere)


def _cramer(phi2: float, n_sources: int, n_words: int, n_rows: float) -> float:
    """Give Cramér's V, corrected for chance (Bergsma, 2013)."""
    chance = (n_sources - 1) * (n_words - 1) / max(n_rows - 1, 1)
    rows = n_sources - (n_sources - 1) ** 2 / max(n_rows - 1, 1)
    columns = n_words - (n_words - 1) ** 2 / max(n_rows - 1, 1)
    least = min(rows, columns) - 1
    return float(np.sqrt(max(0.0, phi2 - chance) / least)) if least > 0 else 0.0
