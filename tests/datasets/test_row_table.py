import pytest

from ensemblage.datasets._reading_options import Request
from ensemblage.datasets._row_layout import Lines
from ensemblage.datasets._row_table import Written, table_from_lines

ROWS = [["a", "b"], ["1", "x"], ["2,5", "y"]]


@pytest.mark.parametrize(
    ("written", "note"),
    [
        (Written(), "Read with ',' as decimal mark."),
        (Written(";"), "Read with ';' between values and ',' as decimal mark."),
        (
            Written("\t", "Latin-1"),
            "Read with tabs between values, ',' as decimal mark and Latin-1 as encoding.",
        ),
    ],
)
def test_one_sentence_says_what_was_taken(written, note):
    table = table_from_lines(Lines(ROWS, [1, 2, 3]), Request("a.csv"), written)
    assert table.column("a").tolist() == [1.0, 2.5]
    assert table.notes == (note,)


def test_the_usual_needs_no_sentence():
    table = table_from_lines(Lines([["a"], ["1"]], [1, 2]), Request("a.csv"))
    assert table.notes == ()
