from collections import Counter
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.datasets import (
    Dataset,
    Table,
    align_columns,
    dataset_fingerprint,
    fold_labels,
    load_dataset,
    open_dataset,
    read_table,
)
from ensemblage.datasets._dataset import are_classes

TABLE = Table.from_texts(
    ["size", "colour", "class"], [["1", "", "3"], ["red", "blue", ""], ["a", "b", "a"]]
)
DATASET = Dataset.from_table(TABLE, "class", name="one")
COLUMNS = {
    "age": [31.0, None, 52.0, 40.0],
    "job": ["cook", None, "smith", "cook"],
    "since": [date(1970, 1, 2), None, date(1970, 1, 4), date(1970, 1, 4)],
}
CLASSES = ["yes", "no", "yes", "no"]


def opened(tmp_path, values, task=None, x=None):
    path = tmp_path / "rows.csv"
    rows = x or range(len(values))
    text = "\n".join(f'{a},"{b}"' for a, b in zip(rows, values, strict=True))
    path.write_text(f"x,y\n{text}\n", encoding="utf-8")
    return open_dataset(str(path), "y", task=task)


def is_classification(values):
    known = np.array(values, dtype=float)
    return are_classes(known, np.unique(known))


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        ([0, 1] * 5, True),
        ([0.5, 1.0, 2.0], True),  # three doses
        ([1.5, 2.5, 3.5, 4.5, 5.5, 6.5] * 9, False),  # six, with fractions
        (list(range(10)) * 2, True),  # digits
        (list(range(3, 10)) * 20, True),  # grades of wine
        (list(range(20)) * 2, True),
        (list(range(21)) * 2, False),
        (list(range(12)), False),  # each once
        (list(range(6)) + [0] * 5, False),
        (list(range(6)) * 2, True),
    ],
)
def test_task_of_numeric_targets(values, classes):
    assert is_classification(values) is classes


@given(st.lists(st.integers(-3, 30), min_size=1), st.integers(1, 4))
def test_task_is_invariant_to_order_and_scale(values, times):
    assert (
        is_classification(values)
        is is_classification(values[::-1])
        is is_classification([10 * x for x in values])
    )
    if is_classification(values):
        assert is_classification(values * times)


@pytest.mark.parametrize("folder", ["", "multi-source", "regression"])
def test_task_of_every_shared_file(shared, folder):
    for path in sorted((shared / "data" / folder).glob("*.csv")):
        head = path.read_text(encoding="utf-8").partition("\n")[0].strip().split(",")
        target = "class" if "class" in head else head[-1].strip('"')
        found = open_dataset(str(path), target)
        expected = "regression" if folder == "regression" else "classification"
        assert (path.stem, found.task.name) == (path.stem, expected)
        assert load_dataset(path.stem, path.parent).task is found.task


def test_the_bundled_table_with_sources(tmp_path):
    penguins = open_dataset("penguins", source_column="island", drop=["year"])
    assert (penguins.name, penguins.target, penguins.origin) == ("penguins", "sex", "ensemblage")
    assert penguins.X.shape == (333, 5)
    assert dict(Counter(penguins.sources)) == {"Biscoe": 163, "Dream": 123, "Torgersen": 47}
    assert set(open_dataset("penguins", "species").classes) == {"Adelie", "Chinstrap", "Gentoo"}
    assert load_dataset("penguins").X.shape == (333, 7)
    (tmp_path / "penguins.csv").write_text("a,class\n1,x\n2,y\n", encoding="utf-8")
    assert load_dataset("penguins", tmp_path).X.shape == (2, 1)


def test_task_of_bundled_datasets():
    assert load_dataset("digits").task.name == "classification"
    diabetes = load_dataset("diabetes")
    assert diabetes.task.name == "regression"
    assert (diabetes.X.shape, diabetes.target, diabetes.y.dtype) == (
        (442, 10),
        "progression",
        float,
    )


def test_regression_has_a_reason(tmp_path):
    found = opened(tmp_path, [f"{i * 1.5}" for i in range(30)])
    assert found.y.tolist() == [i * 1.5 for i in range(30)]
    assert found.task_reason == (
        "'y' has 30 distinct numeric values: treated as regression; use `task` classification for "
        "classes."
    )
    assert (found.classes, found.max_folds) == ({}, 15)


def test_labels_are_kept_as_written(tmp_path):
    found = opened(tmp_path, ["01", "02", "01", "02"])
    assert found.classes == {"01": 2, "02": 2}
    assert found.task_reason == (
        "'y' has 2 distinct numeric values: treated as classification; use `task` regression for a "
        "numeric target."
    )


def test_missing_tokens_are_missing_in_regression_and_classes_in_classification(tmp_path):
    numbers = opened(tmp_path, [*(f"$ {i},000.50" for i in range(1, 40)), "n/a"])
    assert (len(numbers.y), numbers.y[2]) == (39, 3000.5)
    assert "Removed the sign '$' from the values of column 'y'." in numbers.notes
    assert "Read as missing in column 'y': 'n/a'." in numbers.notes
    classes = opened(tmp_path, ["1", "2", "-"] * 5)
    assert classes.classes == {"-": 5, "1": 5, "2": 5}
    assert not any("missing" in text for text in classes.notes)


@pytest.mark.parametrize(
    ("values", "task", "problem"),
    [
        (["5"] * 9, None, "only one class, '5'"),
        (["5"] * 9, "regression", "is constant \\(5\\): there is nothing to predict"),
        ([*(f"{i}.5" for i in range(60)), "inf"], None,
         "60 numbers and 'inf', which is not a finite number: correct it or leave it empty"),
        (["low", "high"] * 5, "regression",
         "contains 'low', which is not a finite number, and `task` is regression"),
        (["2020-01-01", "2020-01-02"] * 4, "regression", "contains '2020-01-01', which is not"),
        ([*(f"{i}.5" for i in range(60)), "1e200"], None, "1e\\+200; .* must not exceed 1e\\+70"),
        (["1", "2"] * 5, "regressions", "Did you mean 'regression'"),
    ],
)  # fmt: skip
def test_invalid_targets_have_one_sentence(tmp_path, values, task, problem):
    with pytest.raises(ValueError, match=problem) as caught:
        opened(tmp_path, values, task)
    assert str(caught.value).count("\n") == 0


def test_rows_with_missing_numeric_target_are_dropped():
    x = np.arange(30.0)
    some = np.where(x % 7 == 0, np.nan, x / 2)
    found = Dataset.from_table(Table(("x", "y"), (x, some)), "y")
    assert len(found.y) == 25
    with pytest.raises(ValueError, match="All values of the target column 'y' are missing"):
        Dataset.from_table(Table(("x", "y"), (x, np.full(30, np.nan))), "y", task="regression")


def test_task_can_be_set():
    x = np.arange(30.0)
    table = Table(("x", "y"), (x, x % 3))
    assert Dataset.from_table(table, "y").task.name == "classification"
    numbers = Dataset.from_table(table, "y", task="regression")
    assert numbers.y.tolist() == (x % 3).tolist()
    assert numbers.task_reason == "'y' is treated as regression, as set by `task`."
    fine = Table(("x", "y"), (x % 4, x / 3))
    classes = Dataset.from_table(fine, "y", task="classification")
    assert len(classes.classes) == 30


def test_declared_categories_are_classes():
    texts = [[str(i) for i in range(30)], [str(i) for i in range(30)]]
    table = Table.from_texts(["x", "y"], texts, categories={"y": tuple(texts[1])})
    assert Dataset.from_table(table, "y").task.name == "classification"


def test_task_of_a_named_dataset_cannot_be_changed():
    with pytest.raises(ValueError, match="'iris' is classification, got `task`='regression'"):
        open_dataset("iris", task="regression")


def test_folds_are_stratified_by_quantiles_of_the_target():
    y = np.random.default_rng(0).normal(size=200)
    labels = fold_labels(y)
    assert np.bincount(labels).tolist() == [20] * 10
    assert (np.diff(labels[np.argsort(y)]) >= 0).all()
    assert fold_labels(y[:39]).tolist() == [0] * 39
    assert fold_labels(np.array(["a", "b"])).tolist() == ["a", "b"]
    many_zeros = np.where(y < 1, 0.0, y)
    assert len(np.unique(fold_labels(many_zeros))) < 10


def make(**columns):
    return Table.from_texts(list(columns), [[str(x) for x in each] for each in columns.values()])


def test_rows_with_missing_class_are_dropped():
    data = Dataset.from_table(make(x=[1, 2, 3, 4], y=["a", "", "b", "?"]), "y")
    assert data.X.tolist() == [[1.0], [3.0]]
    assert data.classes == {"a": 1, "b": 1}
    assert data.notes[0] == "Rows with a missing value of 'y', left out: 2."


def test_numeric_classes_are_text():
    data = Dataset.from_table(make(x=[1, 2, 3], y=[1, 2.5, 1]), "y")
    assert data.y.tolist() == ["1", "2.5", "1"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [1, 2], "kind": ["a", "b"]}, r"no target column 'y'\..*columns are: x, kind"),
        ({"x": [1, 2], "yy": ["a", "b"]}, r"no target column 'y'\. Did you mean 'yy'\?"),
        ({"x": [1, 2], "y": ["a", "a"]}, "only one class, 'a'"),
        ({"x": [1, 2], "y": ["", ""]}, "target column 'y' are missing"),
        ({"y": ["a", "b"]}, "no features: the only column is the target 'y'"),
        ({"x": [1, 2, "1e300"], "y": ["a", "b", "a"]}, "Column 'x' contains 1e\\+300"),
        ({"x": [1, 1], "z": ["u", "u"], "y": ["a", "b"]}, "except the target 'y' is constant"),
    ],
)
def test_invalid_tables_are_refused(columns, message):
    with pytest.raises(ValueError, match=message):
        Dataset.from_table(make(**columns), "y")


def test_many_integer_classes_need_task():
    table = make(x=range(900), y=[i % 30 for i in range(900)])
    assert Dataset.from_table(table, "y").task.name == "regression"
    assert len(Dataset.from_table(table, "y", task="classification").classes) == 30


def test_columns_can_be_dropped():
    table = make(id=[1, 2], x=[3, 4], y=["a", "b"])
    assert Dataset.from_table(table, "y", drop=["id"]).feature_names == ("x",)
    with pytest.raises(ValueError, match="no column 'ids'"):
        Dataset.from_table(table, "y", drop=["ids"])


@pytest.mark.parametrize(
    ("x", "varies"), [(["2", "2"], False), (["", ""], False), (["2", ""], True), (["a", ""], True)]
)
def test_constant_features_are_refused(x, varies):
    table = Table.from_texts(["x", "y"], [x, ["a", "b"]])
    if varies:
        assert Dataset.from_table(table, "y").feature_names == ("x",)
    else:
        with pytest.raises(ValueError, match="except the target 'y' is constant"):
            Dataset.from_table(table, "y")


def test_suspicious_columns_are_noted():
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
    assert "is a row index" in notes[0]
    assert "looks like an identifier" in notes[1]
    assert "because 'inf' is not a number" in notes[2]


@pytest.mark.parametrize("categories", [["0", "1"], [None, None]])
def test_numeric_categories_are_not_suspicious(categories):
    column = np.array(categories * 20, dtype=object)
    other = np.array(list("abcd") * 10, dtype=object)
    y = np.array(["p"] * 20 + ["q"] * 20, dtype=object)
    notes = Dataset.from_table(Table(("grade", "letter", "y"), (column, other, y)), "y").notes
    assert not any("grade" in note for note in notes)


def test_dates_are_numeric_features():
    days = np.array(["2024-01-01", "NaT", "2024-01-03T06:00"], dtype="datetime64[ms]")
    table = Table(
        ("day", "y"), (days, np.array(["p", "q", "q"], dtype=object)), notes=("Read so.",)
    )
    data = Dataset.from_table(table, "y")
    assert (data.kinds, data.notes) == (("date",), ("Read so.",))
    np.testing.assert_array_equal(data.X, [[19723.0], [np.nan], [19725.25]])
    later = replace(data, X=data.X + 1)
    assert dataset_fingerprint(later) != dataset_fingerprint(data)


def test_dates_as_classes_and_sources():
    days = np.array(["2024-01-01", "2024-01-02", "2024-01-01"], dtype="datetime64[ms]")
    table = Table(("day", "n", "m"), (days, np.arange(3.0), np.array([0.0, 1.0, 1.0])))
    assert Dataset.from_table(table, "day").classes == {"2024-01-01": 2, "2024-01-02": 1}
    assert Dataset.from_table(table, "m", source="day").sources.tolist()[1] == "2024-01-02"
    hours = Table(("day", "n"), (days + np.timedelta64(6, "h"), np.arange(3.0)))
    assert Dataset.from_table(hours, "day").y[0] == "2024-01-01T06:00:00"


def test_duplicate_rows_are_counted():
    table = make(x=[1, "", "", 1, 2], w=["a", "", "", "a", "b"], y=["p", "p", "p", "q", "q"])
    (note,) = Dataset.from_table(table, "y").notes
    assert note.startswith("1 of 5 rows is a duplicate; duplicates")


def test_missing_category_differs_from_other_values():
    categories = np.array(["=", None], dtype=object)
    table = Table(("w", "y"), (categories, np.array(["p", "q"], dtype=object)))
    assert Dataset.from_table(table, "y").notes == ()


def test_fingerprint_ignores_origin():
    again = replace(DATASET, name="other", origin="elsewhere", notes=("odd",), description="so")
    assert dataset_fingerprint(again) == dataset_fingerprint(DATASET)


def test_fingerprint_ignores_bits_of_nan():
    X = np.array([[1.0, np.nan], [2.0, 3.0]])
    other = X.copy()
    other[0, 1] = np.uint64(0x7FF8000000000001).view(np.float64)
    made = [Dataset("d", each, np.array(["a", "b"]), ("p", "q"), ("numeric", "numeric"))
            for each in (X, other)]  # fmt: skip
    assert len({dataset_fingerprint(each) for each in made}) == 1


def test_fingerprint_depends_on_all_data():
    X = DATASET.X.copy()
    X[0, 0] = 1.5
    categories = DATASET.X.copy()
    categories[0, 1] = "blue"
    changed = [
        replace(DATASET, X=X),
        replace(DATASET, X=categories),
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
    aligned = align_columns(turned, names, "class", ()).to_array()
    assert [row[2] for row in aligned] == [row[2] for row in expected]
    np.testing.assert_array_equal(aligned[:, :2].astype(float), expected[:, :2].astype(float))
    with pytest.raises(ValueError, match="model requires are missing: wage, sex"):
        align_columns(table, ["age", "wage", "sex"], None, ())
    with pytest.raises(ValueError, match=r"was not fitted on: job, pay\."):
        align_columns(table, ["age"], "class", ())
    with pytest.raises(ValueError, match=r"are missing: Pay\. Did you mean 'pay'\?"):
        align_columns(table, ["age", "job", "Pay"], "class", ())


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_dataframe_with_all_kinds_and_missing_values(frame):
    found = Dataset.from_arrays(frame(COLUMNS), CLASSES)
    assert found.kinds == ("numeric", "categorical", "date")
    assert found.feature_names == ("age", "job", "since")
    assert found.X[[0, 2, 3]].tolist() == [
        [31.0, "cook", 1.0], [52.0, "smith", 3.0], [40.0, "cook", 3.0],
    ]  # fmt: skip
    assert found.X[1, 1] is None
    assert np.isnan(found.X[1, [0, 2]].astype(float)).all()
    assert found.classes == {"no": 2, "yes": 2}


def test_arrays_with_numeric_classes_and_sources():
    X = np.array([[0.0, 1.0], [1.0, 1.5], [2.0, 1.2]])
    found = Dataset.from_arrays(X, np.array([0, 1, 1]), sources=["a", "b", "b"])
    assert found.feature_names == ("x0", "x1")
    assert found.y.tolist() == ["0", "1", "1"]
    assert found.sources.tolist() == ["a", "b", "b"]
    assert Dataset.from_arrays(X.tolist(), pd.Series([True, False, True])).classes == {
        "False": 1, "True": 2,
    }  # fmt: skip


def test_declared_categories_are_kept():
    categories = pd.Categorical(["a", "b", "a", "b"], categories=["a", "b", "c"])
    found = Dataset.from_arrays(pd.DataFrame({"class": categories}), ["x", "y", None, "x"])
    assert found.categories["class"] == ("a", "b", "c")
    assert found.target == "class_"
    assert len(found.y) == 3
    assert found.notes[0] == "Rows with a missing value of 'class_', left out: 1."


def test_invalid_arrays_are_refused():
    X = np.eye(3)
    with pytest.raises(TypeError, match="`y` is None: the target is required"):
        Dataset.from_arrays(X, None)
    with pytest.raises(TypeError, match="pass methods as `methods`"):
        Dataset.from_arrays(
            Dataset("d", X, np.array(list("aab")), ("a", "b", "c"), ("numeric",) * 3), ["svm"]
        )
    with pytest.raises(ValueError, match="`X` has 3 rows, but the class has 2"):
        Dataset.from_arrays(X, [0, 1])
    with pytest.raises(ValueError, match="Expected one source per row"):
        Dataset.from_arrays(X, [0, 1, 1], sources=np.eye(3))
    with pytest.raises(ValueError, match=r"got an array of shape \(3,\)"):
        Dataset.from_arrays(X[0], [0, 1, 1])


def test_nested_sources_of_a_table():
    names = ["a", "site", "ward", "class"]
    table = Table.from_texts(names, [["1", "2", "3"], ["Bern", "Bern", "Zug"], ["1", "2", "1"],
                                     ["u", "v", ""]])  # fmt: skip
    found = Dataset.from_table(table, "class", source=["site", "ward"])
    assert found.feature_names == ("a",)
    assert found.sources.tolist() == [["Bern", "1"], ["Bern", "2"]]
    assert found.outer_sources.tolist() == ["Bern", "Bern"]
    assert found.source_labels.tolist() == ["Bern / 1", "Bern / 2"]
    flat = Dataset.from_table(table, "class", source="site")
    assert flat.outer_sources is flat.source_labels is flat.sources
    none = Dataset.from_table(table, "class")
    assert (none.outer_sources, none.source_labels) == (None, None)
    arrays = Dataset.from_arrays([[1.0], [2.0]], ["u", "v"], sources=[("Bern", 1), ("Zug", 2)])
    assert arrays.sources.tolist() == [["Bern", "1"], ["Zug", "2"]]


def test_sources_are_read_as_written(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,site,class\n1,01,u\n2,1,v\n", encoding="utf-8")
    assert open_dataset(str(path), "class", source_column="site").sources.tolist() == ["01", "1"]
