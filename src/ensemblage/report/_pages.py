"""The reports of an audit, of a clustering and of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ensemblage._core import (
    MINUS,
    NOTHING,
    THEMED_INK,
    Field,
    Heading,
    TableBlock,
    count_field,
    share_field,
    signed_field,
)
from ensemblage.datasets import DataSummary
from ensemblage.evaluation import MEASURES
from ensemblage.report._blocks import Bar, BarsBlock, Block, FigureBlock, Page, Section, ShadesBlock
from ensemblage.report._data import data_section
from ensemblage.report._explanation import Explanation
from ensemblage.sources import SourceAudit, draw_calibration_curves
from ensemblage.studies import AuditDocument, ClusteringDocument, Prototype

MAX_COLUMNS = 24
"""Columns of a clustering that are coloured."""
FULL_COLOUR = 2.0
"""Standard deviations from the mean at which a colour has its full strength."""
SCORE_NAMES = {"nmi": "normalised mutual information"}

Columns = Mapping[str, NDArray[np.float64]]


def audit_page(document: AuditDocument) -> Page:
    """Show the validation of a model at known sources and at new ones."""
    audit = document.audit
    facts = {
        "model": document.label,
        "sources": str(len(audit.sources)),
        "CV error": f"{audit.cv_error:.3f}",
        "expected error at a new source": f"{audit.leave_source_out_error:.3f}",
        "95 % confidence interval": (
            f"{audit.leave_source_out_error_ci_low:.2f} to "
            f"{audit.leave_source_out_error_ci_high:.2f}"
        ),
    }
    if audit.prediction_limit < 1:
        facts["90 % prediction limit"] = f"{audit.prediction_limit:.3f}"
    sections = [
        Section("Leave-source-out error by source", [_source_errors(audit)]),
        Section("Leave-source-out calibration", _calibration(audit)),
        Section("Validation by source", [audit.table()]),
        Section("Covariate shift between sources", [_shifts(audit)]),
        *data_section(document.data),
    ]
    title = f"Source audit: {document.dataset}"
    return Page(title, "source audit", list(document.sentences), facts, sections)


def _source_errors(audit: SourceAudit) -> BarsBlock:
    bars = [
        Bar(
            each.name, each.shrunken_error, f"{each.shrunken_error:.3f}",
            error=(each.shrunken_error_ci_high - each.shrunken_error_ci_low) / 2,
            reference=each.cv_error, strong=each.inverted,
        )
        for each in sorted(audit.sources, key=lambda each: -each.shrunken_error)
    ]  # fmt: skip
    caption = (
        "Leave-source-out error with 95 % confidence intervals; small sources are shrunk towards "
        "the mean (partial pooling). The mark is the CV error."
    )
    return BarsBlock(bars, caption, from_zero=True)


def _calibration(audit: SourceAudit) -> list[Block]:
    """Draw the sources' calibration intercepts and curves."""
    bars = [
        Bar(
            each.name, each.calibration_intercept, signed_field(each.calibration_intercept, 2).text,
            error=(each.calibration_intercept_ci_high - each.calibration_intercept_ci_low) / 2,
            strong=each.inverted,
        )
        for each in sorted(audit.sources, key=lambda each: -each.calibration_intercept)
    ]  # fmt: skip
    caption = (
        f"Calibration intercept of the log-odds of {str(audit.reference_class)!r}. Above zero the "
        "predicted risk is too low. Lines are 95 % confidence intervals; small sources are shrunk "
        "towards the mean (partial pooling)."
    )
    far = max(audit.sources, key=lambda each: abs(each.calibration_intercept))
    curves = FigureBlock(
        partial(draw_calibration_curves, audit, ink=THEMED_INK), 3.7, 3.4,
        f"One curve per source; furthest from the diagonal is {far.name}.",
        "Calibration curve of each source: expected rate by leave-source-out predicted risk. On "
        "the diagonal the model is calibrated; a flat line means an overconfident model.",
    )  # fmt: skip
    return [BarsBlock(bars, caption, signed=True), curves]


def _shifts(audit: SourceAudit) -> TableBlock:
    heads = ("source", "in this source", "in the others")
    columns = [Heading("column"), Heading("strength", numeric=True), *map(Heading, heads)]
    rows = [
        (
            Field(each.column), Field(f"{each.strength:.2f}", each.strength), Field(each.source),
            Field(each.in_source), Field(each.in_others),
        )
        for each in audit.column_shifts
    ]  # fmt: skip
    legend = (
        "Strength: association with the source, from 0 (same distribution in all sources) to 1 "
        "(identifies the source)."
    )
    return TableBlock(columns, rows, "Columns with the largest shift", legend)


def clustering_page(
    document: ClusteringDocument,
    *,
    name: str,
    label: str,
    columns: Columns | None = None,
    notes: Sequence[str] = (),
) -> Page:
    """Show the clusters of the data of a name by a method of a label.

    Numeric columns, by which profiles are coloured, and warnings may be given.
    """
    prototypes = document.prototypes
    sizes = [each.rows for each in prototypes]
    n_rows = f"{len(document.labels):,}"
    of = f"{min(sizes):,} to {max(sizes):,} rows"
    sentences = [f"{label} puts {n_rows} rows into {len(sizes)} clusters of {of}."]
    if document.reason is not None:
        sentences.append(document.reason)
    if document.agreement is not None:
        share = float(np.mean(document.agreement))
        sentences.append(f"The views agree with a row's cluster in {share:.0%} of their votes.")
    scores = {key: f"{score:.4f}" for key, score in document.scores.items()}
    if scores:
        named = ", ".join(f"{SCORE_NAMES.get(key, key)} {text}" for key, text in scores.items())
        sentences.append(f"Against the target, which was not used: {named}.")
    bars = [
        Bar(f"cluster {each.cluster}", each.rows, f"{each.rows:,}", strong=True)
        for each in prototypes
    ]
    profiles = None if columns is None else profile_figure(prototypes, columns)
    shown = [] if profiles is None else [profiles]
    sections = [
        Section("Sizes", [BarsBlock(bars, "Rows of each cluster.", from_zero=True)]),
        Section("Cluster profiles", [*shown, _profile_table(document)]),
        *data_section(document.data),
        Section("Notes", [list(notes)] if notes else []),
    ]
    facts = {"rows": n_rows, "clusters": str(document.clusters), "method": label} | scores
    return Page(f"Clusters of {name}", "clusters", sentences, facts, sections)


def profile_figure(prototypes: Sequence[Prototype], rows: Columns) -> ShadesBlock | None:
    """Colour the clusters' means of the numeric columns; None if there is no such column.

    The rows, NaN for a missing value, give a column's standard deviation.
    """
    known = {name: column[~np.isnan(column)] for name, column in rows.items()}
    names = [
        name for name, column in known.items()
        if len(column) and all(each.typical[name] is not None for each in prototypes)
    ]  # fmt: skip
    if not names:
        return None
    means = np.array([[each.typical[name] for name in names] for each in prototypes], dtype=float)
    scale = np.array([known[name].std() or 1.0 for name in names])
    centre = np.array([known[name].mean() for name in names])
    levels = np.clip((means - centre) / scale / FULL_COLOUR, -1, 1)
    # those in which the clusters differ most, in the order of the file
    shown = np.sort(np.argsort(-(means.std(axis=0) / scale), kind="stable")[:MAX_COLUMNS])
    left = len(names) - len(shown)
    most = f" The {left} columns in which the clusters differ least are left out." if left else ""
    return ShadesBlock(
        "cluster",
        [str(each.cluster) for each in prototypes],
        [
            (
                names[j],
                [
                    (f"{mean:.4g}".replace("-", MINUS), float(level))
                    for mean, level in zip(means[:, j], levels[:, j], strict=True)
                ],
            )
            for j in shown
        ],
        "Mean of each column in each cluster, in the units of the data. The warmer the colour, the "
        "further above the mean of all rows, the colder, the further below; at full strength by "
        f"{FULL_COLOUR:g} standard deviations.{most}",
        signed=True,
    )


def _profile_table(document: ClusteringDocument) -> TableBlock:
    prototypes = document.prototypes
    # pairs, as a column of the data may have the name of one of ours
    named = [
        (Heading("cluster"), [Field(f"cluster {each.cluster}") for each in prototypes]),
        (Heading("rows", numeric=True), [count_field(each.rows) for each in prototypes]),
    ]
    legend = "Mean of a numeric column, most frequent category of a categorical one."
    if document.agreement is not None:
        labels, votes = np.asarray(document.labels), np.asarray(document.agreement, dtype=float)
        shares = [share_field(float(votes[labels == each.cluster].mean())) for each in prototypes]
        named.append((Heading("agreement", numeric=True), shares))
        legend += " Agreement is the share of votes that the views cast for the row's cluster."
    for name in prototypes[0].typical:
        values = [each.typical[name] for each in prototypes]
        numeric = not any(isinstance(value, str) for value in values)
        named.append((Heading(name, numeric=numeric), [_typical(value) for value in values]))
    heads, fields = zip(*named, strict=True)
    rows = list(zip(*fields, strict=True))
    return TableBlock(heads, rows, "A typical row of each cluster", legend)


def _typical(value: float | str | None) -> Field:
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return Field(value)
    return Field(f"{value:g}".replace("-", MINUS), float(value))


def explanation_page(
    explained: Explanation, *, name: str, details: Mapping[str, Any] | None = None
) -> Page:
    """Show a model of a name; ``details`` were noted when it was saved.

    These may be ``dataset``, ``n_rows``, ``learned``, ``data``, and ``accuracy`` or ``rmse`` with
    their standard errors ``accuracy_se`` and ``rmse_se``.
    """
    noted = dict(details or {})
    sentences = list(explained.sentences)
    for key in ("accuracy", "rmse"):
        if noted.get(key) is not None:
            score = MEASURES[key].with_error(noted[key], noted.get(f"{key}_se"), 4)
            sentences.append(f"Cross-validated {MEASURES[key].label} in training: {score}.")
    facts = dict(explained.facts)
    if noted.get("dataset") is not None:
        facts["trained on"] = noted["dataset"]
    if noted.get("n_rows") is not None:
        facts["rows"] = f"{noted['n_rows']:,}"
    lines: list[Block] = [f"{line[:1].upper()}{line[1:]}." for line in noted.get("learned", ())]
    sections = [
        *explained.row_sections,
        *explained.sections,
        Section("Training summary", lines),
        *data_section(msgspec.convert(noted.get("data"), DataSummary | None)),
    ]
    return Page(f"Model report: {name}", "explanation", sentences, facts, sections)
