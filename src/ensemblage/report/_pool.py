"""Pools described."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from ensemblage._core import (
    TableBlock,
    count,
    final_step,
    listing,
    rows_at_final_step,
    write_number,
)
from ensemblage.evaluation import reliability
from ensemblage.pool import PoolDisplay
from ensemblage.report._blocks import Bar, BarsBlock, Block, NotesBlock, Section, TextBlock
from ensemblage.report._contributions import RowDecision, predicted
from ensemblage.report._explanation import Explanation, ModelPage, Subject, saved_picture

if TYPE_CHECKING:
    from ensemblage.pool import Contributions, Leaderboard, NumberDecision, PoolDecision


OURS = ("rows", "columns", "decisions")
"""Places whose members are this library's."""
SHOWN = 8
"""Sources that are named."""
Share = Annotated[float, Meta(ge=0, le=1)]


class PoolMemberFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a member, or the whole pool, is worth on rows that it has not seen."""

    member: str
    place: Annotated[str, Meta(description="Where its diversity is.")]
    log_loss: Annotated[float, Meta(description="Of numbers, minus the mean log density.")]
    accuracy: Annotated[Share | None, Meta(description="Null for numbers.")]
    weight: Annotated[Share | None, Meta(description="Share of its influence on the pool.")]
    rows: Annotated[int, Meta(description="Rows that it has learned.")]
    rmse: Annotated[float | None, Meta(description="Null for classes.")] = None


class PlaceFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the pool would lose without a place of diversity."""

    place: str
    members: list[str]
    change: Annotated[float, Meta(description="How much the log loss would rise.")]
    standard_error: float


class PoolFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a pool is made of."""

    members: Annotated[list[PoolMemberFacts], Meta(description="The pool, then by log loss.")]
    places: list[PlaceFacts]
    calibration_error: Annotated[
        Share | None, Meta(description="On rows that it has not seen; null for numbers.")
    ]
    left_out: Annotated[list[str], Meta(description="Who is not in the pool, and why.")]
    known_sources: Annotated[
        list[PoolMemberFacts],
        Meta(description="The pool that answers rows of known sources; empty if there is none."),
    ] = []


class PoolVoiceFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one member said of a row."""

    member: str
    scores: Annotated[
        list[float], Meta(description="Of each class; or a number and how far it may be off.")
    ]
    weight: Annotated[Share | None, Meta(description="Share of its influence on the pool.")]
    push: Annotated[
        float | None,
        Meta(description="What it adds to the log odds against the next class, or to the number."),
    ]


class PoolRowFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who said what of a row."""

    row: Annotated[int, Meta(ge=0, description="The row, from 0.")]
    prediction: str
    classes: list[str]
    scores: Annotated[
        list[float],
        Meta(description="The pool's probability of each class; or its number, and the spread."),
    ]
    voices: Annotated[list[PoolVoiceFacts], Meta(description="Those who pushed most first.")]
    source: Annotated[
        str | None, Meta(description="The row's source, if the pool that answered knows it.")
    ] = None


@dataclass(frozen=True)
class PoolExplanation(Explanation):
    """The leaderboard, what each place adds, and the members' voices about a row."""

    has = "members and their weights"
    documents = (PoolFacts, PoolRowFacts)

    facts: PoolFacts
    board: Leaderboard
    contributions: Contributions
    pool: Any
    decision: PoolDecision | NumberDecision | None = None
    row: int | None = None

    @classmethod
    def explains(cls, estimator: Any) -> bool:
        """Recognise a pool by its leaderboard."""
        return hasattr(estimator, "leaderboard_")

    @classmethod
    def learned(cls, estimator: Any, columns: Sequence[str]) -> Iterator[str]:
        """Tell what the pool is worth, and who counts in it."""
        del columns
        told = getattr(estimator, "known_sources_", None)
        if told is not None:
            yield from _heard(told.leaderboard, f"told which of {len(told.names)} sources, ")
        yield from _heard(estimator.leaderboard_, "not told, " if told is not None else "")

    @classmethod
    def of(cls, subject: Subject) -> PoolExplanation:
        """Read the leaderboard, leave each place out once, and hear the members about the row."""
        pool = final_step(subject.model)
        decision = None
        if subject.row is not None:
            asked = subject.X[subject.row : subject.row + 1]
            told = [] if subject.sources is None else [subject.sources[subject.row]]
            decision = pool.explain_row(rows_at_final_step(subject.model, asked), *told)
        board, contributions = pool.leaderboard_, pool.contributions()
        facts = pool_facts(pool, contributions)
        return cls(facts, board, contributions, pool, decision, subject.row)

    @property
    def document(self) -> PoolFacts | PoolRowFacts:
        """What the members said of the row if one was named, else the pool."""
        if self.decision is None or self.row is None:
            return self.facts
        return row_document(self.decision, self.row)

    def text(self) -> list[str | TableBlock]:
        """List members and places, or the voices about the row."""
        if self.decision is not None:
            said = self.decision.as_table()
            return [self._predicted, said, said.legend]
        board, places = self.board.as_table(), self.contributions.as_table()
        return [
            *_told_text(self.pool), board.caption, board, board.legend, "",
            places.caption, places, places.legend, *self.facts.left_out,
        ]  # fmt: skip

    def page(self) -> ModelPage:
        """Show weights, the leaderboard, what places add, and the voices about the row."""
        told, error = f"On rows that it has not seen, the pool has {_worth(self.board[0])}", ""
        if self.facts.calibration_error is not None:
            error = f"; its calibration error is {self.facts.calibration_error:.3f}"
        heard = [each for each in self.board[1:] if each.weight is not None]
        bars = [
            Bar(each.member, each.weight, f"{each.weight:.0%}", ours=each.place in OURS)
            for each in sorted(heard, key=lambda each: -(each.weight or 0.0))
        ]
        chart = BarsBlock(bars, "Share of each member in the pool.", percent=True, from_zero=True)
        notes = [NotesBlock(list(self.facts.left_out))] if self.facts.left_out else []
        sections = [
            Section("Members", [*([chart] if bars else []), self.board.as_table(), *notes]),
            *_told_section(self.pool),
            *([Section("Calibration", [calibration_bars(self.pool.held_out_)])] if error else []),
            Section("Places of diversity", [self.contributions.as_table()]),
        ]
        if self.decision is not None:
            voices: list[Block] = [TextBlock([f"{self._predicted}."]), self.decision.as_table()]
            sections.insert(0, Section(f"Row {self.row}", voices))
        return ModelPage([f"{told}{error}."], [("members", str(len(self.board) - 1))], sections)

    @property
    def _predicted(self) -> str:
        """What the pool says of the row, with the scores."""
        told = self.document
        if not isinstance(told, PoolRowFacts):
            return ""
        if not told.classes:
            off = write_number(told.scores[1])
            return (
                f"Row {told.row}: predicted {told.prediction}, with a standard deviation of {off}"
            )
        said = predicted(RowDecision(told.row, told.prediction, told.classes, told.scores, None))
        return said if told.source is None else f"{said}, by members that know {told.source}"

    def draw(self, picture: str = "png") -> bytes:
        """Draw weights, calibration and disagreement."""
        return saved_picture(PoolDisplay.from_estimator(self.pool), picture)


def _heard(board: Leaderboard, knowing: str) -> Iterator[str]:
    """Tell what a pool is worth, and to whom it listens."""
    pool, *members = board
    yield f"{knowing}{_worth(pool)} on rows that it has not seen"
    heard = sorted(members, key=lambda each: -(each.weight or 0.0))
    named = [f"{each.member} {each.weight:.0%}" for each in heard if each.weight]
    if named:
        yield f"listens to {', '.join(named)}"


def _worth(pool: Any) -> str:
    """Say what a line of a leaderboard says of a pool."""
    rmse = getattr(pool, "rmse", None)
    score = f"accuracy {pool.accuracy:.3f}" if rmse is None else f"RMSE {write_number(rmse)}"
    return f"log loss {pool.log_loss:.4f} and {score}"


def row_document(said: PoolDecision | NumberDecision, row: int) -> PoolRowFacts:
    """Write down who said what of a row."""
    classes = [str(each) for each in getattr(said, "classes", ())]
    voices = [
        PoolVoiceFacts(each.member, _scores(each, classes), each.weight, each.push)
        for each in said.voices
    ]
    prediction = str(said.prediction) if classes else write_number(said.prediction, 6)
    source = getattr(said, "source", None)
    return PoolRowFacts(
        row, prediction, classes, _scores(said, classes), voices,
        None if source is None else str(source),
    )  # fmt: skip


def _scores(said: Any, classes: list[str]) -> list[float]:
    """Give probabilities of the classes, or a number and its standard deviation."""
    return list(said.probabilities) if classes else [said.prediction, said.spread]


def _told_text(pool: Any) -> list[str | TableBlock]:
    """List the members that are told the source, if there are any."""
    told = getattr(pool, "known_sources_", None)
    if told is None:
        return []
    board = told.leaderboard.as_table()
    return [f"Told that a row is of {names_text(told)}:", board, "", "Not told, or of another:"]


def _told_section(pool: Any) -> list[Section]:
    told = getattr(pool, "known_sources_", None)
    if told is None:
        return []
    known = TextBlock([f"Rows of {names_text(told)} are answered by members that are told so."])
    return [Section("Known sources", [known, told.leaderboard.as_table()])]


def names_text(told: Any) -> str:
    """Name the sources that a pool knows."""
    return f"one of {count(len(told.names), 'source')} ({listing(told.names, SHOWN)})"


def calibration_bars(record: Any) -> BarsBlock:
    """Show how often the pool is right by how sure it is, on rows that it has not seen."""
    found = reliability(record.pooled, record.y)
    bars = []
    for sure, right, share in zip(*found, strict=True):
        n_rows = share * len(record.y)
        # with a row more of either kind, so that a bin that is always right has an error too
        shrunk = (right * n_rows + 1) / (n_rows + 2)
        error = float(np.sqrt(shrunk * (1 - shrunk) / n_rows))
        bars.append(Bar(f"{sure:.1%} sure", right, f"{right:.1%}", error=error, reference=sure))
    sizes = dict.fromkeys(f"{size:.0%}" for size in (found.share.min(), found.share.max()))
    caption = (
        "How often the pool is right, by how sure it is, with standard errors; coloured lines "
        f"show how sure. Each is of {' to '.join(sizes)} of the rows."
    )
    return BarsBlock(bars, caption, percent=True, from_zero=True)


def pool_facts(pool: Any, contributions: Contributions) -> PoolFacts:
    """Write down what a pool is made of."""
    record, told = pool.held_out_, getattr(pool, "known_sources_", None)
    of_classes = hasattr(pool, "classes_")
    return PoolFacts(
        _member_facts(pool.leaderboard_),
        [
            PlaceFacts(each.place, list(each.members), each.change, each.standard_error)
            for each in contributions
        ],
        reliability(record.pooled, record.y).error if of_classes else None,
        list(pool.leaderboard_.left_out),
        [] if told is None else _member_facts(told.leaderboard),
    )


def _member_facts(board: Leaderboard) -> list[PoolMemberFacts]:
    return [
        PoolMemberFacts(
            each.member,
            each.place,
            each.log_loss,
            getattr(each, "accuracy", None),
            each.weight,
            each.rows,
            getattr(each, "rmse", None),
        )
        for each in board
    ]
