import numpy as np
import pytest

from ensemblage.datasets import Reading
from ensemblage.datasets._column_kinds import type_columns
from ensemblage.datasets._number_marks import PLAIN, Marks
from ensemblage.datasets._reading_options import Request
from ensemblage.datasets._table import kind_of


def typed(separator=",", kinds=None, reading=None, **texts):
    columns = {name: values.split("|") for name, values in texts.items()}
    return type_columns(columns, Request("a.csv", kinds or {}, reading or Reading()), separator)


def values(found, place=0):
    return found.columns[place].tolist()


def test_plain_columns_need_no_note():
    found = typed(a="1|2.5||NA", b="x|NA|?|null", c="|||", d="NA|?||")
    assert [kind_of(column) for column in found.columns] == ["number", "word", "number", "number"]
    np.testing.assert_array_equal(found.columns[0], [1.0, 2.5, np.nan, np.nan])
    assert values(found, 1) == ["x", None, None, None]
    assert found[1:4] == (PLAIN, (), {})


def test_words_for_gaps_are_gaps_among_numbers_only():
    found = typed(a="1|n/a|-|2", b="x|n/a|-|y", c="-|-|-|-")
    np.testing.assert_array_equal(found.columns[0], [1.0, np.nan, np.nan, 2.0])
    assert values(found, 1) == ["x", "n/a", "-", "y"]
    assert values(found, 2) == ["-", "-", "-", "-"]
    assert found.notes == ("Read as missing in column 'a': '-', 'n/a'.",)


def test_marks_are_the_same_in_the_whole_file():
    found = typed(";", a="1,5|2", b="1.234|5", c="0.5|7", d="x|1,5")
    assert values(found, 0) == [1.5, 2.0]
    assert values(found, 1) == [1234.0, 5.0]
    assert values(found, 2) == [0.5, 7.0]
    assert values(found, 3) == ["x", "1,5"]
    assert found.marks == Marks(",", ".")


def test_what_may_be_either_is_noted():
    expected = (
        "'1,234' may stand for 1234 or for 1.234; it is read as the second: if that is wrong, "
        "say so by `decimal`."
    )
    assert typed(";", a="1,234|5").notes == (expected,)
    assert "'1.234' may stand for 1234" in typed(";", a="1.234|12.345").notes[0]
    assert typed(",", a="1.234|12.345").notes == ()


def test_signs_are_taken_off():
    found = typed(a="12%|3 %|", b="$1,200|$5|-")
    np.testing.assert_array_equal(found.columns[0], [12.0, 3.0, np.nan])
    np.testing.assert_array_equal(found.columns[1], [1200.0, 5.0, np.nan])
    assert found.notes[1:3] == (
        "Column 'a' is read without its '%'.",
        "Column 'b' is read without its '$'.",
    )


def test_a_column_tells_the_others_what_comes_first():
    found = typed(a="13/04/2021|", b="03/04/2021|n/a", c="x|y")
    assert kind_of(found.columns[1]) == "date"
    assert found.columns[1][0] == np.datetime64("2021-04-03", "ms")
    assert np.isnat(found.columns[1][1])
    assert found.notes == (
        "Columns 'a', 'b' hold dates (day first); they become days since 1970-01-01.",
        "Read as missing in column 'b': 'n/a'.",
    )


def test_doubtful_dates_follow_the_marks_of_numbers():
    comma = typed(";", a="03/04/2021|05/06/2021")
    point = typed(",", a="03/04/2021|05/06/2021")
    assert comma.columns[0][0] == np.datetime64("2021-04-03", "ms")
    assert point.columns[0][0] == np.datetime64("2021-03-04", "ms")
    assert "month first is taken: if that is wrong, say so by `dates`." in point.notes[1]
    said = typed(",", a="03/04/2021|05/06/2021", reading=Reading(dates="day-first"))
    assert len(said.notes) == 1
    words = typed(",", a="03/04/2021|05/06/2021", reading=Reading(dates="words"))
    assert values(words) == ["03/04/2021", "05/06/2021"]


def test_known_kinds():
    kinds = {"a": "word", "b": "number", "c": "date", "d": "date", "e": "number"}
    found = typed(kinds=kinds, a="1|2", b="-|n/a", c="|", d="1.2.2021|-", e="1,5|2")
    assert values(found, 0) == ["1", "2"]
    assert np.isnan(found.columns[1]).all()
    assert np.isnat(found.columns[2]).all()
    assert found.columns[3][0] == np.datetime64("2021-02-01", "ms")
    assert values(found, 4) == [1.5, 2.0]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("number", "Column 'a' holds 'hot', which is not a finite number; numbers are expected"),
        ("date", "Column 'a' holds '1', which is not a date; dates are expected in this column"),
    ],
)
def test_a_known_kind_that_does_not_fit_is_refused(kind, message):
    with pytest.raises(ValueError, match=message):
        typed(kinds={"a": kind}, a="1|hot")
