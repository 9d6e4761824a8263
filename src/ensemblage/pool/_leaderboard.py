"""Who is in a pool and what each is worth, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ensemblage.messages import expect, expect_fitted, write_number
from ensemblage.pages import (
    Column,
    Field,
    TableBlock,
    count_field,
    html_table,
    mark_best,
    number_field,
    share_field,
    text_table,
)

COLUMNS = (
    Column("member"),
    Column("place"),
    Column("log loss", numeric=True, greater_is_better=False),
    Column("accuracy", numeric=True, greater_is_better=True),
    Column("weight", numeric=True),
    Column("fit, s", numeric=True),
    Column("predict, ms", numeric=True),
    Column("rows", numeric=True),
)
NUMBER_COLUMNS = (
    *COLUMNS[:3],
    Column("RMSE", numeric=True, greater_is_better=False),
    *COLUMNS[4:],
)
NUMBER_LEGEND = (
    "Log loss, minus the mean logarithm of the density, and the root of the mean squared error are "
    "on rows that a member has not seen; a member's log loss is at its best spread. place: where a "
    "member differs on purpose; an anchor is a usual method. fit: seconds of all fits. predict: "
    "milliseconds for 100 rows."
)
LEGEND = (
    "Log loss and accuracy are on rows that a member has not seen; a member's are its own, at its "
    "best temperature. place: where a member differs on purpose; an anchor is a usual method. fit: "
    "seconds of all fits. predict: milliseconds for 100 rows."
)


@dataclass(frozen=True)
class Standing:
    """One line of a leaderboard.

    Parameters
    ----------
    member : str
        Its name; ``"pool"`` for all together.
    place : str
        Where its diversity is: ``"rows"``, ``"columns"``, ``"decisions"``; ``"anchor"`` for a
        member of the usual kind, ``"given"`` for a user's own.
    log_loss, accuracy : float
        On rows that it has not seen, at its best temperature.
    weight : float or None
        Share of its influence on the pool; None where the fusion has no such number.
    fit_seconds : float
        Of all its fits.
    predict_seconds : float or None
        For 100 rows; None for a member that is not needed, and was not fitted to all rows.
    rows : int
        How many rows it has learned.
    """

    member: str
    place: str
    log_loss: float
    accuracy: float
    weight: float | None
    fit_seconds: float
    predict_seconds: float | None
    rows: int


@dataclass(frozen=True)
class NumberStanding:
    """One line of a leaderboard of regressors.

    Parameters
    ----------
    member : str
        Its name; ``"pool"`` for all together.
    place : str
        Where its diversity is: ``"rows"``, ``"decisions"``; ``"anchor"`` for a member of the usual
        kind, ``"given"`` for a user's own.
    log_loss : float
        Minus the mean logarithm of the density that it gives to rows that it has not seen, at its
        best spread.
    rmse : float
        Root of its mean squared error on these rows, in the target's units.
    weight : float or None
        Share of its influence on the pool; None where the fusion has no such number.
    fit_seconds : float
        Of all its fits.
    predict_seconds : float or None
        For 100 rows; None for a member that is not needed, and was not fitted to all rows.
    rows : int
        How many rows it has learned.
    """

    member: str
    place: str
    log_loss: float
    rmse: float
    weight: float | None
    fit_seconds: float
    predict_seconds: float | None
    rows: int


@dataclass(frozen=True)
class Leaderboard(Sequence[Any]):
    """A pool's members by what they are worth, to be printed, or read line by line.

    Parameters
    ----------
    standings : tuple of Standing or of NumberStanding
        The pool, then its members by log loss.
    left_out : tuple of str
        A sentence for each member that is not in the pool, and why.
    note : str, default=""
        Which other pool answers some of the rows.

    Examples
    --------
    >>> from ensemblage.pool import Leaderboard, Standing
    >>> board = Leaderboard((Standing("svm", "anchor", 0.21, 0.9, 1.0, 0.5, 0.001, 400),))
    >>> board[0].member
    'svm'
    """

    standings: tuple[Standing | NumberStanding, ...]
    left_out: tuple[str, ...] = ()
    note: str = ""

    def __len__(self) -> int:
        return len(self.standings)

    def __getitem__(self, index: Any) -> Any:
        return self.standings[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.standings)

    def as_table(self) -> TableBlock:
        """Give the table as plain values.

        Returns
        -------
        TableBlock
            A line per member, the best figures marked.
        """
        numbers = any(isinstance(each, NumberStanding) for each in self.standings)
        columns, legend = (NUMBER_COLUMNS, NUMBER_LEGEND) if numbers else (COLUMNS, LEGEND)
        rows = mark_best(columns, [_fields(each) for each in self.standings])
        told = " ".join([legend, *self._sentences])
        return TableBlock(columns, rows, "The pool and its members", told)

    def __str__(self) -> str:
        return "\n".join([text_table(self.as_table()), *self._sentences])

    @property
    def _sentences(self) -> list[str]:
        return [*self.left_out, *([self.note] if self.note else [])]

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self.as_table())

    def __check_state__(self) -> None:
        """Refuse lines that are none."""
        expect(isinstance(self.standings, tuple), "standings is no tuple")
        for each in self.standings:
            expect(isinstance(each, Standing | NumberStanding), "a line is none")
            score = "accuracy" if isinstance(each, Standing) else "rmse"
            expect_fitted(each, {**OF_ALL, score: "real"})
        told = isinstance(self.left_out, tuple) and isinstance(self.note, str)
        expect(told and all(isinstance(each, str) for each in self.left_out), "a note is none")


OF_ALL = {
    "member": "word",
    "place": "word",
    "log_loss": "real",
    "weight": "optional real",
    "fit_seconds": "real",
    "predict_seconds": "optional real",
    "rows": "count",
}


def _fields(standing: Standing | NumberStanding) -> list[Field]:
    predict = standing.predict_seconds
    if isinstance(standing, NumberStanding):
        score = Field(write_number(standing.rmse), standing.rmse)
    else:
        score = number_field(standing.accuracy, 3)
    return [
        Field(standing.member),
        Field(standing.place),
        number_field(standing.log_loss, 4),
        score,
        share_field(standing.weight),
        number_field(standing.fit_seconds, 2),
        number_field(None if predict is None else 1000 * predict, 1),
        count_field(standing.rows),
    ]
