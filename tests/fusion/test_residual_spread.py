import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.fusion import FusionContext
from ensemblage.fusion._residual_spread import (
    as_normals,
    as_outputs,
    calibrated,
    spread_factors,
    squared_residuals,
)
from ensemblage.kernels import Normals


def test_factors_by_hand():
    squares = np.array([[1.0, 1.0, 7.0]])
    np.testing.assert_allclose(spread_factors(squares, np.ones(3), None), [[3.0]])
    # drawn to 3 by twenty rows: (2 + 60) / 22 and (7 + 60) / 21
    found = spread_factors(squares, np.ones(3), np.array([0, 0, 2]))
    np.testing.assert_allclose(found, [[62 / 22, 3.0, 67 / 21, 3.0]])


def test_rows_take_the_factor_of_their_stratum_and_new_strata_that_of_all():
    members = Normals(np.zeros((1, 3)), np.full((1, 3), 2.0))
    rows = FusionContext(strata=np.array([1, 0, 5]))
    own = calibrated(members, np.array([[10.0, 20.0, 30.0]]), rows)
    assert own.variance.tolist() == [[40.0, 20.0, 60.0]]


@given(st.integers(0, 10**6), st.floats(0.01, 100))
def test_variances_said_in_another_unit_come_to_the_same(seed, unit):
    rng = np.random.default_rng(seed)
    outputs, y, strata = rng.uniform(1, 2, (2, 30, 2)), rng.normal(size=30), rng.integers(0, 3, 30)
    found = []
    for factor in (1.0, unit):
        members = as_normals(outputs * [1.0, factor])
        factors = spread_factors(squared_residuals(members, y), np.ones(30), strata)
        found.append(as_outputs(calibrated(members, factors, FusionContext(strata=strata))))
    np.testing.assert_allclose(*found)
