"""Decisions as sums."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.report._contributions import (
    Contribution,
    Decision,
    LinearPart,
    add_up,
    against_others,
    by_column,
    check_row,
    contributions_of,
    decision_bars,
    decision_table,
    value_text,
)

numbers = st.floats(-5, 5, allow_nan=False)


def test_one_class_against_the_others():
    assert against_others(np.array([1.0, 4.0]), 1) == 3.0
    assert against_others(np.array([1.0, 4.0]), 0) == -3.0
    assert against_others(np.array([1.0, 4.0, 7.0]), 2) == 3.0


def test_members_add_up_by_hand():
    first = LinearPart(np.array([[0.0, 0.0], [1.0, 2.0]]), np.array([0.0, 0.5]))
    second = LinearPart(np.array([[0.0, 0.0], [3.0, -2.0]]), np.array([0.0, 1.0]))
    coef, level = add_up([first, second], np.array([0.75, 0.25]), 1)
    assert coef.tolist() == [1.5, 1.0]
    assert level == 0.625


@given(st.lists(numbers, min_size=6, max_size=6), st.lists(numbers, min_size=3, max_size=3))
def test_base_and_contributions_are_the_decision(coefficients, row):
    part = LinearPart(np.array(coefficients).reshape(2, 3), np.array([0.5, -0.5]))
    mean, x = np.array([1.0, -1.0, 0.5]), np.array(row)
    coef, level = add_up([part], np.ones(1), 1)
    amounts = by_column(coef * (x - mean), [0, 1, 1], 2)
    whole = against_others(part.coef @ x + part.intercept, 1)
    assert level + coef @ mean + amounts.sum() == pytest.approx(float(whole), abs=1e-9)


def test_the_largest_stands_first_and_the_rest_is_added_up():
    columns = [f"c{j}" for j in range(12)]
    amounts = np.array([0.1, -2.0, 1.0, *[0.05] * 9])
    parts = contributions_of(columns, [1.0] * 12, amounts)
    assert [each.column for each in parts[:3]] == ["c1", "c2", "c0"]
    decision = Decision("yes", "log odds", 0.3, parts, 0.3 + float(amounts.sum()))
    rows = [[field.text for field in row] for row in decision_table(decision).rows]
    assert rows[0] == ["(start)", "", "+0.300"]
    assert rows[1] == ["c1", "1", "\N{MINUS SIGN}2.000"]
    assert rows[-2] == ["(2 other columns)", "", "+0.100"]
    assert rows[-1][0] == "(all together)"
    bars = decision_bars(decision)
    assert bars.signed
    assert [bar.label for bar in bars.bars[:2]] == ["start", "c1 = 1"]
    assert [bar.text for bar in bars.bars] == [row[-1] for row in rows]


def test_values_as_the_file_has_them():
    written = [value_text(each) for each in (None, math.nan, 3.0, 0.25, "Basel")]
    assert written == ["missing", "missing", "3", "0.25", "Basel"]
    assert value_text(18628.0, "date") == "2021-01-01"
    assert Contribution("a", "1", 0.5).amount == 0.5


def test_a_row_that_is_not_there():
    with pytest.raises(ValueError, match="There is no row 2: the data have rows 0 to 1"):
        check_row([0, 1], 2)
