"""What an audit of sources found, as values that print as sentences and a table."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from ensemblage.evaluation._column_shift import ColumnShift
from ensemblage.pages import Column, Field, TableBlock, html_table, text_table

WIDTH = 120
LEGEND = (
    "Left out: as if the source were new; likely: bounds of that error with 95 %, small sources "
    "drawn towards the others. Rate: share of the class, observed and as predicted when left out. "
    "Slope and offset: what would calibrate the log odds then. Covered: by prediction sets that "
    "cover 90 % elsewhere."
)


@dataclass(frozen=True)
class AuditedSource:
    """What held-out rows say about one source.

    Parameters
    ----------
    name : str
        The source.
    n_rows : int
        Its rows.
    error, log_loss : float
        By ordinary folds, with other rows of the source in training.
    left_out_error, left_out_log_loss : float
        With the source left out of training, as if it were new.
    expected, expected_low, expected_high : float
        The error to expect when left out: small sources are drawn towards the others. Here and
        below, bounds hold with a probability of 95 %.
    observed, predicted : float
        Share of the class that rates are told of, and its mean probability when left out.
    slope, slope_low, slope_high : float
        Calibration when left out: log probabilities should be multiplied by the slope; below 1
        the model is too sure there.
    offset, offset_low, offset_high : float
        What should be added to the log odds of the class that rates are told of.
    coverage : float
        Share of rows whose class is in prediction sets that cover 90 % elsewhere.
    suspect : bool
        Whether the rule of the other sources is wrong way round here: labels or codes may be
        inverted.
    """

    name: str
    n_rows: int
    error: float
    log_loss: float
    left_out_error: float
    left_out_log_loss: float
    expected: float
    expected_low: float
    expected_high: float
    observed: float
    predicted: float
    slope: float
    slope_low: float
    slope_high: float
    offset: float
    offset_low: float
    offset_high: float
    coverage: float
    suspect: bool = False


@dataclass(frozen=True)
class SourceAudit:
    """What to expect of a model on known sources and on new ones.

    Made by :func:`source_audit`; it prints as sentences and a table.

    Parameters
    ----------
    sources : tuple of AuditedSource
        One each, in the order of their names.
    label : object
        The class that rates and offsets are of.
    error, log_loss : float
        By ordinary folds, averaged over the sources.
    new_error : float
        For a new source: averaged over sources that were left out.
    new_error_low, new_error_high : float
        Bounds of that error that hold with a probability of 95 %.
    new_log_loss : float
        For a new source.
    error_bound : float
        Nine in ten new sources should have a smaller error.
    recognised, recognised_by_chance : float
        Share of rows whose source a forest tells from the columns, and the largest source's share.
    shifts : tuple of ColumnShift
        The columns that differ most between sources.
    worst : str
        The source with the highest log loss when left out.
    remedy : str
        What would mend it.
    """

    sources: tuple[AuditedSource, ...]
    label: Any
    error: float
    log_loss: float
    new_error: float
    new_error_low: float
    new_error_high: float
    new_log_loss: float
    error_bound: float
    recognised: float
    recognised_by_chance: float
    shifts: tuple[ColumnShift, ...]
    worst: str
    remedy: str

    @property
    def ratio(self) -> float:  # numpydoc ignore=RT01
        """How many times larger the error is for new sources than ordinary folds promise."""
        return self.new_error / self.error if self.error > 0 else float("inf")

    @property
    def suspects(self) -> tuple[str, ...]:  # numpydoc ignore=RT01
        """Sources whose labels or codes may be inverted."""
        return tuple(each.name for each in self.sources if each.suspect)

    @property
    def promise(self) -> str:  # numpydoc ignore=RT01
        """What to expect of a new source, in one sentence."""
        expected = (
            f"On a new source expect an error of {self.new_error:.3f} (averaged over many: "
            f"{self.new_error_low:.2f} to {self.new_error_high:.2f}); ordinary folds promise "
            f"{self.error:.3f}."
        )
        if self.error_bound >= 1:
            return f"{expected} {len(self.sources)} sources are too few to tell how bad it can get."
        return f"{expected} Nine in ten new sources should stay below {self.error_bound:.3f}."

    @property
    def sentences(self) -> tuple[str, ...]:  # numpydoc ignore=RT01
        """What matters, in plain words."""
        said = [self.promise]
        if self.suspects:
            said.append(
                f"Look at {', '.join(self.suspects)} first: what the other sources teach is wrong "
                "way round there. Labels or codes may be inverted."
            )
        said.append(
            f"The columns tell the source of {self.recognised:.0%} of the rows "
            f"(the largest source alone: {self.recognised_by_chance:.0%})."
        )
        if self.shifts and self.shifts[0].strength > 0:
            first = self.shifts[0]
            said.append(
                f"{first.column} differs most between sources: {first.there} in {first.source}, "
                f"{first.elsewhere} elsewhere."
            )
        said.append(f"Worst when left out is {self.worst}: {self.remedy}")
        return tuple(said)

    def table(self) -> TableBlock:
        """Give the sources as a table.

        Returns
        -------
        TableBlock
            A row each.
        """
        heads = ("rows", "error", "left out", "likely", "log loss", "left out", "rate", "said",
                 "slope", "offset", "covered")  # fmt: skip
        columns = (Column("source"), *(Column(head, numeric=True) for head in heads))
        rows = []
        for each in self.sources:
            texts = (
                str(each.n_rows), f"{each.error:.3f}", f"{each.left_out_error:.3f}",
                f"{each.expected_low:.2f}-{each.expected_high:.2f}", f"{each.log_loss:.3f}",
                f"{each.left_out_log_loss:.3f}", f"{each.observed:.0%}", f"{each.predicted:.0%}",
                f"{each.slope:.2f}", f"{each.offset:+.2f}", f"{each.coverage:.0%}",
            )  # fmt: skip
            name = Field(each.name, tag="suspect" if each.suspect else "")
            rows.append((name, *(Field(text) for text in texts)))
        return TableBlock(columns, rows, "Sources", legend=LEGEND)

    def __str__(self) -> str:
        return "\n".join([*self.sentences, "", text_table(self.table(), WIDTH)])

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{escape(each)}</p>" for each in self.sentences)
        return said + html_table(self.table())
