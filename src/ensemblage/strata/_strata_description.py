"""What strata are, as values that print as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from ensemblage.messages import write_number
from ensemblage.pages import (
    Column,
    Field,
    TableBlock,
    html_table,
    share_field,
    text_table,
)

ErrorRows = Literal["held out", "training", "given"]
DAY = 86_400
"""Seconds of a day."""
WIDTH = 120
LITTLE = 0.2
RARE = 0.25
PHRASES = {
    "number": ("high ({})", "low ({})"),
    "date": ("late ({})", "early ({})"),
    "word": ("= {}", "not {}"),
    "missing": ("missing", "known"),
}
"""What is said of a stratum above all rows, and below."""


@dataclass(frozen=True)
class ColumnDifference:
    """How a stratum differs from all rows in one column.

    Parameters
    ----------
    column : str
        The column.
    kind : {"number", "date", "word", "missing"}
        What is compared: medians (of dates, in days since 1970-01-01), or the share of a
        category or of gaps.
    category : str or None
        The category, of a word.
    stratum, all_rows : float
        The stratum's median or share, and that of all rows.
    distance : float
        How far apart: medians over the pooled robust spread, or Cohen's h of the shares.
        0.2 is little, 0.8 is much, for both.
    """

    column: str
    kind: Literal["number", "date", "word", "missing"]
    category: str | None
    stratum: float
    all_rows: float
    distance: float

    @property
    def phrase(self) -> str:  # numpydoc ignore=RT01
        """A few plain words, such as "age high (61)" or "site = Basel"."""
        high, low = PHRASES[self.kind]
        words = high if self.distance > 0 else low
        value = self.category if self.kind == "word" else self.written(self.stratum)
        return f"{self.column} {words.format(value)}"

    @property
    def is_telling(self) -> bool:  # numpydoc ignore=RT01
        """Whether it is fit for a name: not little, nor that something rare is absent."""
        absent = self.distance < 0 and self.kind in {"word", "missing"}
        return abs(self.distance) >= LITTLE and not (absent and self.all_rows < RARE)

    def __str__(self) -> str:
        what = {"word": f" = {self.category}", "missing": " missing"}.get(self.kind, "")
        stratum, everywhere = self.written(self.stratum), self.written(self.all_rows)
        return f"{self.column}{what}: {stratum} (all rows {everywhere}, {self.distance:+.1f})"

    def written(self, value: float) -> str:
        """Write a median or a share as a reader of the file would.

        Parameters
        ----------
        value : float
            In the units of ``stratum``.

        Returns
        -------
        str
            A number, a day, or per cent.
        """
        if self.kind == "date":
            return datetime.fromtimestamp(value * DAY, UTC).date().isoformat()
        return write_number(value) if self.kind == "number" else f"{value:.0%}"


@dataclass(frozen=True)
class StratumDescription:
    """One stratum.

    Parameters
    ----------
    stratum : int
        Its number.
    name : str
        Made of the columns in which it differs most, or the name of its source.
    share : float
        Mean membership of the rows in it.
    error : float or None
        Share of wrong predictions on its rows, by membership, or of numbers the root of the mean
        squared error; None where it is not known.
    differences : tuple of ColumnDifference
        The largest first.
    """

    stratum: int
    name: str
    share: float
    error: float | None
    differences: tuple[ColumnDifference, ...]


@dataclass(frozen=True)
class StrataDescription:
    """What strata are: a value that prints as a table.

    Parameters
    ----------
    strata : tuple of StratumDescription
        In their order.
    n_rows : int
        Number of rows that were looked at.
    error : float or None
        Error on all rows, in the same way; None where it is not known.
    error_rows : {"held out", "training", "given"} or None
        Which rows errors are counted on: training rows that members and fusion had not seen, the
        training rows as they were learned, or the rows given.
    of_classes : bool
        Whether errors are shares of wrong classes; those of numbers are roots of mean squared
        errors.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.strata import describe_strata
    >>> age = np.array([[20.0], [22], [24], [60], [62], [64]])
    >>> young_and_old = np.repeat(np.eye(2), 3, axis=0)
    >>> print(describe_strata(age, young_and_old, names=["age"]))
    stratum  name            rows  differs in
    ──────────────────────────────────────────────────────────
    0        age low (22)   50.0%  age: 22 (all rows 42, -0.9)
    1        age high (62)  50.0%  age: 62 (all rows 42, +0.9)
    """

    strata: tuple[StratumDescription, ...]
    n_rows: int
    error: float | None = None
    error_rows: ErrorRows | None = None
    of_classes: bool = True

    @property
    def names(self) -> list[str]:  # numpydoc ignore=RT01
        """The strata's names, in their order."""
        return [each.name for each in self.strata]

    def with_errors(
        self,
        strata: Sequence[float | None],
        error: float | None,
        error_rows: ErrorRows,
        *,
        of_classes: bool = True,
    ) -> StrataDescription:
        """Give the same with errors that were counted elsewhere.

        Parameters
        ----------
        strata : sequence of float or None
            Error of each stratum.
        error : float or None
            On all rows; None where none is known.
        error_rows : {"held out", "training", "given"}
            Which rows these are.
        of_classes : bool, default=True
            Whether errors are shares of wrong classes.

        Returns
        -------
        StrataDescription
            A new one.
        """
        if error is None:
            return self
        pairs = zip(self.strata, strata, strict=True)
        told = tuple(replace(each, error=own) for each, own in pairs)
        return replace(self, strata=told, error=error, error_rows=error_rows, of_classes=of_classes)

    @property
    def block(self) -> TableBlock:  # numpydoc ignore=RT01
        """The table, for a page or a terminal."""
        columns = [Column("stratum"), Column("name"), Column("rows", numeric=True)]
        columns += [Column("error", numeric=True)] * (self.error is not None)
        rows = [
            [
                Field(str(each.stratum)), Field(each.name), share_field(each.share),
                *[Field(self.written_error(each.error), each.error)] * (self.error is not None),
                Field("; ".join(map(str, each.differences))),
            ]
            for each in self.strata
        ]  # fmt: skip
        columns.append(Column("differs in", wide=True))
        return TableBlock(columns, rows, "What the strata are", self.legend)

    def written_error(self, error: float | None) -> str:
        """Write an error as a share of wrong predictions, or in the target's units.

        Parameters
        ----------
        error : float or None
            Of a stratum, or of all rows.

        Returns
        -------
        str
            A dash where there is none.
        """
        if self.of_classes or error is None:
            return share_field(error).text
        return write_number(error)

    @property
    def legend(self) -> str:  # numpydoc ignore=RT01
        """How to read the table, in sentences."""
        overlapping = sum(each.share for each in self.strata) > 1 + 1e-9
        said = (
            f"Rows: share of the rows in the stratum{'; a row may be in several' * overlapping}. "
            "Differs in: the stratum's median or share, that of all rows, and how far apart they "
            "are (0.2 is little, 0.8 is much)."
        )
        return said if self.error is None else f"{said} {self.error_sentence}"

    @property
    def error_sentence(self) -> str:  # numpydoc ignore=RT01
        """What the errors are counted on; empty without them."""
        if self.error is None:
            return ""
        where = {
            "held out": "training rows that members and fusion had not seen",
            "training": "the training rows themselves, which flatters",
            "given": "the rows given",
        }[self.error_rows or "given"]
        what = "share of wrong predictions" if self.of_classes else "root of the mean squared error"
        said = self.written_error(self.error)
        return f"Error: {what} on {where}; on all of them {said}."

    def __str__(self) -> str:
        return text_table(self.block, WIDTH)

    def _repr_html_(self) -> str:
        return html_table(self.block)

    def _repr_pretty_(self, printer: object, cycle: bool) -> None:
        """Show the table where IPython has no HTML."""
        del cycle
        printer.text(str(self))  # type: ignore[attr-defined]
