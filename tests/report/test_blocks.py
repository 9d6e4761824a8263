from ensemblage._core import Field, Heading, TableBlock
from ensemblage.report._blocks import BarsBlock, FigureBlock, Section, ShadesBlock, terminal_parts

TABLE = TableBlock([Heading("x")], [[Field("1")]], "One", "A legend.")


def test_a_terminal_prints_text_notes_and_tables_with_their_legends():
    blocks = ["A paragraph.", ["A note.", "Another."], {"rows": "3"}, TABLE]
    assert terminal_parts([Section("s", blocks)]) == [
        "A paragraph.", "A note.", "Another.", "One", TABLE, "A legend.",
    ]  # fmt: skip


def test_of_figures_a_terminal_prints_their_table_if_there_is_one():
    figure = FigureBlock(print, 1.0, 1.0, "alt", "caption")
    bars = [BarsBlock([], "caption"), BarsBlock([], "caption", table=TABLE)]
    assert terminal_parts([Section("s", [figure, *bars])]) == ["One", TABLE, "A legend."]
    table, caption = terminal_parts(
        [Section("s", [ShadesBlock("cluster", ["0"], [("age", [("31", 0.5)])], "caption")])]
    )
    assert [head.name for head in table.columns] == ["cluster", "0"]
    assert [field.text for field in table.rows[0]] == ["age", "31"]
    assert caption == "caption"


def test_a_section_may_be_for_pages_only():
    assert terminal_parts([Section("s", [TABLE], in_terminal=False)]) == []
