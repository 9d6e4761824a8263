import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.datasets._date_texts import moment, read_dates


def dates(*texts, **how):
    found = read_dates(texts, **how)
    return None if found is None else np.datetime_as_string(found.moments, "m").tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2021-04-03", "2021-04-03T00:00"),
        ("2021/4/3 7:05", "2021-04-03T07:05"),
        ("2021-04-03T10:11:12.5Z", "2021-04-03T10:11"),
        ("2021-04-03T10:11+02:00", "2021-04-03T08:11"),
        ("3.4.2021", "2021-04-03T00:00"),
        ("03.04.21", "2021-04-03T00:00"),
        ("13/04/2021 1:30 PM", "2021-04-13T13:30"),
        ("4/13/70", "1970-04-13T00:00"),
        ("3-Apr-2021", "2021-04-03T00:00"),
        ("3 april 2021", "2021-04-03T00:00"),
        ("Apr 3rd, 2021", "2021-04-03T00:00"),
    ],
)
def test_dates_as_people_write_them(text, expected):
    assert dates(text) == [expected]


@pytest.mark.parametrize(
    "texts",
    [
        ["2021-02-30"], ["2021-13-01"], ["1.2.10"], ["10-11-12"], ["2021"], ["3/4"], ["x"], [""],
        ["13/14/2021"], ["31/12/2021", "12/31/2021"], ["2021-01-01", "1.1.2021"], ["3 foo 2021"],
        ["2021-01-01 25:00"],
    ],
)  # fmt: skip
def test_what_is_no_column_of_dates(texts):
    assert read_dates(texts) is None


def test_one_date_tells_the_order_of_all():
    assert dates("03/04/2021", "13/04/2021") == ["2021-04-03T00:00", "2021-04-13T00:00"]
    assert dates("03/04/2021", "04/13/2021") == ["2021-03-04T00:00", "2021-04-13T00:00"]
    assert read_dates(["03/04/2021", "13/04/2021"])[1:] == ("day-first", True)


def test_where_nothing_tells_the_hint_is_taken_and_said():
    assert read_dates(["03/04/2021"])[1:] == ("month-first", False)
    assert read_dates(["03/04/2021"], hint="day-first")[1:] == ("day-first", False)
    assert read_dates(["03/04/2021"], "day-first")[1:] == ("day-first", True)
    assert read_dates(["13/04/2021"], "month-first") is None


@given(st.datetimes(min_value=np.datetime64("1000-01-01", "s").item()))
def test_iso_dates_survive(value):
    found = read_dates([value.isoformat()])
    assert found.moments[0] == np.datetime64(value, "ms")


def test_parts_that_are_not_there_have_the_least_value():
    assert moment({"year": "1999", "month": "2"}) == np.datetime64("1999-02-01", "ms")
