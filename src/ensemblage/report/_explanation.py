"""The page of ``ensemblage explain``: strata, a network, or features chosen together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ensemblage.report._cells import NOTHING, number_cell, share_cell
from ensemblage.report._figures import co_selection_figure, network_figure
from ensemblage.report._page import (
    Bar,
    BarsBlock,
    Block,
    Cell,
    Column,
    FactsBlock,
    FigureBlock,
    Page,
    Section,
    TableBlock,
    TextBlock,
)
from ensemblage.report._tables import table_blocks

# What would be printed as 0.0 % is no part.
SMALLEST_PART = 0.0005


def explanation_page(
    document: Mapping[str, Any],
    *,
    name: str,
    details: Mapping[str, Any] | None = None,
    strata_map: FigureBlock | None = None,
    story: Mapping[str, Any] | None = None,
) -> Page:
    """Tell what a model is made of.

    Parameters
    ----------
    document : mapping
        What ``ensemblage explain --json`` prints: of strata, of a network (with ``tables``, see
        :func:`ensemblage.explain.named_tables`, and ``target`` if they are to be shown), or
        of features chosen together.
    name : str
        Of the model.
    details : mapping, default=None
        What was noted when it was saved: ``dataset``, ``n_rows``, ``accuracy`` and ``learned``.
    strata_map : FigureBlock, default=None
        See :func:`strata_figure`.
    story : mapping, default=None
        How a row was decided, as ``ensemblage explain --row N --json`` prints it.

    Returns
    -------
    Page
        To be rendered.
    """
    known = details or {}
    if "parents" in document:
        summary, facts, sections = _network(document)
        known = {**known, "learned": ()}  # said here with the columns' own names
    elif "co_selection" in document:
        summary, facts, sections = _subspace(document)
    else:
        summary, facts, sections = _strata(document, strata_map, story)
    return Page(
        f"What {name} learned", "explanation", [*summary, *_accuracy(known)],
        FactsBlock([*facts, *_training(known)]), [*sections, _learned(known)],
    )  # fmt: skip


def _training(details: Mapping[str, Any]) -> list[tuple[str, str]]:
    facts = [("trained on", str(details["dataset"]))] if "dataset" in details else []
    return [*facts, ("rows", f"{details['n_rows']:,}")] if "n_rows" in details else facts


def _accuracy(details: Mapping[str, Any]) -> list[str]:
    if details.get("accuracy") is None:
        return []
    error = details.get("accuracy_se")
    spread = "" if error is None else f" ± {error:.4f}"
    return [
        f"When it was trained, its cross-validated accuracy was {details['accuracy']:.4f}{spread}."
    ]


def _learned(details: Mapping[str, Any]) -> Section:
    lines = [f"{line[:1].upper()}{line[1:]}." for line in details.get("learned", ())]
    return Section("Noted in training", [TextBlock(lines)] if lines else [])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _network(document: Mapping[str, Any]) -> tuple[list[str], list[tuple[str, str]], list[Section]]:
    parents, target = document["parents"], document.get("target")
    arrows = sum(map(len, parents.values()))
    linked = [node for node, above in parents.items() if len(above) > 1]
    summary = [f"A network of {_count(len(parents), 'node')} and {_count(arrows, 'arrow')}."]
    if target is not None:
        beside = [node for node, above in parents.items() if node != target and target in above]
        summary.append(
            f"{len(beside)} of the {_count(len(parents) - 1, 'feature')} depend on the class "
            f"directly; {len(linked)} depend on further features too."
        )
    rows = [
        [Cell(node), Cell(", ".join(above) or NOTHING.text), Cell(str(len(above)), len(above))]
        for node, above in parents.items()
    ]
    columns = [Column("node"), Column("depends on"), Column("parents", numeric=True)]
    sections = [
        Section("Network", [network_figure(parents, target)]),
        Section("Nodes", [TableBlock(columns, rows, "Each node and what it depends on")]),
        Section("Tables", table_blocks(document.get("tables", {}))),
    ]
    return summary, [("nodes", str(len(parents))), ("arrows", str(arrows))], sections


def _subspace(
    document: Mapping[str, Any],
) -> tuple[list[str], list[tuple[str, str]], list[Section]]:
    names, matrix = document["features"], document["co_selection"]
    used = [row[i] for i, row in enumerate(matrix)]
    always = [name for name, share in zip(names, used, strict=True) if share == 1]
    told = (
        f"Of the {_count(len(names), 'feature')} shown, the most used first, "
        f"{len(always)} {'is' if len(always) == 1 else 'are'} used by every member."
    )
    bars = [
        Bar(name, share, f"{share:.0%}", strong=share == 1)
        for name, share in zip(names, used, strict=True)
    ]
    columns = [Column("feature"), *(Column(name, numeric=True) for name in names)]
    rows = [
        [Cell(name), *(Cell(f"{share:.0%}", share) for share in row)]
        for name, row in zip(names, matrix, strict=True)
    ]
    said = "Share of the members that use each feature."
    use = BarsBlock(bars, said, percent=True, from_zero=True)
    together: list[Block] = [co_selection_figure(names, matrix)]
    together.append(
        TableBlock(columns, rows, "Share of the members that use both features", folded=True)
    )
    sections = [
        Section("Use", [use]),
        Section("Chosen together", together),
    ]
    return [told], [("features shown", str(len(names)))], sections


def _strata(
    document: Mapping[str, Any], strata_map: FigureBlock | None, story: Mapping[str, Any] | None
) -> tuple[list[str], list[tuple[str, str]], list[Section]]:
    members = document["members"]
    size = document["stratum_size"]
    each = "" if size is None else f", each {size:.0%} of the rows"
    first = (
        f"{document['n_strata']} strata by {document['stratifier']}{each}; their members are "
        f"fused by {document['fusion']}."
    )
    summary = [first]
    constant = sum(len(member["classes"]) == 1 for member in members)
    if constant:
        summary.append(
            f"{_count(constant, 'stratum').replace('stratums', 'strata')} "
            f"{'holds' if constant == 1 else 'hold'} rows of one class only, and "
            f"{'its member is' if constant == 1 else 'their members are'} constant."
        )
    facts = [
        ("strata", str(document["n_strata"])),
        ("members", str(len(members))),
        ("stratifier", document["stratifier"]),
        ("fusion", document["fusion"]),
    ]
    missing = TextBlock(["A map needs rows to show: name a file after the model."])
    sections = [
        Section(f"Row {story['row']}" if story else "Row", _row(story) if story else []),
        Section("Map", [missing if strata_map is None else strata_map]),
        Section("Members", [_closest(document), _members(document)]),
    ]
    return summary, facts, sections


def _closest(document: Mapping[str, Any]) -> BarsBlock:
    bars = [
        Bar(f"stratum {each['member']}", each["closest"], f"{each['closest']:.1%}", strong=True)
        for each in document["members"]
        if each["closest"] is not None
    ]
    return BarsBlock(
        bars,
        f"Share of the {document['rows']} rows whose strongest stratum is the member's.",
        percent=True,
        from_zero=True,
    )


def _members(document: Mapping[str, Any]) -> TableBlock:
    members: Sequence[Mapping[str, Any]] = document["members"]
    columns = {
        Column("stratum"): [Cell(each["member"]) for each in members],
        Column("member"): [
            Cell("constant" if len(each["classes"]) == 1 else each["estimator"]) for each in members
        ],
        Column("rows", numeric=True): [
            Cell(f"{each['n_rows']:,}", each["n_rows"]) for each in members
        ],
        Column("classes"): [Cell(_classes(each["classes"])) for each in members],
        Column("weight", numeric=True): [share_cell(each["weight"]) for each in members],
        Column("accuracy", numeric=True): [number_cell(each["score"], 3) for each in members],
        Column("closest", numeric=True): [share_cell(each["closest"]) for each in members],
    }
    # a gate has no weights but per row, and an in-sample fusion no held-out score
    shown = {column: cells for column, cells in columns.items() if set(cells) != {NOTHING}}
    rows = list(zip(*shown.values(), strict=True))
    return TableBlock(
        list(shown), rows, "The members of the ensemble",
        "Rows: what the member learned from. Accuracy: on rows of the stratum that the member had "
        f"not seen. Closest: share of the {document['rows']} rows whose strongest stratum it is."
        + (" Weight: share in the fusion." if Column("weight", numeric=True) in shown else ""),
    )  # fmt: skip


def _classes(labels: Sequence[str]) -> str:
    only = " only" if len(labels) == 1 else ""
    return f"{', '.join(labels)}{only}" if len(labels) <= 6 else f"{len(labels)} classes"


def _row(story: Mapping[str, Any]) -> list[Block]:
    columns = [
        Column("stratum"),
        Column("membership", numeric=True),
        Column("weight", numeric=True),
    ]
    columns += [Column(label, numeric=True) for label in story["classes"]]
    members = sorted(
        story["members"], key=lambda each: (-(each["weight"] or 0), -(each["membership"] or 0))
    )
    rows = [
        [
            Cell(each["member"]),
            number_cell(each["membership"], 3),
            share_cell(each["weight"]),
            *(number_cell(value, 3) for value in each["outputs"]),
        ]
        for each in members
        if _has_part(each)
    ]
    legend = "Weight: the member's share in this decision; then what it says of each class."
    if len(rows) < len(members):
        legend += f" Left out: {_count(len(members) - len(rows), 'member')} without a part."
    pairs = zip(story["classes"], story["scores"], strict=True)
    fused = ", ".join(f"{label} {score:.3f}" for label, score in pairs)
    return [
        TextBlock([f"Predicted: {story['prediction']}. All members together say {fused}."]),
        TableBlock(columns, rows, f"Who decided about row {story['row']}", legend),
    ]


def _has_part(member: Mapping[str, Any]) -> bool:
    weight, membership = member["weight"], member["membership"]
    return weight is None or weight >= SMALLEST_PART or (membership or 0) >= SMALLEST_PART
