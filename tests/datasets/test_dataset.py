import pytest

from ensemblage.datasets import Dataset, Table


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
        ({"x": range(30), "y": [i / 7 for i in range(30)]}, "30 different numbers.*quantity"),
        ({"x": range(90), "y": range(90)}, "90 different numbers, which looks like a quantity"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(columns, message):
    with pytest.raises(ValueError, match=message):
        Dataset.from_table(make(**columns), "y")


def test_many_classes_of_whole_numbers_are_classes():
    table = make(x=range(900), y=[i % 30 for i in range(900)])
    assert len(Dataset.from_table(table, "y").classes) == 30


def test_columns_can_be_dropped():
    table = make(id=[1, 2], x=[3, 4], y=["a", "b"])
    assert Dataset.from_table(table, "y", drop=["id"]).feature_names == ("x",)
    with pytest.raises(ValueError, match="no column 'ids'"):
        Dataset.from_table(table, "y", drop=["ids"])
