"""Why a row is in a stratum."""

from ensemblage.explain._row_reasons import reasons
from ensemblage.strata import ColumnDifference, StrataDescription, StratumDescription

AGE = ColumnDifference("age", "number", None, 60.0, 40.0, 1.0)
SITE = ColumnDifference("site", "word", "Basel", 0.9, 0.3, 1.3)
LAB = ColumnDifference("lab", "missing", None, 0.8, 0.2, 1.3)
SEEN = ColumnDifference("seen", "date", None, 18628.0, 18000.0, 0.5)
TOLD = StrataDescription((StratumDescription(0, "x", 0.5, None, (SITE, LAB, AGE, SEEN)),), 9)


def test_the_nearest_columns_stand_first():
    fields = {"age": 65.0, "site": "Basel", "lab": 3.0, "seen": 18628.0}
    assert reasons(TOLD, 0, fields) == [
        "site = Basel",
        "age 65 (stratum 60, all rows 40)",
        "seen 2021-01-01 (stratum 2021-01-01, all rows 2019-04-14)",
    ]


def test_columns_in_which_the_row_is_like_all_rows_are_no_reasons():
    fields = {"age": 41.0, "site": "Bern", "lab": None, "seen": None}
    assert reasons(TOLD, 0, fields) == ["lab missing"]


def test_without_a_description_there_are_none():
    assert reasons(None, 0, {}) == reasons(TOLD, None, {}) == []
