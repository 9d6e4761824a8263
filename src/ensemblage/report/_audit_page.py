"""The page of ``ensemblage audit``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ensemblage.evaluation import AuditedSource, ColumnShift, SourceAudit, draw_calibration_fan
from ensemblage.methods import AuditDocument
from ensemblage.pages import (
    INK,
    Bar,
    BarsBlock,
    Column,
    FactsBlock,
    Field,
    FigureBlock,
    Page,
    Section,
    TableBlock,
    signed_field,
)
from ensemblage.report._data_section import data_section


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
            "Calibration when left out", [_offsets(found.sources, str(found.label)), _fan(found)]
        ),
        Section("All figures", [found.table()]),
        Section("Columns that differ between sources", [_shifts(found.shifts)]),
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
                [("nine in ten new sources below", f"{found.error_bound:.3f}")]
                if found.error_bound < 1
                else []
            ),
        ]
    )
    title = f"Sources of {document.dataset}"
    return Page(title, "audit of sources", list(document.sentences), facts, sections)


def _errors(sources: Sequence[AuditedSource]) -> BarsBlock:
    bars = [
        Bar(
            each.name, each.expected, f"{each.expected:.3f}",
            error=(each.expected_high - each.expected_low) / 2, reference=each.error,
            strong=each.suspect,
        )
        for each in sorted(sources, key=lambda each: -each.expected)
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
        partial(draw_calibration_fan, audit, ink=INK), 3.7, 3.4,
        f"One line per source; furthest from the diagonal is {far.name}.",
        "The rate to expect in a source where the model, which has not seen it, says the "
        "probability below. On the diagonal it is right; a flat line is a model too sure.",
    )  # fmt: skip


def _offsets(sources: Sequence[AuditedSource], label: str) -> BarsBlock:
    bars = [
        Bar(
            each.name, each.offset, signed_field(each.offset, 2).text,
            error=(each.offset_high - each.offset_low) / 2, strong=each.suspect,
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
        Column("column"), Column("strength", numeric=True), Column("source"), Column("there"),
        Column("elsewhere"),
    )  # fmt: skip
    rows = [
        (
            Field(each.column), Field(f"{each.strength:.2f}", each.strength), Field(each.source),
            Field(each.there), Field(each.elsewhere),
        )
        for each in shifts
    ]  # fmt: skip
    legend = (
        "Strength is 0 for a column that is alike everywhere and 1 for one that the source tells."
    )
    return TableBlock(columns, rows, "Columns that differ most, and where", legend=legend)
