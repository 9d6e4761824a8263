"""What each place of diversity adds to a pool: the fusion is fitted again without it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ensemblage.fusion import Fusion
from ensemblage.pages import (
    Column,
    Field,
    TableBlock,
    html_table,
    number_field,
    signed_field,
    text_table,
)
from ensemblage.pool._held_out_record import HeldOutRecord, row_losses, weighted_mean

COLUMNS = (
    Column("without"),
    Column("members"),
    Column("log loss", numeric=True),
    Column("change", numeric=True),
    Column("standard error", numeric=True),
)
LEGEND = (
    "Log loss of the pool on rows that it has not seen, fused again with all members and without "
    "each place of diversity; a change above zero is what the place is worth. Members are not "
    "fitted again. These fusions learn from five folds of the rows, so that the first line need "
    "not be what the leaderboard says."
)


@dataclass(frozen=True)
class Contribution:
    """What a pool loses without one place of diversity.

    Parameters
    ----------
    place : str
        The place: ``"rows"``, ``"columns"``, ``"decisions"``, ``"anchor"`` or ``"given"``.
    members : tuple of str
        The members that are left out.
    log_loss : float
        Of the pool without them, on rows that it has not seen.
    change : float
        How much more that is than with them.
    standard_error : float
        Of the change, over the rows.
    """

    place: str
    members: tuple[str, ...]
    log_loss: float
    change: float
    standard_error: float


@dataclass(frozen=True)
class Contributions(Sequence[Contribution]):
    """Contributions of all places, to be printed, or read line by line.

    Parameters
    ----------
    log_loss : float
        Of the whole pool, on rows that it has not seen.
    places : tuple of Contribution
        The most valuable first.

    Examples
    --------
    >>> from ensemblage.pool import Contribution, Contributions
    >>> rows = Contribution("rows", ("strata",), 0.31, 0.01, 0.004)
    >>> Contributions(0.3, (rows,))[0].place
    'rows'
    """

    log_loss: float
    places: tuple[Contribution, ...]

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: Any) -> Any:
        return self.places[index]

    def __iter__(self) -> Iterator[Contribution]:
        return iter(self.places)

    def as_table(self) -> TableBlock:
        """Give the table as plain values.

        Returns
        -------
        TableBlock
            The whole pool, then a line per place.
        """
        whole = [Field("nothing"), Field(""), number_field(self.log_loss, 4), Field(""), Field("")]
        rows = [
            [
                Field(each.place),
                Field(", ".join(each.members)),
                number_field(each.log_loss, 4),
                signed_field(each.change, 4),
                number_field(each.standard_error, 4),
            ]
            for each in self.places
        ]
        return TableBlock(COLUMNS, [whole, *rows], "What each place contributes", LEGEND)

    def __str__(self) -> str:
        return text_table(self.as_table())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self.as_table())


def leave_places_out(record: HeldOutRecord, fusion: Fusion) -> Contributions:
    """Fuse again without each place in turn; a place without which nobody is left is skipped."""
    places = np.array(record.places)
    whole = row_losses(record, fusion, np.arange(len(places)))
    lines = []
    for place in dict.fromkeys(record.places):
        others = np.flatnonzero(places != place)
        if len(others) == 0:
            continue
        without = row_losses(record, fusion, others)
        members = tuple(np.array(record.names)[places == place].tolist())
        change, error = _mean_and_error(without - whole, record.weights)
        lines.append(Contribution(place, members, weighted_mean(record, without), change, error))
    lines.sort(key=lambda each: -each.change)
    return Contributions(weighted_mean(record, whole), tuple(lines))


def _mean_and_error(values: Any, weights: Any) -> tuple[float, float]:
    """Weighted mean of rows' values, and its standard error."""
    shares = np.full(len(values), 1 / len(values)) if weights is None else weights / weights.sum()
    mean = float(shares @ values)
    return mean, float(np.sqrt(shares**2 @ (values - mean) ** 2))
