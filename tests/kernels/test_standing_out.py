"""How far a part of the rows stands out, in one column."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.kernels import compare_medians, compare_shares
from ensemblage.kernels._standing_out import NORMAL_RANGE, weighted_quantiles
from reference.standing_out import median_distance, quantile, share_distance

sizes = st.integers(2, 12)


def test_medians_by_hand():
    # the part holds 7 and 9: median 8, quartiles 7 and 9; all rows: median 4, quartiles 2 and 7
    values = np.array([1.0, 2, 3, 5, 7, 9])
    found = compare_medians(values, np.array([[0.0], [0], [0], [0], [1], [1]]))
    assert (found.parts[0], found.all_rows) == (8.0, 4.0)
    pooled = math.sqrt(((2 / NORMAL_RANGE) ** 2 + (5 / NORMAL_RANGE) ** 2) / 2)
    assert found.distance[0] == pytest.approx(4 / pooled)


def test_shares_by_hand():
    # half of all rows have code 0; the part, three quarters
    found = compare_shares(np.array([0, 0, 1, 1]), 2, np.array([[1.0], [0.5], [0.5], [0.0]]))
    np.testing.assert_allclose(found.parts, [[0.75, 0.25]])
    np.testing.assert_allclose(found.all_rows, [0.5, 0.5])
    # asin of the roots of 3/4 and 1/2 are 60 and 45 degrees
    np.testing.assert_allclose(found.distance, [[math.pi / 6, -math.pi / 6]])


def test_where_quartiles_coincide_deviations_take_their_place():
    values = np.array([0.0, 0, 0, 0, 0, 0, 0, 1])
    found = compare_medians(values, np.eye(8)[:, 7:])
    assert found.distance[0] == pytest.approx(1 / math.sqrt((0 + 7 / 64) / 2))


def test_a_constant_column_and_an_empty_part_do_not_stand_out():
    assert compare_medians(np.ones(3), np.ones((3, 1))).distance.tolist() == [0.0]
    assert compare_medians(np.arange(3.0), np.zeros((3, 1))).distance.tolist() == [0.0]
    assert compare_shares(np.array([0, 1]), 2, np.zeros((2, 1))).distance.tolist() == [[0.0, 0.0]]


@given(data=st.data(), n=sizes)
def test_the_slow_twin_agrees(data, n):
    values = data.draw(st.lists(st.integers(-5, 5), min_size=n, max_size=n))
    parts = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=n, max_size=n).filter(any)
    weights = data.draw(parts)
    found = compare_medians(np.array(values, dtype=float), np.array(weights)[:, None])
    assert found.distance[0] == pytest.approx(median_distance(values, weights), abs=1e-9)
    assert found.parts[0] == quantile(values, weights, 0.5)
    codes = [value % 3 for value in values]
    shares = compare_shares(np.array(codes), 3, np.array(weights)[:, None])
    expected = [share_distance(codes, code, weights) for code in range(3)]
    assert shares.distance[0].tolist() == pytest.approx(expected, abs=1e-7)


@given(
    values=st.lists(st.integers(-50, 50), min_size=2, max_size=12),
    scale=st.sampled_from([0.5, 4.0]),
    shift=st.integers(-8, 8),
)
def test_units_change_nothing_but_the_medians(values, scale, shift):
    column = np.array(values, dtype=float)
    parts = np.column_stack([np.arange(len(values)) % 2 == 0, np.ones(len(values))]).astype(float)
    plain, changed = compare_medians(column, parts), compare_medians(scale * column + shift, parts)
    np.testing.assert_allclose(changed.distance, plain.distance, atol=1e-9)
    np.testing.assert_allclose(changed.parts, scale * plain.parts + shift)
    # a part that is all rows does not stand out
    assert plain.distance[1] == 0
    mirrored = compare_medians(-column, parts)
    np.testing.assert_allclose(mirrored.distance, -plain.distance, atol=1e-9)


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 4)), min_size=1, max_size=8))
def test_a_weight_is_as_good_as_copies(rows):
    values, weights = (np.array(each, dtype=float) for each in zip(*rows, strict=True))
    copies = np.repeat(values, weights.astype(int))
    (found,) = weighted_quantiles(values, weights[:, None], (0.5,))
    assert found[0] == np.median(copies)
