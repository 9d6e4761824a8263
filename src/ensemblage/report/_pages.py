"""The reports of a clustering and of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ensemblage._core import (
    MINUS,
    NOTHING,
    Field,
    Heading,
    TableBlock,
    count_field,
    share_field,
)
from ensemblage.datasets import DataSummary
from ensemblage.evaluation import MEASURES
from ensemblage.report._blocks import Bar, BarsBlock, Block, Page, Section, ShadesBlock
from ensemblage.report._data import data_section
from ensemblage.report._explanation import Explanation
from ensemblage.studies import ClusteringDocument, Prototype

MAX_COLUMNS = 24
"""Columns of a clustering that are coloured."""
FULL_COLOUR = 2.0
"""Standard deviations from the mean at which a colour has its full strength."""
SCORE_NAMES = {"nmi": "normalised mutual information"}

Columns = Mapping[str, NDArray[np.float64]]


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
    sentences = [f"{label}: {n_rows} rows in {len(sizes)} clusters of {of}."]
    if document.reason is not None:
        sentences.append(document.reason)
    if document.agreement is not None:
        share = float(np.mean(document.agreement))
        sentences.append(f"Mean agreement of the views with a row's cluster: {share:.0%}.")
    scores = {SCORE_NAMES.get(key, key): f"{score:.4f}" for key, score in document.scores.items()}
    if scores:
        named = ", ".join(f"{key} {text}" for key, text in scores.items())
        sentences.append(f"Agreement with the target, which was not used: {named}.")
    bars = [
        Bar(f"cluster {each.cluster}", each.rows, f"{each.rows:,}", strong=True)
        for each in prototypes
    ]
    known = () if document.data is None else document.data.notes
    others = [note for note in notes if note not in known]
    profiles = None if columns is None else profile_figure(prototypes, columns)
    shown = [] if profiles is None else [profiles]
    sections = [
        Section("Cluster sizes", [BarsBlock(bars, "Rows per cluster.", from_zero=True)]),
        Section("Cluster profiles", [*shown, _profile_table(document)]),
        *data_section(document.data),
        Section("Notes", [others] if others else []),
    ]
    facts = {"rows": n_rows, "clusters": str(document.clusters), "method": label} | scores
    return Page(f"Cluster report: {name}", "cluster report", sentences, facts, sections)


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
    most = f" The {left} columns in which the clusters differ least are not shown." if left else ""
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
        "Mean of each column in each cluster, in the unit of the column. Warm colours are above "
        "the mean of all rows, cold colours below; full colour is a difference of "
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
    legend = "Mean of a numeric column, most frequent category of a categorical column."
    if document.agreement is not None:
        labels, votes = np.asarray(document.labels), np.asarray(document.agreement, dtype=float)
        shares = [share_field(float(votes[labels == each.cluster].mean())) for each in prototypes]
        named.append((Heading("agreement", numeric=True), shares))
        legend += " Agreement: share of the views' votes for the row's cluster."
    for name in prototypes[0].typical:
        values = [each.typical[name] for each in prototypes]
        numeric = not any(isinstance(value, str) for value in values)
        named.append((Heading(name, numeric=numeric), [_typical(value) for value in values]))
    heads, fields = zip(*named, strict=True)
    rows = list(zip(*fields, strict=True))
    return TableBlock(heads, rows, "Typical values of each cluster", legend)


def _typical(value: float | str | None) -> Field:
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return Field(value)
    return Field(f"{value:g}".replace("-", MINUS), float(value))


def explanation_page(
    explained: Explanation,
    *,
    name: str,
    target: str | None = None,
    details: Mapping[str, Any] | None = None,
) -> Page:
    """Show a model of a name and of a target; ``details`` were noted when it was saved.

    These may be ``dataset``, ``n_rows``, ``learned``, ``data``, and ``accuracy`` or ``rmse`` with
    their standard errors ``accuracy_se`` and ``rmse_se``.
    """
    noted = dict(details or {})
    dataset = noted.get("dataset")
    sentences, row_sections = list(explained.sentences), list(explained.row_sections)
    if row_sections and isinstance(row_sections[0].blocks[0], str):
        # the sentence with the prediction of a row comes first on the page
        sentences.insert(0, row_sections[0].blocks[0])
        row_sections[0] = replace(row_sections[0], blocks=row_sections[0].blocks[1:])
    for key in ("accuracy", "rmse"):
        if noted.get(key) is not None:
            score = MEASURES[key].with_error(noted[key], noted.get(f"{key}_se"), 4)
            error = " (± standard error)" if noted.get(f"{key}_se") is not None else ""
            sentences.append(f"Cross-validated {MEASURES[key].label} in training{error}: {score}.")
    facts = dict(explained.facts)
    if dataset is not None:
        facts["trained on"] = dataset
    if noted.get("n_rows") is not None:
        facts["rows"] = f"{noted['n_rows']:,}"
    subject, row = name, getattr(explained.document, "row", None)
    if target is not None:
        subject = f"{target} ({name})" if dataset is None else f"{target}, trained on {dataset}"
        facts["model"] = name
    lines: list[Block] = [f"{line[:1].upper()}{line[1:]}." for line in noted.get("learned", ())]
    sections = [
        *row_sections,
        *explained.sections,
        Section("Training summary", lines),
        *data_section(msgspec.convert(noted.get("data"), DataSummary | None)),
    ]
    kind = "Model report" if row is None else f"Prediction report, row {row}"
    return Page(f"{kind}: {subject}", kind.lower(), sentences, facts, sections)
