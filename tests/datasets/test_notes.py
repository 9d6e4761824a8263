import numpy as np

from ensemblage.datasets import Dataset, Table
from ensemblage.datasets._notes import is_constant


def make(**columns):
    return Table.from_texts(list(columns), [[str(x) for x in each] for each in columns.values()])


def test_constant_columns():
    assert is_constant(np.array([2.0, 2.0]))
    assert is_constant(np.array([np.nan, np.nan]))
    assert not is_constant(np.array([2.0, np.nan]))
    assert not is_constant(np.array(["a", None], dtype=object))


def test_odd_columns_are_noted():
    rows = 40
    table = make(
        row=range(1, rows + 1),
        name=[f"person {i}" for i in range(rows)],
        nearly=["inf" if i == 9 else i % 7 for i in range(rows)],
        fine=["ab"[i % 2] for i in range(rows)],
        y=["no", "yes"] * (rows // 2),
    )
    notes = Dataset.from_table(table, "y").notes
    assert [note.split("'")[1] for note in notes] == ["row", "name", "nearly"]
    assert "only counts the rows" in notes[0]
    assert "looks like an identifier" in notes[1]
    assert "because 'inf' is not a number" in notes[2]


def test_repeated_rows_are_counted_and_missing_values_are_equal():
    table = make(x=[1, "", "", 1, 2], w=["a", "", "", "a", "b"], y=["p", "p", "p", "q", "q"])
    (note,) = Dataset.from_table(table, "y").notes
    assert note.startswith("1 of the 5 rows repeats another row; copies that fall into training")


def test_a_missing_word_differs_from_an_empty_looking_one():
    words = np.array(["=", None], dtype=object)
    table = Table(("w", "y"), (words, np.array(["p", "q"], dtype=object)))
    assert Dataset.from_table(table, "y").notes == ()
