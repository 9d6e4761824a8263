from dataclasses import replace

import numpy as np
import pytest

from ensemblage.datasets import Dataset, Table, align_table, dataset_fingerprint, read_table
from ensemblage.datasets._dataset import is_constant


def make(**columns):
    return Table.from_texts(list(columns), [[str(x) for x in each] for each in columns.values()])


def test_rows_without_a_class_are_left_out_and_counted():
    data = Dataset.from_table(make(x=[1, 2, 3, 4], y=["a", "", "b", "?"]), "y")
    assert data.X.tolist() == [[1.0], [3.0]]
    assert data.classes == {"a": 1, "b": 1}
    assert data.notes[0] == "Rows without a value of 'y', left out: 2."


def test_numbers_as_classes_are_text():
    data = Dataset.from_table(make(x=[1, 2, 3], y=[1, 2.5, 1]), "y")
    assert data.y.tolist() == ["1", "2.5", "1"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [1, 2], "kind": ["a", "b"]}, r"no target column 'y'\..*columns are: x, kind"),
        ({"x": [1, 2], "yy": ["a", "b"]}, r"no target column 'y'\. Did you mean 'yy'\?"),
        ({"x": [1, 2], "y": ["a", "a"]}, "only one class, 'a'"),
        ({"x": [1, 2], "y": ["", ""]}, "'y' has no values"),
        ({"y": ["a", "b"]}, "no column beside the target 'y'"),
        ({"x": [1, 2, "1e300"], "y": ["a", "b", "a"]}, "Column 'x' holds 1e\\+300"),
        ({"x": [1, 1], "z": ["u", "u"], "y": ["a", "b"]}, "Every column beside 'y' is constant"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(columns, message):
    with pytest.raises(ValueError, match=message):
        Dataset.from_table(make(**columns), "y")


def test_many_classes_of_whole_numbers_are_asked_for():
    table = make(x=range(900), y=[i % 30 for i in range(900)])
    assert Dataset.from_table(table, "y").task.name == "regression"
    assert len(Dataset.from_table(table, "y", task="classification").classes) == 30


def test_columns_can_be_dropped():
    table = make(id=[1, 2], x=[3, 4], y=["a", "b"])
    assert Dataset.from_table(table, "y", drop=["id"]).feature_names == ("x",)
    with pytest.raises(ValueError, match="no column 'ids'"):
        Dataset.from_table(table, "y", drop=["ids"])


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


@pytest.mark.parametrize("words", [["0", "1"], [None, None]])
def test_words_that_all_look_like_numbers_are_no_odd_column(words):
    column = np.array(words * 20, dtype=object)
    other = np.array(list("abcd") * 10, dtype=object)
    y = np.array(["p"] * 20 + ["q"] * 20, dtype=object)
    notes = Dataset.from_table(Table(("grade", "letter", "y"), (column, other, y)), "y").notes
    assert not any("grade" in note for note in notes)


def test_dates_are_numbers_to_learn_from():
    days = np.array(["2024-01-01", "NaT", "2024-01-03T06:00"], dtype="datetime64[ms]")
    table = Table(
        ("day", "y"), (days, np.array(["p", "q", "q"], dtype=object)), notes=("Read so.",)
    )
    data = Dataset.from_table(table, "y")
    assert (data.kinds, data.notes) == (("date",), ("Read so.",))
    np.testing.assert_array_equal(data.X, [[19723.0], [np.nan], [19725.25]])
    later = replace(data, X=data.X + 1)
    assert dataset_fingerprint(later) != dataset_fingerprint(data)


def test_dates_as_classes_and_sources_are_written_in_full():
    days = np.array(["2024-01-01", "2024-01-02", "2024-01-01"], dtype="datetime64[ms]")
    table = Table(("day", "n", "m"), (days, np.arange(3.0), np.array([0.0, 1.0, 1.0])))
    assert Dataset.from_table(table, "day").classes == {"2024-01-01": 2, "2024-01-02": 1}
    assert Dataset.from_table(table, "m", source="day").sources.tolist()[1] == "2024-01-02"
    hours = Table(("day", "n"), (days + np.timedelta64(6, "h"), np.arange(3.0)))
    assert Dataset.from_table(hours, "day").y[0] == "2024-01-01T06:00:00"


def test_repeated_rows_are_counted_and_missing_values_are_equal():
    table = make(x=[1, "", "", 1, 2], w=["a", "", "", "a", "b"], y=["p", "p", "p", "q", "q"])
    (note,) = Dataset.from_table(table, "y").notes
    assert note.startswith("1 of the 5 rows repeats another row; copies that fall into training")


def test_a_missing_word_differs_from_an_empty_looking_one():
    words = np.array(["=", None], dtype=object)
    table = Table(("w", "y"), (words, np.array(["p", "q"], dtype=object)))
    assert Dataset.from_table(table, "y").notes == ()


TABLE = Table.from_texts(
    ["size", "colour", "class"], [["1", "", "3"], ["red", "blue", ""], ["a", "b", "a"]]
)
DATASET = Dataset.from_table(TABLE, "class", name="one")


def test_where_it_came_from_does_not_count():
    again = replace(DATASET, name="other", origin="elsewhere", notes=("odd",), description="so")
    assert dataset_fingerprint(again) == dataset_fingerprint(DATASET)


def test_missing_numbers_are_alike_whatever_their_bits():
    X = np.array([[1.0, np.nan], [2.0, 3.0]])
    other = X.copy()
    other[0, 1] = np.uint64(0x7FF8000000000001).view(np.float64)
    made = [Dataset("d", each, np.array(["a", "b"]), ("p", "q"), ("number", "number"))
            for each in (X, other)]  # fmt: skip
    assert len({dataset_fingerprint(each) for each in made}) == 1


def test_each_thing_that_a_method_sees_counts():
    X = DATASET.X.copy()
    X[0, 0] = 1.5
    words = DATASET.X.copy()
    words[0, 1] = "blue"
    changed = [
        replace(DATASET, X=X),
        replace(DATASET, X=words),
        replace(DATASET, X=DATASET.X[::-1], y=DATASET.y[::-1]),
        replace(DATASET, y=np.array(["a", "b", "b"])),
        replace(DATASET, categories={"colour": ("blue", "red")}),
        replace(DATASET, feature_names=("weight", "colour")),
        replace(DATASET, sources=np.array(["x", "x", "y"])),
    ]
    prints = {dataset_fingerprint(each) for each in (DATASET, *changed)}
    assert len(prints) == 1 + len(changed)


def test_columns_are_matched_by_name(table_file):
    table = read_table(table_file)
    names = ("pay", "age", "job")
    turned = table.select(["class", "job", "pay", "age"])
    expected = table.select(names).to_array()
    aligned = align_table(turned, names, target="class")
    assert [row[2] for row in aligned] == [row[2] for row in expected]
    np.testing.assert_array_equal(aligned[:, :2].astype(float), expected[:, :2].astype(float))
    with pytest.raises(ValueError, match="needs columns that are not there: wage, sex"):
        align_table(table, ["age", "wage", "sex"])
    with pytest.raises(ValueError, match=r"does not know: job, pay\."):
        align_table(table, ["age"], target="class")
    with pytest.raises(ValueError, match=r"not there: Pay\. Did you mean 'pay'\?"):
        align_table(table, ["age", "job", "Pay"], target="class")
