"""Decisions as sums."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.report._contributions import (
    Decision,
    by_column,
    class_contrast,
    contribution_bars,
    value_text,
    weighted_sum,
)
from ensemblage.report._explanation import ModelContext

numbers = st.floats(-5, 5, allow_nan=False)


def test_one_class_against_the_others():
    assert class_contrast(np.array([1.0, 4.0]), 1) == 3.0
    assert class_contrast(np.array([1.0, 4.0]), 0) == -3.0
    assert class_contrast(np.array([1.0, 4.0, 7.0]), 2) == 3.0


def test_members_add_up_by_hand():
    first = (np.array([[0.0, 0.0], [1.0, 2.0]]), np.array([0.0, 0.5]))
    second = (np.array([[0.0, 0.0], [3.0, -2.0]]), np.array([0.0, 1.0]))
    coef, level = weighted_sum([first, second], np.array([0.75, 0.25]), 1)
    assert coef.tolist() == [1.5, 1.0]
    assert level == 0.625


@given(st.lists(numbers, min_size=6, max_size=6), st.lists(numbers, min_size=3, max_size=3))
def test_baseline_and_contributions_are_the_decision(coefficients, row):
    part = np.array(coefficients).reshape(2, 3), np.array([0.5, -0.5])
    mean, x = np.array([1.0, -1.0, 0.5]), np.array(row)
    coef, level = weighted_sum([part], np.ones(1), 1)
    amounts = by_column(coef * (x - mean), [0, 1, 1], 2)
    whole = class_contrast(part[0] @ x + part[1], 1)
    assert level + coef @ mean + amounts.sum() == pytest.approx(float(whole), abs=1e-9)


def test_largest_contribution_comes_first_and_the_others_are_summed():
    columns = [f"c{j}" for j in range(12)]
    amounts = np.array([0.1, -2.0, 1.0, *[0.05] * 9])
    parts = ModelContext(None, columns, np.ones((1, 12)), row=0).contributions(amounts)
    assert [each.column for each in parts[:3]] == ["c1", "c2", "c0"]
    decision = Decision("yes", "log odds", 0.3, parts, 0.3 + float(amounts.sum()))
    bars = contribution_bars(decision)
    rows = [[field.text for field in row] for row in bars.table.rows]
    assert rows[0] == ["(baseline)", "", "+0.300"]
    assert rows[1] == ["c1", "1", "\N{MINUS SIGN}2.000"]
    assert rows[-2] == ["(2 other columns)", "", "+0.100"]
    assert rows[-1][0] == "(total)"
    assert bars.signed
    assert [bar.label for bar in bars.bars[:2]] == ["baseline", "c1 = 1"]
    assert [bar.text for bar in bars.bars] == [row[-1] for row in rows]


def test_values_as_the_file_has_them():
    written = [value_text(each) for each in (None, math.nan, 3.0, 0.25, "Basel")]
    assert written == ["missing", "missing", "3", "0.25", "Basel"]
    assert value_text(18628.0, "date") == "2021-01-01"
