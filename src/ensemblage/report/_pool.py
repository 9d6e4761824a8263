"""Pools described: leaderboard, calibration, member predictions for a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from ensemblage._core import count, listing, write_number
from ensemblage.evaluation import reliability
from ensemblage.pool import PoolDisplay
from ensemblage.report._blocks import Bar, BarsBlock, Block, Section
from ensemblage.report._contributions import (
    MemberPrediction,
    RowExplanation,
    Share,
    prediction_text,
)
from ensemblage.report._explanation import Explanation, ModelContext

if TYPE_CHECKING:
    from ensemblage.pool import Leaderboard

OURS = ("rows", "columns", "decisions")
"""Groups whose members are methods of this library."""
MAX_SOURCES = 8
"""Known sources that are listed."""


class PoolMemberDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Out-of-fold scores of a member, or of the whole pool."""

    member: str
    group: Annotated[
        str,
        Meta(
            description="Where it differs on purpose: rows, columns or decisions; standard for a "
            "method of a usual kind, user for a user's own, all for the pool."
        ),
    ]
    log_loss: Annotated[
        float, Meta(description="Of a regression, minus the mean log predictive density.")
    ]
    accuracy: Annotated[Share | None, Meta(description="Null for a regression.")]
    weight: Annotated[Share | None, Meta(description="Its share in the pool.")]
    rows: Annotated[int, Meta(description="Rows that it was fitted on.")]
    rmse: Annotated[float | None, Meta(description="Null for a classification.")] = None
    log_loss_se: Annotated[float | None, Meta(description="Its standard error.")] = None
    score_se: Annotated[
        float | None, Meta(description="Standard error of the accuracy or the RMSE.")
    ] = None


class AblationDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The pool without a group of members."""

    group: str
    members: list[str]
    change: Annotated[float, Meta(description="Increase of the out-of-fold log loss.")]
    standard_error: float


class PoolDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pool: its members, ablation and calibration."""

    members: Annotated[list[PoolMemberDocument], Meta(description="The pool, then by log loss.")]
    ablation: Annotated[
        list[AblationDocument], Meta(description="The pool without each group of members.")
    ]
    calibration_error: Annotated[
        Share | None, Meta(description="Out-of-fold; null for a regression.")
    ]
    failures: Annotated[list[str], Meta(description="Members that are not in the pool, and why.")]
    known_sources: Annotated[
        list[PoolMemberDocument],
        Meta(description="The source-aware pool for known sources; empty if there is none."),
    ] = []


DOCUMENTS = (PoolDocument,)


def matches(estimator: Any) -> bool:
    """Recognise a pool by its leaderboard."""
    return hasattr(estimator, "leaderboard_")


def learned(estimator: Any, columns: Sequence[str]) -> Iterator[str]:
    """Out-of-fold scores of the pool, and the weights of its members."""
    del columns
    known = getattr(estimator, "source_pool_", None)
    if known is not None:
        yield from _scored(known.leaderboard, f"known source (one of {len(known.names)}): ")
    yield from _scored(estimator.leaderboard_, "" if known is None else "unknown source: ")


def _scored(board: Leaderboard, which: str) -> Iterator[str]:
    yield f"{which}out-of-fold {_scores_text(board)}"
    weighted = sorted(board[1:], key=lambda each: -(each.weight or 0.0))
    named = [f"{each.member} {each.weight:.0%}" for each in weighted if each.weight]
    if named:
        yield f"weights: {', '.join(named)}"


def _scores_text(board: Leaderboard) -> str:
    pool = board[0]
    score, error = f"{pool.score:.3f}", f"{pool.score_se:.3f}"
    if board.metric != "accuracy":
        score, error = write_number(pool.score), write_number(pool.score_se, 2)
    loss = f"{pool.log_loss:.4f} ± {pool.log_loss_se:.4f}"
    return f"log loss {loss} and {board.metric} {score} ± {error}"


def explain(context: ModelContext) -> Explanation:
    """Show weights, the leaderboard, calibration, and the ablation by group."""
    pool = context.estimator
    board, ablation = pool.leaderboard_, pool.ablation()
    known = getattr(pool, "source_pool_", None)
    calibration = (
        reliability(pool.out_of_fold_.pool_outputs, pool.out_of_fold_.y).error
        if hasattr(pool, "classes_")
        else None
    )
    document = PoolDocument(
        _member_documents(board),
        [
            AblationDocument(each.group, list(each.members), each.change, each.standard_error)
            for each in ablation
        ],
        calibration,
        list(board.failures),
        [] if known is None else _member_documents(known.leaderboard),
    )
    weighted = [each for each in board[1:] if each.weight is not None]
    bars = [
        Bar(each.member, each.weight, f"{each.weight:.0%}", ours=each.group in OURS)
        for each in sorted(weighted, key=lambda each: -each.weight)
    ]
    members: list[Block] = [board.as_table()]
    if bars:
        caption = "Weight of each member in the pool."
        members.insert(0, BarsBlock(bars, caption, percent=True, from_zero=True))
    if board.failures:
        members.append(list(board.failures))
    sections = [Section("Members", members)]
    if known is not None:
        names = f"{count(len(known.names), 'known source')} ({listing(known.names, MAX_SOURCES)})"
        text = f"Rows of {names} are predicted by source-aware members:"
        sections.append(Section("Known sources", [text, known.leaderboard.as_table()]))
    text = f"Out-of-fold performance of the pool: {_scores_text(board)}"
    if calibration is not None:
        text += f"; calibration error {calibration:.3f}"
        sections.append(Section("Calibration", [calibration_bars(pool.out_of_fold_)]))
    sections.append(Section("Ablation by group", [ablation.as_table()]))
    return Explanation(
        document,
        [f"{text}."],
        {"members": str(len(board) - 1)},
        sections,
        display=lambda: PoolDisplay.from_estimator(pool).figure_,
    )


def _member_documents(board: Leaderboard) -> list[PoolMemberDocument]:
    return [
        PoolMemberDocument(
            each.member,
            each.group,
            each.log_loss,
            each.score if board.metric == "accuracy" else None,
            each.weight,
            each.n_samples,
            None if board.metric == "accuracy" else each.score,
            each.log_loss_se,
            each.score_se,
        )
        for each in board
    ]


def calibration_bars(record: Any) -> BarsBlock:
    """Show the out-of-fold accuracy by the pool's confidence."""
    found = reliability(record.pool_outputs, record.y)
    bars = []
    for confidence, accuracy, share in zip(*found, strict=True):
        n_rows = share * len(record.y)
        # with one more row of either kind, so that a bin without errors has a standard error
        shrunk = (accuracy * n_rows + 1) / (n_rows + 2)
        error = float(np.sqrt(shrunk * (1 - shrunk) / n_rows))
        label = f"confidence {confidence:.1%}"
        bars.append(Bar(label, accuracy, f"{accuracy:.1%}", error=error, reference=confidence))
    sizes = dict.fromkeys(f"{size:.0%}" for size in (found.share.min(), found.share.max()))
    caption = (
        "Out-of-fold accuracy by the pool's confidence, with standard errors (±); vertical lines "
        f"show the confidence. Each bin has {' to '.join(sizes)} of the rows."
    )
    return BarsBlock(bars, caption, percent=True, from_zero=True)


def explain_row(context: ModelContext) -> tuple[RowExplanation, list[Section]]:
    """Give each member's prediction, and its contribution to the pool's."""
    given = [] if context.sources is None else [context.sources[context.row_index]]
    found = context.estimator.explain_row(context.encoded_row, *given)
    classes = [str(each) for each in found.classes]

    def scores(predicted: Any) -> list[float]:
        if classes:
            return list(predicted.probabilities)
        return [predicted.prediction, predicted.std]

    row = RowExplanation(
        context.row_index,
        str(found.prediction) if classes else write_number(found.prediction, 6),
        classes,
        scores(found),
        member_predictions=[
            MemberPrediction(each.member, scores(each), each.weight, each.contribution)
            for each in found.members
        ],
        source=None if found.source is None else str(found.source),
    )
    text = prediction_text(row)
    if not classes:
        text += f", with a standard deviation of {write_number(row.scores[1])}"
    if row.source is not None:
        text += f", by source-aware members (source {row.source})"
    return row, [Section(f"Row {row.row}", [f"{text}.", found.as_table()])]
