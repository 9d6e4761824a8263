"""Spreads of pools that fit the rows too well."""

import numpy as np
import pytest

from ensemblage.pool._pool_spread import BORROWED, spread_factor, widened

FUSED = np.array([[0.0, 1.0], [2.0, 4.0]])


def test_the_factor_by_hand():
    # squares in units of the variance: 9 and 1
    assert spread_factor(FUSED, np.array([3.0, 4.0]), None) == pytest.approx(30 / 22)
    weighted = spread_factor(FUSED, np.array([3.0, 4.0]), np.array([3.0, 1.0]))
    assert weighted == pytest.approx((2 * 7 + BORROWED) / (2 + BORROWED))


def test_units_and_the_scale_of_weights_do_not_matter():
    y = np.array([3.0, 4.0])
    expected = spread_factor(FUSED, y, np.array([1.0, 2.0]))
    assert spread_factor(FUSED * [1e9, 1e18], y * 1e9, np.array([10.0, 20.0])) == pytest.approx(
        expected
    )


def test_means_stay():
    np.testing.assert_array_equal(widened(FUSED, 2.0), [[0.0, 2.0], [2.0, 8.0]])
