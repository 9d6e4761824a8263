from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_array

from ensemblage.datasets import Table, is_missing
from ensemblage.datasets._table import TableRows, parse_date, parse_number


@pytest.mark.parametrize("text", ["", " ", "NA", "NaN", "?", "null"])
def test_missing_values(text):
    table = Table.from_texts(["n", "w"], [["1", text], ["a", text]])
    assert np.isnan(table.column("n")[1])
    assert table.column("w")[1] is None


def test_numeric_and_categorical_columns():
    table = Table.from_texts(["a", "b", "c"], [["1", "2e3"], ["1", "inf"], ["1_000", "2"]])
    assert table.kinds == ("numeric", "categorical", "categorical")
    assert table.column("a").dtype == np.float64
    assert table.column("b").tolist() == ["1", "inf"]


def test_huge_integers_are_numeric_unless_they_overflow():
    table = Table.from_texts(["a", "b"], [["9" * 30], ["9" * 400]])
    assert table.column("a")[0] == pytest.approx(1e30)
    assert table.column("b").tolist() == ["9" * 400]


def test_empty_column_is_numeric():
    assert Table.from_texts(["a"], [["", "NA"]]).kinds == ("numeric",)


def test_declared_categories_are_categorical():
    table = Table.from_texts(["a"], [["1", "2"]], categories={"a": ("1", "2", "3")})
    assert table.column("a").tolist() == ["1", "2"]
    assert table.select(["a"]).categories == {"a": ("1", "2", "3")}


def test_forced_kinds():
    assert Table.from_texts(["a"], [["1"]], kinds={"a": "categorical"}).column("a").tolist() == [
        "1"
    ]
    with pytest.raises(
        ValueError, match=r"Column 'a' contains 'x', which is not a finite number; expected numbers"
    ):
        Table.from_texts(["a"], [["1", "x"]], kinds={"a": "numeric"})


def test_dates_are_days_since_1970_in_the_array():
    texts = [["1970-01-02", "NA", "2024-03-01 12:00"], ["1", "2", "3"]]
    table = Table.from_texts(["day", "n"], texts, kinds={"day": "date"})
    assert table.kinds == ("date", "numeric")
    assert table.column("day").dtype == np.dtype("datetime64[ms]")
    assert is_missing(table.column("day")).tolist() == [False, True, False]
    assert table.to_array().dtype == np.float64
    np.testing.assert_array_equal(table.to_array()[:, 0], [1.0, np.nan, 19783.5])


def test_dates_with_a_time_zone_are_converted_to_utc():
    assert parse_date("2024-03-01T01:30:00+02:00") == np.datetime64("2024-02-29T23:30")
    assert np.isnat(parse_date("first of March"))


def test_invalid_dates_are_refused():
    message = r"Column 'd' contains 'soon', which is not a date such as 2024-03-01; expected dates"
    with pytest.raises(ValueError, match=message):
        Table.from_texts(["d"], [["2024-03-01", "soon"]], kinds={"d": "date"})


def test_notes_are_kept_by_select_and_take():
    table = replace(Table.from_texts(["a", "b"], [["1", "2"], ["3", "4"]]), notes=("Read so.",))
    assert table.select(["b"]).take(np.array([0])).notes == ("Read so.",)


def test_duplicate_names_are_refused():
    with pytest.raises(ValueError, match="'a' occurs more than once: rename"):
        Table.from_texts(["a", "b", "a"], [["1"], ["2"], ["3"]])


def test_unequal_lengths_are_refused():
    with pytest.raises(ValueError, match="same number of rows"):
        Table(("a", "b"), (np.zeros(2), np.zeros(3)))


def test_unknown_column_names_the_closest():
    table = Table.from_texts(["Age", "job"], [["1"], ["2"]])
    with pytest.raises(ValueError, match=r"no column 'agee'\. Did you mean 'Age'\?.*Age, job"):
        table.column("agee")


def test_dtype_of_the_array():
    numbers = Table.from_texts(["a", "b"], [["1", ""], ["3", "4"]])
    assert numbers.to_array().dtype == np.float64
    mixed = Table.from_texts(["a", "b"], [["1", ""], ["x", ""]]).to_array()
    assert mixed.dtype == object
    assert mixed[0].tolist() == [1.0, "x"]
    assert np.isnan(mixed[1, 0])
    assert mixed[1, 1] is None


def test_take_by_mask():
    table = Table.from_texts(["a"], [["1", "2", "3"]])
    assert table.take(np.array([True, False, True])).column("a").tolist() == [1.0, 3.0]
    assert table.n_rows == 3


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_finite_floats_round_trip(value):
    assert parse_number(repr(value)) == value


@given(st.text())
def test_parsing_never_fails_and_never_gives_infinity(text):
    assert not np.isinf(parse_number(text))


AGES, JOBS = np.array([31.0, np.nan]), np.array(["cook", None], dtype=object)


def test_rows_with_categories_are_objects():
    rows = TableRows(AGES, JOBS)
    assert (len(rows), rows.shape, rows.ndim, rows.dtype) == (2, (2, 2), 2, object)
    assert np.asarray(rows)[0].tolist() == [31.0, "cook"]
    assert rows[:, 1].tolist() == ["cook", None]


def test_numeric_rows_are_float64():
    rows = TableRows(AGES, 2 * AGES)
    assert np.asarray(rows).dtype == np.float64
    np.testing.assert_array_equal(rows, [[31.0, 62.0], [np.nan, np.nan]])
    assert np.asarray(rows, dtype=np.float32).dtype == np.float32


def test_array_is_made_once():
    rows = TableRows(AGES, JOBS)
    assert np.asarray(rows) is np.asarray(rows)
    assert np.array(rows) is not np.asarray(rows)


def test_scikit_learn_accepts_table_rows():
    rows = TableRows(np.array([0.0, 1.0]), np.array([1.0, 1.0]))
    model = LogisticRegression().fit(rows, ["no", "yes"])
    np.testing.assert_array_equal(model.predict_proba(rows), model.predict_proba(rows[:]))
    with pytest.raises(ValueError, match="could not convert string to float: 'cook'"):
        check_array(TableRows(AGES, JOBS))


def test_dates_of_a_table_are_days():
    when = np.array(["2024-03-01T12:00", "NaT"], dtype="datetime64[ms]")
    rows = Table(("when",), (when,)).to_rows()
    np.testing.assert_array_equal(rows.by_column[0], [19783.5, np.nan])
