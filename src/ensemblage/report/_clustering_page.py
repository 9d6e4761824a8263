"""The page of ``ensemblage cluster``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ensemblage.methods import ClusteringDocument, Prototype
from ensemblage.pages import (
    MINUS,
    NOTHING,
    Bar,
    BarsBlock,
    Column,
    FactsBlock,
    Field,
    NotesBlock,
    Page,
    Section,
    TableBlock,
    count_field,
    share_field,
)
from ensemblage.report._data_section import data_section
from ensemblage.report._prototype_figure import prototype_figure

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
        (Column("cluster"), [Field(f"cluster {each.cluster}") for each in prototypes]),
        (Column("rows", numeric=True), [count_field(each.rows) for each in prototypes]),
    ]
    if agreement:
        shares = [share_field(agreement[each.cluster]) for each in prototypes]
        named.append((Column("agreement", numeric=True), shares))
    for name in prototypes[0].typical:
        values = [each.typical[name] for each in prototypes]
        numeric = not any(isinstance(value, str) for value in values)
        named.append((Column(name, numeric=numeric), [_typical(value) for value in values]))
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
