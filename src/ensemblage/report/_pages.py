"""The pages of an audit, of a clustering and of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ensemblage._core import (
    INK,
    MINUS,
    NOTHING,
    Field,
    Heading,
    TableBlock,
    count_field,
    share_field,
    signed_field,
)
from ensemblage.datasets import DataSummary
from ensemblage.evaluation import MEASURES
from ensemblage.report._blocks import (
    Bar,
    BarsBlock,
    FactsBlock,
    FigureBlock,
    NotesBlock,
    Page,
    Section,
    Shade,
    ShadesBlock,
    TextBlock,
)
from ensemblage.report._comparison import data_section
from ensemblage.report._explanation import Explanation
from ensemblage.sources import AuditedSource, ColumnShift, SourceAudit, draw_calibration_curves
from ensemblage.studies import AuditDocument, ClusteringDocument, Prototype


def audit_page(document: AuditDocument) -> Page:
    """Tell what a model is worth on known sources and on new ones.

    Parameters
    ----------
    document : AuditDocument
        What ``ensemblage audit --json`` prints.

    Returns
    -------
    Page
        To be rendered.
    """
    found = document.audit
    sections = [
        Section("Errors, source by source", [_errors(found.sources)]),
        Section(
            "Calibration when left out",
            [_offsets(found.sources, str(found.reference_class)), _fan(found)],
        ),
        Section("All figures", [found.table()]),
        Section("Columns that differ between sources", [_shifts(found.column_shifts)]),
        *data_section(document.data),
    ]
    facts = FactsBlock(
        [
            ("model", document.label),
            ("sources", str(len(found.sources))),
            ("error, ordinary folds", f"{found.error:.3f}"),
            ("error, new source", f"{found.new_error:.3f}"),
            ("95 % bounds of it", f"{found.new_error_low:.2f} to {found.new_error_high:.2f}"),
            *(
                [("nine in ten new sources below", f"{found.error_upper_90:.3f}")]
                if found.error_upper_90 < 1
                else []
            ),
        ]
    )
    title = f"Sources of {document.dataset}"
    return Page(title, "audit of sources", list(document.sentences), facts, sections)


def _errors(sources: Sequence[AuditedSource]) -> BarsBlock:
    bars = [
        Bar(
            each.name, each.shrunken_error, f"{each.shrunken_error:.3f}",
            error=(each.shrunken_error_high - each.shrunken_error_low) / 2, reference=each.error,
            strong=each.inverted,
        )
        for each in sorted(sources, key=lambda each: -each.shrunken_error)
    ]  # fmt: skip
    caption = (
        "Share of wrong predictions to expect when the source is left out of training, as if it "
        "were new, with 95 % intervals; small sources are drawn towards the others. The mark is "
        "the error by ordinary folds."
    )
    return BarsBlock(bars, caption, from_zero=True)


def _fan(audit: SourceAudit) -> FigureBlock:
    far = max(audit.sources, key=lambda each: abs(each.offset))
    return FigureBlock(
        partial(draw_calibration_curves, audit, ink=INK), 3.7, 3.4,
        f"One line per source; furthest from the diagonal is {far.name}.",
        "The rate to expect in a source where the model, which has not seen it, says the "
        "probability below. On the diagonal it is right; a flat line is a model too sure.",
    )  # fmt: skip


def _offsets(sources: Sequence[AuditedSource], label: str) -> BarsBlock:
    bars = [
        Bar(
            each.name, each.offset, signed_field(each.offset, 2).text,
            error=(each.offset_high - each.offset_low) / 2, strong=each.inverted,
        )
        for each in sorted(sources, key=lambda each: -each.offset)
    ]  # fmt: skip
    caption = (
        f"What should be added to the log odds of {label!r} for the source: to the right, the "
        "model says too little there. Lines are 95 % intervals; small sources are drawn towards "
        "the others."
    )
    return BarsBlock(bars, caption, signed=True)


def _shifts(shifts: Sequence[ColumnShift]) -> TableBlock:
    columns = (
        Heading("column"), Heading("strength", numeric=True), Heading("source"), Heading("there"),
        Heading("elsewhere"),
    )  # fmt: skip
    rows = [
        (
            Field(each.column), Field(f"{each.strength:.2f}", each.strength), Field(each.source),
            Field(each.in_source), Field(each.in_others),
        )
        for each in shifts
    ]  # fmt: skip
    legend = (
        "Strength is 0 for a column that is alike everywhere and 1 for one that the source tells."
    )
    return TableBlock(columns, rows, "Columns that differ most, and where", legend=legend)


MOST_COLUMNS = 24
FULL = 2.0
"""Standard deviations from the mean at which a colour has its full strength."""

Columns = Mapping[str, NDArray[np.float64]]


def prototype_figure(prototypes: Sequence[Prototype], rows: Columns) -> ShadesBlock | None:
    """Colour the clusters' means in the columns that hold numbers; None if there is no such column.

    The rows, NaN for a missing number, tell how much a column varies.
    """
    known = {name: column[~np.isnan(column)] for name, column in rows.items()}
    names = [
        name for name, column in known.items()
        if len(column) and all(each.typical[name] is not None for each in prototypes)
    ]  # fmt: skip
    if not names:
        return None
    shown = _most_telling(prototypes, known, names)
    left = len(names) - len(shown)
    most = f" The {left} columns in which the clusters differ least are left out." if left else ""
    return ShadesBlock(
        "cluster",
        [str(each.cluster) for each in prototypes],
        [(name, _shades(name, prototypes, known[name])) for name in shown],
        "Mean of each column in each cluster, in the units of the data. The warmer the colour, the "
        "further above the mean of all rows, the colder, the further below; at full strength by "
        f"{FULL:g} standard deviations.{most}",
        signed=True,
    )


def _shades(name: str, prototypes: Sequence[Prototype], column: NDArray[np.float64]) -> list[Shade]:
    values = np.array([each.typical[name] for each in prototypes], dtype=float)
    levels = np.clip((values - column.mean()) / (column.std() or 1.0) / FULL, -1, 1)
    return [
        Shade(f"{value:.4g}".replace("-", MINUS), float(level))
        for value, level in zip(values, levels, strict=True)
    ]


def _most_telling(prototypes: Sequence[Prototype], known: Columns, names: list[str]) -> list[str]:
    """Choose the columns in which the clusters differ most, in the order of the file."""
    means = np.array([[each.typical[name] for name in names] for each in prototypes], dtype=float)
    scale = np.array([known[name].std() or 1.0 for name in names])
    spread = dict(zip(names, (means.std(axis=0) / scale).tolist(), strict=True))
    best = set(sorted(names, key=lambda name: -spread[name])[:MOST_COLUMNS])
    return [name for name in names if name in best]


WORDS = {"nmi": "normalised mutual information"}


def clustering_page(
    document: ClusteringDocument,
    *,
    name: str,
    label: str,
    columns: Mapping[str, NDArray[np.float64]] | None = None,
    notes: Sequence[str] = (),
) -> Page:
    """Tell what clusters were found.

    Parameters
    ----------
    document : ClusteringDocument
        What ``ensemblage cluster --json`` prints.
    name : str
        Of the data.
    label : str
        Of the method, as a reader knows it.
    columns : mapping of str to ndarray, default=None
        The columns of numbers, by which the prototypes are coloured.
    notes : sequence of str, default=()
        What the method warned of.

    Returns
    -------
    Page
        To be rendered.
    """
    prototypes = document.prototypes
    picture = None if columns is None else prototype_figure(prototypes, columns)
    shown = [] if picture is None else [picture]
    sections = [
        Section("Sizes", [_sizes(prototypes)]),
        Section("Prototypes", [*shown, _prototypes(prototypes, _mean_agreement(document))]),
        *data_section(document.data),
        Section("Notes", [NotesBlock(notes)] if notes else []),
    ]
    return Page(
        f"Clusters of {name}", "clusters", _summary(document, prototypes, label),
        _facts(document, label), sections,
    )  # fmt: skip


def _mean_agreement(document: ClusteringDocument) -> dict[int, float]:
    if document.agreement is None:
        return {}
    labels, shares = np.asarray(document.labels), np.asarray(document.agreement, dtype=float)
    return {label: float(shares[labels == label].mean()) for label in np.unique(labels).tolist()}


def _summary(
    document: ClusteringDocument, prototypes: Sequence[Prototype], label: str
) -> list[str]:
    sizes = [each.rows for each in prototypes]
    rows, clusters = f"{len(document.labels):,} rows", f"{len(sizes)} clusters"
    told = [f"{label} puts {rows} into {clusters} of {min(sizes):,} to {max(sizes):,} rows."]
    if document.reason is not None:
        told.append(document.reason)
    if document.agreement is not None:
        share = float(np.mean(document.agreement))
        told.append(f"The views agree with a row's cluster in {share:.0%} of their votes.")
    if document.scores:
        scores = ", ".join(
            f"{WORDS.get(name, name)} {score:.4f}" for name, score in document.scores.items()
        )
        told.append(f"Against the target, which was not used: {scores}.")
    return told


def _facts(document: ClusteringDocument, label: str) -> FactsBlock:
    facts = [
        ("rows", f"{len(document.labels):,}"),
        ("clusters", str(document.clusters)),
        ("method", label),
    ]
    return FactsBlock(facts + [(name, f"{score:.4f}") for name, score in document.scores.items()])


def _sizes(prototypes: Sequence[Prototype]) -> BarsBlock:
    bars = [
        Bar(f"cluster {each.cluster}", each.rows, f"{each.rows:,}", strong=True)
        for each in prototypes
    ]
    return BarsBlock(bars, "Rows of each cluster.", from_zero=True)


def _prototypes(prototypes: Sequence[Prototype], agreement: Mapping[int, float]) -> TableBlock:
    # pairs, as a column of the data may have the name of one of ours
    named = [
        (Heading("cluster"), [Field(f"cluster {each.cluster}") for each in prototypes]),
        (Heading("rows", numeric=True), [count_field(each.rows) for each in prototypes]),
    ]
    if agreement:
        shares = [share_field(agreement[each.cluster]) for each in prototypes]
        named.append((Heading("agreement", numeric=True), shares))
    for name in prototypes[0].typical:
        values = [each.typical[name] for each in prototypes]
        numeric = not any(isinstance(value, str) for value in values)
        named.append((Heading(name, numeric=numeric), [_typical(value) for value in values]))
    legend = "Mean of a column of numbers, most frequent word of a column of words."
    if agreement:
        legend += " Agreement is the share of votes that the views cast for the row's cluster."
    heads, fields = zip(*named, strict=True)
    rows = list(zip(*fields, strict=True))
    return TableBlock(heads, rows, "What a row of each cluster is like", legend)


def _typical(value: float | str | None) -> Field:
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return Field(value)
    return Field(f"{value:g}".replace("-", MINUS), float(value))


class Training(msgspec.Struct, frozen=True):
    """What may have been noted when a model was saved."""

    dataset: str | None = None
    n_rows: int | None = None
    accuracy: float | None = None
    accuracy_se: float | None = None
    rmse: float | None = None
    rmse_se: float | None = None
    learned: list[str] = []
    data: DataSummary | None = None


def explanation_page(
    explained: Explanation, *, name: str, details: Mapping[str, Any] | None = None
) -> Page:
    """Tell what a model is made of.

    Parameters
    ----------
    explained : Explanation
        What :func:`ensemblage.report.explain_model` gives.
    name : str
        Of the model.
    details : mapping, default=None
        What was noted when it was saved: ``dataset``, ``n_rows``, ``accuracy`` or ``rmse`` with
        their standard errors ``accuracy_se`` and ``rmse_se``, ``learned`` and ``data``.

    Returns
    -------
    Page
        To be rendered.
    """
    training = msgspec.convert(dict(details or {}), Training)
    shown = explained.page()
    noted = [] if shown.complete else _learned(training)
    sections = [*shown.sections, *noted, *data_section(training.data)]
    return Page(
        f"What {name} learned", "explanation", [*shown.summary, *_score(training)],
        FactsBlock([*shown.facts, *_trained_on(training)]), sections,
    )  # fmt: skip


def _trained_on(training: Training) -> list[tuple[str, str]]:
    facts = [] if training.dataset is None else [("trained on", training.dataset)]
    return facts if training.n_rows is None else [*facts, ("rows", f"{training.n_rows:,}")]


def _score(training: Training) -> list[str]:
    noted = {
        "accuracy": (training.accuracy, training.accuracy_se),
        "rmse": (training.rmse, training.rmse_se),
    }
    return [
        f"When it was trained, its cross-validated {MEASURES[name].label} was "
        f"{MEASURES[name].with_error(value, error, 4)}."
        for name, (value, error) in noted.items()
        if value is not None
    ]


def _learned(training: Training) -> list[Section]:
    lines = [f"{line[:1].upper()}{line[1:]}." for line in training.learned]
    return [Section("Noted in training", [TextBlock(lines)])] if lines else []
