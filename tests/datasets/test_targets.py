import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.datasets import Dataset, Table, fold_labels, load_dataset, open_dataset
from ensemblage.datasets._targets import are_classes


def opened(tmp_path, values, task=None, x=None):
    path = tmp_path / "rows.csv"
    rows = x or range(len(values))
    text = "\n".join(f'{a},"{b}"' for a, b in zip(rows, values, strict=True))
    path.write_text(f"x,y\n{text}\n", encoding="utf-8")
    return open_dataset(str(path), "y", task=task)


def judged(values):
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
def test_few_numbers_are_classes(values, classes):
    assert judged(values) is classes


@given(st.lists(st.integers(-3, 30), min_size=1), st.integers(1, 4))
def test_the_rule_knows_neither_order_nor_unit(values, times):
    assert judged(values) is judged(values[::-1]) is judged([10 * x for x in values])
    if judged(values):
        assert judged(values * times)


@pytest.mark.parametrize("folder", ["", "multi-source", "regression"])
def test_every_file_at_hand_is_what_it_is(shared, folder):
    for path in sorted((shared / "data" / folder).glob("*.csv")):
        head = path.read_text(encoding="utf-8").partition("\n")[0].strip().split(",")
        target = "class" if "class" in head else head[-1].strip('"')
        found = open_dataset(str(path), target)
        expected = "regression" if folder == "regression" else "classification"
        assert (path.stem, found.task.name) == (path.stem, expected)
        assert load_dataset(path.stem, path.parent).task is found.task


def test_bundled_datasets_are_what_they_are():
    assert load_dataset("digits").task.name == "classification"
    diabetes = load_dataset("diabetes")
    assert diabetes.task.name == "regression"
    assert (diabetes.X.shape, diabetes.target, diabetes.y.dtype) == (
        (442, 10),
        "progression",
        float,
    )


def test_numbers_come_with_a_reason(tmp_path):
    found = opened(tmp_path, [f"{i * 1.5}" for i in range(30)])
    assert found.y.tolist() == [i * 1.5 for i in range(30)]
    assert found.task_reason == (
        "'y' holds 30 different numbers, so that numbers are predicted; for classes set `task`."
    )
    assert (found.classes, found.most_folds) == ({}, 15)


def test_labels_stay_as_they_are_written(tmp_path):
    found = opened(tmp_path, ["01", "02", "01", "02"])
    assert found.classes == {"01": 2, "02": 2}
    assert found.task_reason == (
        "'y' holds 2 different numbers, few enough for classes; for numbers set `task`."
    )


def test_a_word_for_a_gap_is_one_among_numbers_and_a_class_among_classes(tmp_path):
    numbers = opened(tmp_path, [*(f"$ {i},000.50" for i in range(1, 40)), "n/a"])
    assert (len(numbers.y), numbers.y[2]) == (39, 3000.5)
    assert "Column 'y' is read without its '$'." in numbers.notes
    assert "Read as missing in column 'y': 'n/a'." in numbers.notes
    classes = opened(tmp_path, ["1", "2", "-"] * 5)
    assert classes.classes == {"-": 5, "1": 5, "2": 5}
    assert not any("missing" in text for text in classes.notes)


@pytest.mark.parametrize(
    ("values", "task", "problem"),
    [
        (["5"] * 9, None, "only one class, '5'"),
        (["5"] * 9, "regression", "holds only one number, 5: there is nothing to predict"),
        ([*(f"{i}.5" for i in range(60)), "inf"], None,
         "holds 60 numbers and 'inf', which is not a finite number: correct it or leave it empty"),
        (["low", "high"] * 5, "regression",
         "holds 'low', which is not a finite number, and `task` asks for numbers"),
        (["2020-01-01", "2020-01-02"] * 4, "regression", "holds '2020-01-01', which is not"),
        ([*(f"{i}.5" for i in range(60)), "1e200"], None, "holds 1e\\+200; numbers beyond 1e\\+70"),
        (["1", "2"] * 5, "regressions", "Did you mean 'regression'"),
    ],
)  # fmt: skip
def test_what_cannot_be_predicted_gets_one_sentence(tmp_path, values, task, problem):
    with pytest.raises(ValueError, match=problem) as caught:
        opened(tmp_path, values, task)
    assert str(caught.value).count("\n") == 0


def test_missing_targets_are_left_out_and_none_is_refused():
    x = np.arange(30.0)
    some = np.where(x % 7 == 0, np.nan, x / 2)
    found = Dataset.from_table(Table(("x", "y"), (x, some)), "y")
    assert len(found.y) == 25
    with pytest.raises(ValueError, match="has no values"):
        Dataset.from_table(Table(("x", "y"), (x, np.full(30, np.nan))), "y", task="regression")


def test_a_task_can_be_asked_for():
    x = np.arange(30.0)
    table = Table(("x", "y"), (x, x % 3))
    assert Dataset.from_table(table, "y").task.name == "classification"
    numbers = Dataset.from_table(table, "y", task="regression")
    assert numbers.y.tolist() == (x % 3).tolist()
    assert numbers.task_reason == "'y' is predicted as numbers, as `task` asks."
    fine = Table(("x", "y"), (x % 4, x / 3))
    classes = Dataset.from_table(fine, "y", task="classification")
    assert len(classes.classes) == 30


def test_declared_categories_are_classes():
    texts = [[str(i) for i in range(30)], [str(i) for i in range(30)]]
    table = Table.from_texts(["x", "y"], texts, categories={"y": tuple(texts[1])})
    assert Dataset.from_table(table, "y").task.name == "classification"


def test_a_named_dataset_has_its_task():
    with pytest.raises(ValueError, match="'iris' has classes to predict"):
        open_dataset("iris", task="regression")


def test_folds_have_numbers_of_every_part():
    y = np.random.default_rng(0).normal(size=200)
    labels = fold_labels(y)
    assert np.bincount(labels).tolist() == [20] * 10
    assert (np.diff(labels[np.argsort(y)]) >= 0).all()
    assert fold_labels(y[:39]).tolist() == [0] * 39
    assert fold_labels(np.array(["a", "b"])).tolist() == ["a", "b"]
    many_zeros = np.where(y < 1, 0.0, y)
    assert len(np.unique(fold_labels(many_zeros))) < 10
