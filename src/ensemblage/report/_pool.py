"""Pools described: leaderboard, calibration, sources, member predictions for a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray
from scipy.stats import norm

from ensemblage._core import (
    MINUS,
    Field,
    Heading,
    TableBlock,
    count,
    count_field,
    listing,
    number_field,
    share_field,
    signed_field,
    write_number,
)
from ensemblage.evaluation import MEASURES, reliability
from ensemblage.pool import PoolDisplay, mean_and_error
from ensemblage.report._blocks import Bar, BarsBlock, Block, Section
from ensemblage.report._contributions import (
    MemberPrediction,
    RowExplanation,
    Share,
    contribution_bars,
    prediction_text,
)
from ensemblage.report._explanation import Explanation, ModelContext, feature_names
from ensemblage.report._importance import (
    ColumnEffectsDocument,
    decision_by_columns,
    effects_of_columns,
)
from ensemblage.report._linear import (
    PartialPoolingDocument,
    SourceEffect,
    document_of_pooling,
    interval_bars,
    is_encoded,
    is_partial_pooling,
    pooling_blocks,
)
from ensemblage.sources import source_labels

if TYPE_CHECKING:
    from ensemblage.pool import Leaderboard, OutOfFold, SourcePool

OURS = ("rows", "columns", "decisions")
"""Groups whose members are methods of this library."""
MAX_SOURCES = 8
"""Known sources that are listed."""
MAX_SHOWN = 12
"""Sources whose scores and offsets are shown; the document has all."""
Z_95 = float(norm.ppf(0.975))
"""Half width of a 95 % confidence interval in standard deviations."""
POOLING = "partial-pooling"
"""Name of the member of a source-aware pool that has coefficients of each source."""


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


class SourceScores(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Out-of-fold scores of the rows of a source, with the source known and unknown."""

    source: Annotated[str, Meta(description="The source; of nested ones also `outer / inner`.")]
    rows: int
    log_loss_known: float
    log_loss_unknown: float
    accuracy_known: Annotated[Share | None, Meta(description="Null for a regression.")]
    accuracy_unknown: Share | None
    rmse_known: Annotated[float | None, Meta(description="Null for a classification.")]
    rmse_unknown: float | None


class PoolSourcesDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The source-aware part of a pool, compared with its source-blind part."""

    helps: Annotated[
        bool,
        Meta(
            description="Whether the source is used: false where knowing it increases the loss "
            "of `change` by more than the standard error. The source-blind pool then predicts all "
            "rows, and nothing else of the sources is used."
        ),
    ]
    change: Annotated[
        float,
        Meta(
            description="Out-of-fold log loss, or mean squared error of a numeric target, with the "
            "source known, minus that without."
        ),
    ]
    standard_error: Annotated[float, Meta(description="Of the change.")]
    overall: Annotated[SourceScores, Meta(description="All rows of known sources together.")]
    scores: Annotated[list[SourceScores], Meta(description="Of each source, by name.")]
    offset_penalty: Annotated[
        float | None, Meta(description="Null where offsets do not help; there are none then.")
    ]
    offsets: list[SourceEffect]
    partial_pooling: Annotated[
        PartialPoolingDocument | None,
        Meta(description="The member with coefficients of each source; null without it."),
    ]
    partial_pooling_weight: Annotated[
        Share | None, Meta(description="Its share in the source-aware pool.")
    ]


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
    sources: Annotated[
        PoolSourcesDocument | None,
        Meta(description="What is known of the sources; null if the pool uses none."),
    ] = None
    columns: Annotated[
        ColumnEffectsDocument | None,
        Meta(description="Effects of the columns; null without rows and their target."),
    ] = None


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
        if not known.helps:
            yield "knowing the source does not help: rows are predicted as of an unknown source"
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
    sources = None if known is None else _sources_document(context, known)
    effects = None if context.row is not None else effects_of_columns(context)
    document = PoolDocument(
        _member_documents(board),
        [
            AblationDocument(each.group, list(each.members), each.change, each.standard_error)
            for each in ablation
        ],
        calibration,
        list(board.failures),
        [] if known is None else _member_documents(known.leaderboard),
        sources,
        None if effects is None else effects.document,
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
    sections, sentences, of = [Section("Members", members)], [], "the pool"
    if known is not None and sources is not None:
        sentences.append(_known_sentence(sources))
        of = "the pool where the source is unknown"
        members.insert(0, "Rows of unknown source are predicted by source-blind members.")
        sections = [
            Section("Known sources", _known_blocks(known, sources)),
            Section(
                "Differences of sources",
                _difference_blocks(sources, context),
            ),
            Section("Members for unknown sources", members),
        ]
    text = f"Out-of-fold performance of {of}: {_scores_text(board)}"
    if calibration is not None:
        text += f"; calibration error {calibration:.3f}"
        sections.append(Section("Calibration", [calibration_bars(pool.out_of_fold_)]))
    sections.append(Section("Ablation by group", [ablation.as_table()]))
    sentences.append(f"{text}.")
    if effects is not None:
        sentences.append(effects.sentence)
        sections = [*effects.sections, *sections]
    return Explanation(
        document,
        sentences,
        {"members": str(len(board) - 1)} | _source_facts(sources),
        sections,
        display=lambda: PoolDisplay.from_estimator(pool).figure_,
    )


def _source_text(source: Any) -> str | None:
    """Write a source, or a pair of outer and inner source."""
    if source is None:
        return None
    return " / ".join(map(str, source)) if isinstance(source, tuple) else str(source)


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


class _Rows(NamedTuple):
    """Out-of-fold outputs of the same rows by two pools; codes and weights of the rows."""

    record: OutOfFold
    y: NDArray[Any]
    known: NDArray[np.float64]
    unknown: NDArray[np.float64]
    codes: NDArray[np.int64]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, blind: OutOfFold, known: SourcePool) -> _Rows:
        aware = known.pool.out_of_fold
        _, own, others = np.intersect1d(aware.indices, blind.indices, return_indices=True)
        outputs = aware.pool_outputs[own].astype(float), blind.pool_outputs[others].astype(float)
        return cls(aware, aware.y[own], *outputs, known.codes[own], known.weights[own])

    def losses(self, outputs: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.record.target.reported_losses(outputs, self.y))

    def scores(self, name: str, chosen: NDArray[np.bool_]) -> SourceScores:
        weights = self.weights[chosen]

        def mean(values: NDArray[Any]) -> float:
            return float(np.average(values[chosen], weights=weights))

        both = self.known, self.unknown
        losses = [mean(self.losses(each)) for each in both]
        shares: list[float | None] = [None, None]
        errors: list[float | None] = [None, None]
        if self.record.numeric:
            errors = [mean((self.y - each[:, 0]) ** 2) ** 0.5 for each in both]
        else:
            shares = [mean(each.argmax(axis=1) == self.y) for each in both]
        return SourceScores(name, int(chosen.sum()), *losses, *shares, *errors)


def _sources_document(context: ModelContext, known: SourcePool) -> PoolSourcesDocument:
    pool = context.estimator
    rows, classes = _Rows.of(pool.out_of_fold_, known), getattr(pool, "classes_", None)
    known_losses, unknown_losses = (
        rows.record.target.uncalibrated_losses(each, rows.y) for each in (rows.known, rows.unknown)
    )
    change, error = mean_and_error(known_losses - unknown_losses, rows.weights, 1.0)
    levels = list(_levels(known, rows.codes))
    found = [rows.scores(name, chosen) for name, _, chosen in levels if chosen.any()]
    pooling = offsets = None
    if known.helps:
        pooling = _pooling_document(context, known)
        offsets = _offsets(known, rows, levels, classes)
    weights = {each.member: each.weight for each in known.leaderboard}
    return PoolSourcesDocument(
        helps=known.helps,
        change=change,
        standard_error=error,
        overall=rows.scores("all", np.ones(len(rows.y), dtype=bool)),
        scores=found,
        offset_penalty=known.offset_penalty,
        offsets=offsets or [],
        partial_pooling=pooling,
        partial_pooling_weight=None if pooling is None else weights.get(POOLING),
    )


def _levels(
    known: SourcePool, codes: NDArray[np.int64]
) -> Iterator[tuple[str, int, NDArray[np.bool_]]]:
    """Give name, code and rows of each source; of nested ones the outer sources first."""
    index, names = known.index, source_labels(known.names)
    if index.n_levels == 2:
        outer = index.outer_codes(codes)
        for code in range(index.n_sources, index.n_codes):
            yield str(known.label(code)), code, outer == code
    for code, name in enumerate(names):
        yield str(name), code, codes == code


def _offsets(
    known: SourcePool,
    rows: _Rows,
    levels: Sequence[tuple[str, int, NDArray[np.bool_]]],
    classes: NDArray[Any] | None,
) -> list[SourceEffect]:
    """Give each source's offset, with an interval by the curvature of its penalised loss."""
    penalty, found = known.offset_penalty, []
    if penalty is None:
        return []
    if classes is None:
        variance = float(np.average((rows.y - rows.known[:, 0]) ** 2, weights=rows.weights))
    for name, code, chosen in levels:
        weights, values = rows.weights[chosen], known.offsets[code]
        if classes is None:
            sd = (variance / (weights.sum() + penalty)) ** 0.5
            found.append(_offset(name, None, float(values[0]), sd))
            continue
        proba = rows.known[chosen]
        curvature = weights @ (proba * (1 - proba))
        if len(classes) == 2:  # log-odds: the difference of two offsets
            sd = (curvature[1] + penalty) ** -0.5
            found.append(_offset(name, str(classes[1]), float(values[1] - values[0]), sd))
            continue
        for label, value, curved in zip(classes, values, curvature, strict=True):
            sd = (curved + 2 * penalty) ** -0.5
            found.append(_offset(name, str(label), float(value), sd))
    return found


def _offset(name: str, label: str | None, value: float, sd: float) -> SourceEffect:
    return SourceEffect(name, None, label, value, value - Z_95 * sd, value + Z_95 * sd)


def _pooling_document(context: ModelContext, known: SourcePool) -> PartialPoolingDocument | None:
    """Describe the partial pooling member, which has codes in place of names."""
    members = dict(zip(known.pool.names, known.pool.estimators, strict=True))
    fitted = getattr(members.get(POOLING), "estimator_", None)
    if fitted is None or not is_partial_pooling(fitted):
        return None
    named, pool = copy(fitted), context.estimator
    codes = fitted.sources_ if fitted.sources_.ndim == 1 else fitted.sources_[:, -1]
    named.sources_ = known.names[codes.astype(np.int64)]
    if hasattr(pool, "classes_"):
        named.classes_ = pool.classes_[fitted.classes_]
    features = feature_names(context.model, context.columns)
    if hasattr(pool, "encoder_"):
        features = [str(each) for each in pool.encoder_.get_feature_names_out(
            np.asarray(features, dtype=object))]  # fmt: skip
    return document_of_pooling(named, features)


def _source_facts(sources: PoolSourcesDocument | None) -> dict[str, str]:
    if sources is None:
        return {}
    return {"knowing the source": _VERDICTS[_verdict(sources)]}


_VERDICTS = {1: "helps", 0: "no significant change", -1: "does not help"}


def _verdict(sources: PoolSourcesDocument) -> int:
    """Give 1 where the source helps significantly, and -1 where it is not used."""
    if not sources.helps:
        return -1
    return int(sources.change < -Z_95 * sources.standard_error)


def _signed(written: str) -> str:
    return written.replace("-", MINUS) if written.startswith("-") else f"+{written}"


def _known_sentence(sources: PoolSourcesDocument) -> str:
    """Say whether knowing the source helps, and by how much."""
    whole = sources.overall
    losses = f"log loss {whole.log_loss_known:.4f} with it and {whole.log_loss_unknown:.4f} without"
    if whole.rmse_known is not None and whole.rmse_unknown is not None:
        known, unknown = (write_number(each) for each in (whole.rmse_known, whole.rmse_unknown))
        squares = _signed(write_number(sources.change, 3))
        error = write_number(sources.standard_error, 2)
        scores = (
            f"out-of-fold RMSE {known} with it and {unknown} without (mean squared error {squares} "
            f"± {error}), {losses}"
        )
    else:
        scores = (
            f"out-of-fold {losses} ({_signed(f'{sources.change:.4f}')} ± "
            f"{sources.standard_error:.4f}), accuracy {whole.accuracy_known:.3f} and "
            f"{whole.accuracy_unknown:.3f}"
        )
    found = _verdict(sources)
    if found == 1:
        return f"Knowing the source helps: {scores}."
    if found == 0:
        return (
            f"Knowing the source does not change the loss significantly: {scores}. It is used, as "
            "the source-blind pool is not better by more than the standard error."
        )
    return (
        f"Knowing the source does not help: {scores}; all rows are predicted by the source-blind "
        "pool."
    )


def _known_blocks(known: SourcePool, sources: PoolSourcesDocument) -> list[Block]:
    """Show the members of the source-aware pool, and the scores of each source."""
    named = listing(source_labels(known.names), MAX_SOURCES)
    names = f"{count(len(known.names), 'known source')} ({named})"
    text = f"Rows of {names} are predicted by source-aware members:"
    if not sources.helps:
        text = (
            f"Source-aware members of the {names}, which are not used, as the source-blind pool is "
            "better:"
        )
    blocks: list[Block] = [text, known.leaderboard.as_table()]
    n_outer = known.index.n_codes - known.index.n_sources
    parts = [("Scores by source", sources.scores)]
    if n_outer:
        outer = sources.scores[:n_outer]
        parts = [
            ("Scores by outer source", outer),
            ("Scores by inner source", sources.scores[n_outer:]),
        ]
    return [*blocks, *(_scores_table(title, each, sources.overall) for title, each in parts)]


def _scores_table(title: str, scores: Sequence[SourceScores], overall: SourceScores) -> TableBlock:
    """Show the sources whose log loss changes most, and all together."""
    numeric = overall.rmse_known is not None
    order = sorted(scores, key=lambda each: -abs(_change(each) * each.rows))
    shown = sorted(order[:MAX_SHOWN], key=scores.index)
    heads = ["source", "rows", "log loss, known", "log loss, unknown", "change"]
    heads += [f"{'RMSE' if numeric else 'accuracy'}, {each}" for each in ("known", "unknown")]
    rows = []
    for each in (*shown, overall):
        fields = [
            Field("(all)" if each is overall else each.source), count_field(each.rows),
            number_field(each.log_loss_known, 3), number_field(each.log_loss_unknown, 3),
            signed_field(_change(each), 3),
        ]  # fmt: skip
        if numeric:
            places = MEASURES["rmse"].places(overall.rmse_unknown or 0.0)
            fields += [
                number_field(value, places) for value in (each.rmse_known, each.rmse_unknown)
            ]
        else:
            fields += [share_field(each.accuracy_known), share_field(each.accuracy_unknown)]
        rows.append(fields)
    legend = "Out of fold, with the source known and as if it were unknown."
    rest = len(scores) - len(shown)
    if rest:
        legend += (
            f" Shown are the {len(shown)} sources that contribute most to the change; "
            f"{count(rest, 'other source is', 'other sources are')} in the last line only."
        )
    columns = [Heading(head, numeric=j > 0) for j, head in enumerate(heads)]
    return TableBlock(columns, rows, title, legend)


def _change(scores: SourceScores) -> float:
    return scores.log_loss_known - scores.log_loss_unknown


def _difference_blocks(sources: PoolSourcesDocument, context: ModelContext) -> list[Block]:
    """Show the offsets of sources, and what partial pooling says of them."""
    if not sources.helps:
        return []
    blocks: list[Block] = []
    classes = [str(each) for each in getattr(context.estimator, "classes_", ())]
    if sources.offset_penalty is None:
        blocks.append("Offsets of sources: none, as they do not lower the out-of-fold loss.")
    else:
        blocks.append(_offset_bars(sources.offsets, sources.offset_penalty, classes))
    if sources.partial_pooling is not None:
        share = sources.partial_pooling_weight or 0.0
        blocks.append(
            f"Partial pooling, which has {share:.0%} of the weight of the source-aware pool:"
        )
        blocks += pooling_blocks(sources.partial_pooling, encoded=is_encoded(context.model))
    return blocks


def _offset_bars(
    offsets: Sequence[SourceEffect], penalty: float, classes: Sequence[str]
) -> BarsBlock:
    scale = "the log-odds" if len(classes) == 2 else "the log probability of a class"
    if not classes:
        scale = "the prediction"
    legend = (
        f"Added to {scale} for a source, after all members, with 95 % intervals. The penalty "
        f"{write_number(penalty)} shrinks offsets towards zero."
    )
    return interval_bars(offsets, "Offsets of sources", legend, classes)


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

    decision = decision_by_columns(context)
    row = RowExplanation(
        context.row_index,
        str(found.prediction) if classes else write_number(found.prediction, 6),
        classes,
        scores(found),
        decision,
        member_predictions=[
            MemberPrediction(each.member, scores(each), each.weight, each.contribution)
            for each in found.members
        ],
        source=_source_text(found.source),
    )
    text = prediction_text(row)
    if not classes:
        text += f", with a standard deviation of {write_number(row.scores[1])}"
    if row.source is not None:
        text += f", by source-aware members (source {row.source})"
    sections = [Section(f"Row {row.row}", [f"{text}.", found.as_table()])]
    if decision is not None:
        sections.append(Section("Contributions of the columns", [contribution_bars(decision)]))
    return row, sections
