"""The page of an audit of sources."""

from dataclasses import replace as dataclass_replace

from msgspec.structs import replace

from ensemblage.evaluation import AuditedSource, ColumnShift, SourceAudit
from ensemblage.methods import AuditDocument
from ensemblage.pages import BarsBlock, FigureBlock, TableBlock
from ensemblage.report import audit_page


def source(name, error, suspect=False):
    figures = (
        0.1,
        0.3,
        error,
        0.5,
        error,
        error - 0.1,
        error + 0.2,
        0.4,
        0.6,
        0.9,
        0.8,
        1.0,
        -0.5,
        -0.9,
        -0.1,
        0.85,
    )
    return AuditedSource(name, 10, *figures, suspect=suspect)


AUDIT = SourceAudit(
    sources=(source("north", 0.2), source("south", 0.7, suspect=True)), label=1, error=0.1,
    log_loss=0.3, new_error=0.45, new_error_low=0.1, new_error_high=0.8, new_log_loss=0.5,
    error_bound=0.9, recognised=0.9,
    recognised_by_chance=0.5, shifts=(ColumnShift("age", 0.7, "north", "61", "40"),),
    worst="south", remedy="check its labels and codes before anything else.",
)  # fmt: skip
DOCUMENT = AuditDocument(
    dataset="sites.csv", method="logistic", label="logistic regression",
    sentences=AUDIT.sentences, audit=AUDIT,
)  # fmt: skip


def test_the_worst_source_comes_first_and_suspects_stand_out():
    page = audit_page(DOCUMENT)
    errors, offsets, table, shifts = (section.blocks[0] for section in page.sections)
    assert isinstance(errors, BarsBlock)
    assert [(bar.label, bar.value, bar.reference) for bar in errors.bars] == [
        ("south", 0.7, 0.1), ("north", 0.2, 0.1),
    ]  # fmt: skip
    assert [bar.strong for bar in errors.bars] == [True, False]
    assert offsets.signed
    assert offsets.bars[0].error == 0.4
    assert [round(bar.error, 2) for bar in errors.bars] == [0.15, 0.15]
    fan = page.sections[1].blocks[1]
    assert isinstance(fan, FigureBlock)
    assert "furthest from the diagonal is north" in fan.alt
    assert isinstance(table, TableBlock)
    assert [field.text for field in shifts.rows[0]] == ["age", "0.70", "north", "61", "40"]


def test_too_few_sources_have_no_bound_on_the_page():
    assert "nine in ten" in str(audit_page(DOCUMENT).facts)
    unbounded = replace(DOCUMENT, audit=dataclass_replace(AUDIT, error_bound=1.0))
    assert "nine in ten" not in str(audit_page(unbounded).facts)


def test_it_begins_with_what_matters():
    page = audit_page(DOCUMENT)
    assert page.title == "Sources of sites.csv"
    assert page.summary[0].startswith("On a new source expect an error of 0.450")
    assert "Look at south first" in page.summary[1]
