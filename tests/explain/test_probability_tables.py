"""Tables of a network."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ensemblage.explain._probability_tables import (
    NodeTable,
    join_ranges,
    probability_tables,
    range_labels,
)


def table(states, given, probabilities, *, cuts=None, parents=()):
    return NodeTable(states, cuts, parents, np.array(given), np.array(probabilities))


CLASS = table(["no", "yes"], [[]], [[0.25, 0.75]])


def test_ranges_are_named_with_few_digits():
    assert range_labels([12.184999999999999, 12.78]) == ["≤ 12.185", "12.185 to 12.78", "> 12.78"]
    assert range_labels([]) == ["any"]
    assert range_labels([-1.0]) == ["≤ \N{MINUS SIGN}1", "> \N{MINUS SIGN}1"]


def test_ranges_that_differ_in_the_last_digits_stay_apart():
    cuts = [1000000.1, 1000000.2]
    assert range_labels(cuts) == ["≤ 1000000.1", "1000000.1 to 1000000.2", "> 1000000.2"]


def test_joined_by_hand():
    chances = np.array([[0.1, 0.4, 0.2, 0.3]])
    labels, joined = join_ranges([1.0, 2.0, 3.0], chances, most=2)
    assert labels == ["≤ 2", "> 2"]
    np.testing.assert_allclose(joined, [[0.5, 0.5]])


@given(arrays(float, (3, 30), elements=st.floats(1e-6, 1.0)), st.integers(1, 12))
def test_joining_keeps_the_sum(weights, most):
    chances = weights / weights.sum(axis=1, keepdims=True)
    labels, joined = join_ranges(np.arange(29.0), chances, most)
    np.testing.assert_allclose(joined.sum(axis=1), 1.0)
    assert len(labels) == joined.shape[1] <= most


def test_few_configurations_stand_side_by_side():
    wet = table(["dry", "wet"], [[0], [1]], [[0.9, 0.1], [0.2, 0.8]], parents=["rain"])
    _, block = probability_tables({"rain": CLASS, "wet": wet})
    assert block.caption == "wet given rain"
    assert [column.name for column in block.columns] == ["wet", "no", "yes"]
    assert [field.text for field in block.rows[1]] == ["wet", "0.100", "0.800"]
    assert block.folded


def test_many_configurations_stand_below_each_other_and_are_cut_short():
    given = [[k % 2, k // 2] for k in range(80)]
    many = table(["low", "high"], given, [[0.5, 0.5]] * 80, cuts=[0.5], parents=["rain", "day"])
    day = table([f"day {k}" for k in range(40)], [[]], [[1 / 40] * 40])
    block = probability_tables({"rain": CLASS, "day": day, "many": many})[2]
    assert [column.name for column in block.columns] == ["rain", "day", "≤ 0.5", "> 0.5"]
    assert [field.text for field in block.rows[3]] == ["yes", "day 1", "0.500", "0.500"]
    assert len(block.rows) == 60
    assert block.legend == "20 more rows are not shown."


def test_many_ranges_are_joined():
    cuts = np.arange(20.0).tolist()
    ranges = table([str(k) for k in range(21)], [[]], [[1 / 21] * 21], cuts=cuts)
    (block,) = probability_tables({"x": ranges})
    assert len(block.rows) == 8
    assert block.legend == "21 ranges are joined here."
