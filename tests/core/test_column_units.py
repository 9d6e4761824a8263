import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage._core import ColumnUnits, DamagedStateError, expect_units

ROWS = np.random.default_rng(0).normal(size=(50, 1))
ORDINARY = {
    "plain": ROWS,
    "thousandths": ROWS * 0.01,
    "millions": ROWS * 1e6,
    "years": 2000 + 30 * ROWS,
    "constant": np.full((50, 1), 1e30),
    "missing": np.full((50, 1), np.nan),
    "binary": (ROWS > 1).astype(float),
    "an outlier": np.vstack([ROWS, [[1e9]]]),
    "rounding errors": np.vstack([ROWS[:5], [[0.0], [1e-17]] * 30]),
}


@pytest.mark.parametrize("rows", ORDINARY.values(), ids=ORDINARY)
def test_ordinary_columns_keep_their_bits(rows):
    units = ColumnUnits.of(rows)
    assert not units.offsets.any()
    assert not units.exponents.any()
    assert units.scale(rows).tobytes() == rows.astype(np.float32).tobytes()


@pytest.mark.parametrize(
    "rows",
    [ROWS * 1e-8, ROWS * 1e-310, ROWS * 1e200, ROWS + 1e9, ROWS * 1e-8 - 1.0,
     np.vstack([ROWS * 1e-8, [[999.0]]]), np.vstack([ROWS + 1e12, [[0.0]]])],
    ids=["small", "subnormal", "huge", "far", "small and far", "small, a code", "far, a code"],
)  # fmt: skip
def test_other_columns_keep_their_differences(rows):
    scaled = ColumnUnits.of(rows).scale(rows)
    assert np.isfinite(scaled).all()
    order = np.sort(scaled[:, 0]).astype(float)
    assert (np.diff(order) > 1e-7).all()
    assert np.argsort(scaled[:, 0]).tolist() == np.argsort(rows[:, 0]).tolist()


@given(
    st.integers(0, 2**32),
    st.floats(-290, 280).map(lambda power: 10.0**power),
    st.sampled_from([0.0, 1.0, 1e5, 1e9, 1e13, 1e15, -1e15]),
)
def test_rows_stay_at_their_sides_of_restored_thresholds(seed, scale, far):
    rows = scale * (np.random.default_rng(seed).normal(size=(12, 1)) + far)
    units = ColumnUnits.of(rows)
    scaled = units.scale(rows)[:, 0].astype(float)
    ends = np.unique(scaled)
    thresholds = (ends[:-1] / 2 + ends[1:] / 2)[:, None]
    restored = units.restore_thresholds(thresholds, 0)
    compared = units.scale_values(restored, 0)
    assert ((scaled <= compared) == (scaled <= thresholds)).all()
    assert (restored <= rows.max()).all()
    assert (restored >= rows.min()).all()


def test_missing_values_stay_missing_and_far_ones_are_clipped():
    rows = np.vstack([ROWS * 1e-8, [[np.nan]]])
    units = ColumnUnits.of(rows)
    assert np.isnan(units.scale(rows)[-1, 0])
    largest = np.finfo(np.float32).max
    assert units.scale(np.array([[1e300], [-1e300]])).tolist() == [[largest], [-largest]]


def test_units_of_a_damaged_file_are_refused():
    owner = type("Owner", (), {})()
    owner.offsets, owner.exponents = np.zeros(2), np.array([0, 5000])
    with pytest.raises(DamagedStateError, match="exponents holds 5000"):
        expect_units(owner, "offsets", "exponents", 2)
