"""The page of ``ensemblage cluster``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ensemblage.pages import (
    MINUS,
    NOTHING,
    Bar,
    BarsBlock,
    Block,
    Column,
    FactsBlock,
    Field,
    NotesBlock,
    Page,
    Section,
    TableBlock,
    share_field,
)
from ensemblage.report._prototype_figure import prototype_figure


def clustering_page(
    document: Mapping[str, Any],
    *,
    name: str,
    label: str,
    columns: Mapping[str, np.ndarray] | None = None,
    notes: Sequence[str] = (),
) -> Page:
    """Tell what clusters were found.

    Parameters
    ----------
    document : mapping
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
    prototypes = document["prototypes"]
    agreement = _mean_agreement(document)
    picture = None if columns is None else prototype_figure(prototypes, columns)
    sections = [
        Section("Sizes", [_sizes(prototypes)]),
        Section(
            "Prototypes",
            [*([] if picture is None else [picture]), _prototypes(prototypes, agreement)],
        ),
        Section("Notes", [NotesBlock(notes)] if notes else []),
    ]
    return Page(
        f"Clusters of {name}", "clusters", _summary(document, label), _facts(document, label),
        sections,
    )  # fmt: skip


def _mean_agreement(document: Mapping[str, Any]) -> dict[int, float]:
    if document["agreement"] is None:
        return {}
    labels, shares = np.asarray(document["labels"]), np.asarray(document["agreement"], dtype=float)
    return {label: float(shares[labels == label].mean()) for label in np.unique(labels).tolist()}


def _summary(document: Mapping[str, Any], label: str) -> list[str]:
    sizes = [each["rows"] for each in document["prototypes"]]
    first = (
        f"{label} puts {len(document['labels']):,} rows into {len(sizes)} clusters of "
        f"{min(sizes):,} to {max(sizes):,} rows."
    )
    told = [first]
    if document["agreement"] is not None:
        share = float(np.mean(document["agreement"]))
        told.append(f"The views agree with a row's cluster in {share:.0%} of their votes.")
    scores = document["scores"]
    if scores:
        told.append(
            f"Against the target, which was not used: normalised mutual information "
            f"{scores['nmi']:.4f}, purity {scores['purity']:.4f}."
        )
    return told


def _facts(document: Mapping[str, Any], label: str) -> FactsBlock:
    facts = [
        ("rows", f"{len(document['labels']):,}"),
        ("clusters", str(document["clusters"])),
        ("method", label),
    ]
    return FactsBlock(facts + [(key, f"{value:.4f}") for key, value in document["scores"].items()])


def _sizes(prototypes: Sequence[Mapping[str, Any]]) -> BarsBlock:
    bars = [
        Bar(f"cluster {each['cluster']}", each["rows"], f"{each['rows']:,}", strong=True)
        for each in prototypes
    ]
    return BarsBlock(bars, "Rows of each cluster.", from_zero=True)


def _prototypes(prototypes: Sequence[Mapping[str, Any]], agreement: Mapping[int, float]) -> Block:
    names = [name for name in prototypes[0] if name not in {"cluster", "rows"}]
    numbers = {
        name: all(isinstance(each[name], int | float | None) for each in prototypes)
        for name in names
    }
    columns = [Column("cluster"), Column("rows", numeric=True)]
    columns += [Column("agreement", numeric=True)] if agreement else []
    columns += [Column(name, numeric=numbers[name]) for name in names]
    rows = [
        [
            Field(f"cluster {each['cluster']}"),
            Field(f"{each['rows']:,}", each["rows"]),
            *([share_field(agreement[each["cluster"]])] if agreement else []),
            *(_typical(each[name]) for name in names),
        ]
        for each in prototypes
    ]
    legend = "Mean of a column of numbers, most frequent word of a column of words."
    if agreement:
        legend += " Agreement is the share of votes that the views cast for the row's cluster."
    return TableBlock(columns, rows, "What a row of each cluster is like", legend)


def _typical(value: Any) -> Field:
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return Field(value)
    return Field(f"{value:g}".replace("-", MINUS), float(value))
