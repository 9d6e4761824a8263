from datetime import UTC, date, datetime, time, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.datasets import MISSING_CODE, Column, per_column, read_columns

DAYS = [datetime.fromisoformat("2024-03-01T12:00"), None, datetime.fromisoformat("1970-01-02")]
AS_DAYS = [19783.5, np.nan, 1.0]


def test_values_of_a_categorical_column():
    column = Column("x", values=["b", None, 2, "a", "b"])
    assert column.n_rows == 5
    assert column.categories() == [2, "a", "b"]  # by type, then by text
    assert column.match(["b", "a"]).tolist() == [0, MISSING_CODE, 2, 1, 0]
    assert column.take(np.array([4, 1])).values == ["b", None]
    flags = Column("y", values=[True, None], declared=[False, True])
    np.testing.assert_array_equal(flags.as_numbers(), [1.0, np.nan])


def test_values_of_a_column_with_codes():
    column = Column(
        "x", declared=["c", "b", "a"], codes=np.array([2, MISSING_CODE, 1], dtype=np.int32)
    )
    assert (column.kind, column.n_rows) == ("categorical", 3)
    assert column.categories() == ["c", "b", "a"]
    assert column.occurring() == ["a", "b"]
    assert column.match(["a"]).tolist() == [0, MISSING_CODE, 1]
    assert column.as_categories(["a", "b"]).values == ["a", None, "b"]


def test_single_values():
    assert Column("x", values=["a", None]).field(0) == "a"
    assert Column("x", declared=["b"], codes=np.array([0, -1], dtype=np.int32)).field(1) is None
    assert Column("x", np.array([2.0])).field(0) == 2.0


def test_numeric_column_as_categorical():
    column = Column("grade", np.array([2.0, np.nan, 1.0]))
    categorical = column.as_categories([1, 2, 3])
    assert (column.kind, categorical.kind) == ("numeric", "categorical")
    assert categorical.categories() == [1, 2, 3]
    assert categorical.match([1, 2, 3]).tolist() == [1, MISSING_CODE, 0]


def test_undeclared_categories_are_refused():
    with pytest.raises(
        ValueError, match=r"'x' contains 'z', which is not one of its `categories`: a"
    ):
        Column("x", values=["a", "z"]).as_categories(["a"])


def test_categorical_values_in_a_numeric_column_are_refused():
    with pytest.raises(ValueError, match="Column 'x' was numeric when the model was fitted"):
        Column("x", values=["a"]).as_numbers()
    empty = Column("x", declared=["a"], codes=np.full(2, MISSING_CODE, dtype=np.int32))
    assert np.isnan(empty.as_numbers()).all()


@given(st.lists(st.sampled_from(["a", "b", "", "é", None]), min_size=1))
def test_codes_round_trip(values):
    column = Column("x", values=values)
    known = [*column.categories(), None]
    assert [known[code] for code in column.match(column.categories())] == values
    assert column.coded().as_categories().values == values
    declared = pd.DataFrame({"x": pd.Categorical(values)})
    assert read_columns(declared, ["x"])[0].occurring() == column.occurring()


def read_one(frame):
    (column,) = read_columns(frame, ["x"])
    return column


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_dates_are_days_since_1970(make):
    column = read_one(make({"x": DAYS}))
    assert column.kind == "date"
    np.testing.assert_array_equal(column.as_numbers(), AS_DAYS)


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
def test_days_without_a_time_are_dates(make):
    column = read_one(make({"x": [date(1970, 1, 3), None]}))
    assert column.kind == "date"
    np.testing.assert_array_equal(column.as_numbers(), [2.0, np.nan])


def test_dates_in_arrays_and_objects():
    moments = np.array(DAYS, dtype="datetime64[us]")
    for values in (moments, moments.astype(object), pd.Series(DAYS, dtype=object).to_numpy()):
        column = read_one(values.reshape(-1, 1))
        assert column.kind == "date"
        np.testing.assert_array_equal(column.as_numbers(), AS_DAYS)


def test_time_zones_are_converted_to_utc():
    east = timezone(timedelta(hours=2))
    moments = [datetime(1970, 1, 2, 2, tzinfo=east), datetime(1970, 1, 3, tzinfo=UTC)]
    zoned = pd.DataFrame({"x": pd.to_datetime(moments, utc=True)})
    objects = np.array(moments, dtype=object).reshape(-1, 1)
    polars = pl.DataFrame({"x": pl.Series(moments, dtype=pl.Datetime("us", "UTC"))})
    for X in (zoned, objects, polars):
        assert read_one(X).as_numbers().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_durations_are_days(make):
    column = read_one(make({"x": [timedelta(hours=36), timedelta(days=2)]}))
    assert column.kind == "numeric"
    assert column.as_numbers().tolist() == [1.5, 2.0]


def test_times_of_day_are_refused():
    with pytest.raises(TypeError, match="Column 'x' contains times of day"):
        read_one(pl.DataFrame({"x": [time(9)]}))


@pytest.mark.parametrize(
    "values",
    [
        pd.array([1, None, 3], dtype="Int64"),
        pd.array([1.0, None, 3.0], dtype="Float64"),
        pd.Series([1, None, 3], dtype="int64[pyarrow]"),
        np.array([1, None, 3], dtype=object),
        np.array([1, np.nan, 3.0], dtype=object),
    ],
)
def test_numeric_columns_with_any_missing_value(values):
    column = read_one(pd.DataFrame({"x": values}))
    assert column.kind == "numeric"
    np.testing.assert_array_equal(column.as_numbers(), [1.0, np.nan, 3.0])


@pytest.mark.parametrize(
    "missing", [None, np.nan, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT")]
)
def test_missing_categories_are_none(missing):
    values = np.array(["a", missing, "b", missing], dtype=object).reshape(-1, 1)
    assert read_one(values).values == ["a", None, "b", None]


@pytest.mark.parametrize("dtype", ["string", "str", object, "category"])
def test_categorical_columns_of_every_pandas_dtype(dtype):
    column = read_one(pd.DataFrame({"x": pd.Series(["b", None, "a"], dtype=dtype)}))
    assert (column.kind, column.occurring()) == ("categorical", ["a", "b"])
    assert column.match(["a", "b"]).tolist() == [1, -1, 0]


def test_boolean_values_are_declared_categories():
    for values in (pd.array([True, None], dtype="boolean"), np.array([True, None], dtype=object)):
        column = read_one(pd.DataFrame({"x": values}))
        assert (column.values, column.declared) == ([True, None], [False, True])


def test_nested_values_are_refused():
    for nested, described in (([1], "a list"), (({},), "a nested value")):
        values = np.empty((1, 1), dtype=object)
        values[0, 0] = nested
        with pytest.raises(TypeError, match=f"Column 'x' contains {described}"):
            read_one(values)


def test_parameters_per_column():
    names = ["age", "job"]
    assert per_column("auto", names, "kinds") == [None, None]
    assert per_column({"job": "categorical"}, names, "kinds") == [None, "categorical"]
    assert per_column(["numeric", None], names, "kinds") == ["numeric", None]
    with pytest.raises(
        ValueError, match=r"`kinds` contains 'jobs', which is not a column. Did you"
    ):
        per_column({"jobs": "categorical"}, names, "kinds")
    with pytest.raises(ValueError, match="`kinds` has 1 entry, but `X` has 2 columns"):
        per_column(["categorical"], names, "kinds")
