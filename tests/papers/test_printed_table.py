"""The papers' figures are read from data files, and checked when they are read."""

import msgspec
import pytest

from ensemblage.papers import PAPER_EXPERIMENTS
from ensemblage.papers._printed_table import PrintedTable, read_printed


def test_a_figure_is_found_by_row_and_column():
    printed = PrintedTable(title="T", columns=("a", "b"), rows={"iris": (1.0, 2.0)})
    assert printed.value("iris", "b") == 2.0
    assert printed.value("iris", "c") is None
    assert printed.value("wine", "a") is None


def test_a_line_has_a_figure_for_each_column():
    with pytest.raises(ValueError, match="iris has 1 figures for 2 columns"):
        PrintedTable(title="T", columns=("a", "b"), rows={"iris": (1.0,)})


def test_unknown_fields_are_refused():
    with pytest.raises(msgspec.ValidationError, match="unknown field `lines`"):
        msgspec.convert({"title": "T", "lines": {}}, PrintedTable)


def test_remarks_are_shared():
    one, other = read_printed("hiss-table2"), read_printed("hiss-table3")
    assert one.notes == other.notes != ()
    assert one.stand_ins == ("indoor-stand-in", "outdoor-stand-in")
    assert one.value("glass", "hiss") == other.value("glass", "hiss") == 0.161
    own = read_printed("joint-table2")
    assert own.notes[-1] == read_printed("joint-figure1").notes[-1]
    assert own.notes[0].startswith("80 % of the rows to learn from")


@pytest.mark.parametrize("name", PAPER_EXPERIMENTS)
def test_notes_are_single_sentences_of_text(name):
    printed = read_printed(name)
    for note in (*printed.notes, *printed.row_notes.values()):
        assert "\n" not in note
        assert "  " not in note
        assert note.endswith(".")
    assert set(printed.row_notes) <= set(printed.rows)
    assert set(printed.stand_ins) <= set(printed.rows)
