"""One column of a table as it was read: numbers, dates, words, truth values, gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage.messages import listing

NUMBER = "number"
WORD = "word"
DATE = "date"
KINDS = (NUMBER, WORD, DATE)

MISSING = -1
"""Code of a gap."""


TRUTH = {type(None), bool, np.bool_}
"""Types of truth values, with gaps."""


class _Positions(dict[Any, int]):
    """Codes by category; any other value gets the same code, one more than there are."""

    def __init__(self, categories: Sequence[Any]) -> None:
        super().__init__((category, code) for code, category in enumerate(categories))
        self.unseen = len(categories)
        self[None] = MISSING

    def __missing__(self, value: Any) -> int:
        return self.unseen


@dataclass(frozen=True, eq=False)
class Column:
    """One column, read: as numbers (NaN where missing), or as values (None where missing).

    Dates are numbers, days since 1970-01-01, and ``dated`` tells them from others. If the
    column's type declares categories, ``declared`` lists them in order, and ``codes``, if the
    type keeps them at hand, are positions among them.
    """

    name: str
    numbers: NDArray[np.float64] | None = None
    values: list[Any] | None = None
    declared: list[Any] | None = None
    codes: NDArray[np.int32] | None = None
    dated: bool = False

    @property
    def n_rows(self) -> int:
        """Length of the column."""
        held = (self.numbers, self.values, self.codes)
        return len(next(each for each in held if each is not None))

    @property
    def kind(self) -> str:
        """Tell numbers, dates and words (categories and truth values among them) apart."""
        if self.dated:
            return DATE
        return WORD if self.numbers is None else NUMBER

    def take(self, rows: NDArray[np.int64]) -> Column:
        """Keep some rows."""
        return replace(
            self,
            numbers=None if self.numbers is None else self.numbers[rows],
            values=None if self.values is None else [self.values[row] for row in rows],
            codes=None if self.codes is None else self.codes[rows],
        )

    def as_words(self, declared: Sequence[Any] | None = None) -> Column:
        """Take the values for categories, those declared if they are; refuse any other."""
        known = self.declared if declared is None else list(declared)
        column = Column(self.name, values=self._values(), declared=known)
        if declared is not None:
            allowed = set(declared)
            strange = [value for value in column.occurring() if value not in allowed]
            if strange:
                raise ValueError(
                    f"Column {self.name!r} holds {strange[0]!r}, which is not among its "
                    f"`categories`: {listing(map(str, declared))}."
                )
        return column

    def coded(self) -> Column:
        """Keep codes of values that are to be matched several times."""
        if self.values is None:
            return self
        known = self.occurring()
        return Column(self.name, declared=known, codes=self.match(known))

    def occurring(self) -> list[Any]:
        """Values that occur, sorted; of different types, by type first."""
        if self.numbers is not None:
            return [float(v) for v in np.unique(self.numbers[~np.isnan(self.numbers)])]
        if self.codes is not None and self.declared is not None:
            seen = {self.declared[code] for code in np.unique(self.codes) if code != MISSING}
        else:
            seen = set(self._values()) - {None}
        try:
            return sorted(seen)
        except TypeError:
            return sorted(seen, key=lambda value: (type(value).__name__, str(value)))

    def categories(self) -> list[Any]:
        """Those declared, or else those that occur."""
        return self.occurring() if self.declared is None else list(self.declared)

    def match(self, categories: Sequence[Any]) -> NDArray[np.int32]:
        """Code by known categories; ``len(categories)`` for one that is not among them."""
        position = _Positions(categories)
        if self.codes is not None and self.declared is not None:
            known = [position[category] for category in self.declared]
            return np.array([*known, MISSING], dtype=np.int32)[self.codes]
        values = self._values()
        return np.fromiter(map(position.__getitem__, values), dtype=np.int32, count=len(values))

    def field(self, row: int) -> Any:
        """Give one value: a number, days of a date, or what a word is; None or NaN for a gap."""
        return self._values()[row] if self.numbers is None else float(self.numbers[row])

    def as_numbers(self) -> NDArray[np.float64]:
        """Give the numbers; a column of other values has some if it holds gaps or truth only."""
        if self.numbers is not None:
            return self.numbers
        if self.codes is not None and (self.codes == MISSING).all():
            return np.full(len(self.codes), np.nan)
        if self.values is not None and set(map(type, self.values)) <= TRUTH:
            return np.array(self.values, dtype=np.float64)
        raise ValueError(
            f"Column {self.name!r} held numbers when the model was fitted and now holds "
            "categories. Convert it to numbers, or fit again."
        )

    def _values(self) -> list[Any]:
        """Give values, also those of codes, and of numbers that were categories in a fit."""
        if self.values is not None:
            return self.values
        if self.codes is not None and self.declared is not None:
            words = np.empty(len(self.declared) + 1, dtype=object)
            words[:-1] = self.declared
            return list(words[self.codes])
        numbers = self.as_numbers().astype(object)
        numbers[np.isnan(self.as_numbers())] = None
        return list(numbers)
