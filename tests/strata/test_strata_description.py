"""A description prints as a table, here and in a notebook."""

from dataclasses import replace

import msgspec
import pytest

from ensemblage.strata import ColumnDifference, StrataDescription, StratumDescription

AGE = ColumnDifference("age", "number", None, 61.0, 54.0, 0.75)
SITE = ColumnDifference("site", "word", "Basel", 0.92, 0.31, 1.4)
TOLD = StrataDescription((StratumDescription(0, "site = Basel", 0.25, 0.1, (SITE, AGE)),), 40)


@pytest.mark.parametrize(
    ("difference", "phrase", "told"),
    [
        (AGE, "age high (61)", "age: 61 (all rows 54, +0.8)"),
        (SITE, "site = Basel", "site = Basel: 92% (all rows 31%, +1.4)"),
        (
            ColumnDifference("site", "word", "Bern", 0.0, 0.5, -1.6),
            "site not Bern",
            "site = Bern: 0% (all rows 50%, -1.6)",
        ),
        (
            ColumnDifference("seen", "date", None, 18628.0, 19000.5, -2.0),
            "seen early (2021-01-01)",
            "seen: 2021-01-01 (all rows 2022-01-08, -2.0)",
        ),
        (
            ColumnDifference("lab", "missing", None, 0.8, 0.2, 1.3),
            "lab missing",
            "lab missing: 80% (all rows 20%, +1.3)",
        ),
        (
            ColumnDifference("pay", "number", None, 123456.0, 20000.0, 1.0),
            "pay high (123456)",
            "pay: 123456 (all rows 20000, +1.0)",
        ),
    ],
)
def test_differences_in_plain_words(difference, phrase, told):
    assert difference.phrase == phrase
    assert str(difference) == told


def test_the_absence_of_something_rare_makes_no_name():
    assert not ColumnDifference("cp", "word", "rare", 0.0, 0.06, -0.5).is_telling
    assert ColumnDifference("cp", "word", "common", 0.0, 0.5, -1.5).is_telling
    assert not ColumnDifference("age", "number", None, 1.0, 1.1, -0.1).is_telling


def test_a_table_and_html():
    told = TOLD.with_errors([0.1], 0.15, "held out")
    head, _, row = str(told).splitlines()
    assert head.split() == ["stratum", "name", "rows", "error", "differs", "in"]
    assert row.split()[:6] == ["0", "site", "=", "Basel", "25.0%", "10.0%"]
    assert "had not seen; on all of them 15.0%." in told.legend
    assert "<td" in told._repr_html_()
    assert "error" not in str(TOLD).splitlines()[0]


def test_rows_are_in_several_strata_only_where_shares_say_so():
    # one stratum of a quarter of the rows; five of them hold some rows twice
    assert "a row may be in several" not in TOLD.legend
    assert "a row may be in several" in replace(TOLD, strata=TOLD.strata * 5).legend


def test_errors_that_are_not_known_are_left_out():
    assert TOLD.with_errors([None], None, "held out") == TOLD


def test_it_goes_through_json():
    text = msgspec.json.encode(TOLD)
    assert msgspec.json.decode(text, type=StrataDescription) == TOLD
