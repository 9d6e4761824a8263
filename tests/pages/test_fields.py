"""Fields and marks."""

import pytest

from ensemblage.pages import (
    NOTHING,
    Column,
    Field,
    count_field,
    mark_best,
    mark_best_of,
    number_field,
    share_field,
    signed_field,
)


def test_a_number_with_its_error_and_a_true_minus():
    field = number_field(-0.12345, 3, 0.01)
    assert (field.text, field.quiet, field.value) == ("\N{MINUS SIGN}0.123", "± 0.010", -0.12345)
    assert number_field(None, 3) == share_field(None) == NOTHING
    assert share_field(0.256).text == "25.6%"


def test_counts_and_differences():
    assert count_field(12345) == Field("12,345", 12345)
    assert signed_field(0.25, 2).text == "+0.25"
    assert signed_field(-0.25, 2).text == "\N{MINUS SIGN}0.25"
    assert signed_field(-0.00004, 4).text == "+0.0000"
    assert signed_field(None, 2) == NOTHING


@pytest.mark.parametrize(("greater", "best"), [(True, [0, 2]), (False, [1])])
def test_the_best_is_marked_and_equals_as_shown_share_it(greater, best):
    fields = [number_field(value, 2) for value in (0.901, 0.5, 0.899, None)]
    marked = mark_best_of(fields, greater_is_better=greater)
    assert [k for k, field in enumerate(marked) if field.best] == best


def test_there_is_no_best_among_equals():
    fields = [number_field(value, 1) for value in (0.51, 0.52, None)]
    assert not any(field.best for field in mark_best_of(fields, greater_is_better=True))


def test_only_columns_with_a_direction_are_marked():
    columns = [Column("name"), Column("score", numeric=True, greater_is_better=True),
               Column("seconds", numeric=True)]  # fmt: skip
    rows = [
        [Field("a"), Field("1", 1.0), Field("9", 9.0)],
        [Field("b"), Field("2", 2.0), Field("1", 1)],
    ]
    marked = mark_best(columns, rows)
    assert [[field.best for field in row] for row in marked] == [
        [False, False, False], [False, True, False],
    ]  # fmt: skip
