import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemblage.pool import EnsemblageRegressor
from ensemblage.pool._level_spread import LevelSpread, learn_level_spread


def made(seed, growth, n_rows=400):
    """Rows whose variance grows with their mean: what is fused tells one variance for all."""
    rng = np.random.default_rng(seed)
    mean = rng.uniform(10, 20, n_rows)
    variance = np.exp(growth * (mean - 10) / 10)
    fused = np.column_stack([mean, np.full(n_rows, 3.0)])
    return fused, mean + np.sqrt(variance) * rng.normal(size=n_rows)


def log_loss(fused, y):
    mean, variance = fused.T
    return np.mean(np.log(2 * np.pi * variance) + (y - mean) ** 2 / variance) / 2


def test_a_spread_by_hand():
    spread = LevelSpread(factor=2.0, floor=1.0, growth=np.log(16.0), low=10.0, high=20.0)
    fused = np.array([[5.0, 4.0], [10.0, 4.0], [15.0, 4.0], [20.0, 4.0], [99.0, 4.0]])
    widened = spread.widen(fused)
    np.testing.assert_allclose(widened[:, 1], [9, 9, 36, 144, 144])
    assert widened[:, 0].tolist() == fused[:, 0].tolist()


@pytest.mark.parametrize("growth", [-3.0, 0.0, 4.0])
def test_growth_is_found(growth):
    fused, y = made(0, growth, n_rows=20_000)
    spread = learn_level_spread(fused, y, None)
    assert spread.growth == pytest.approx(growth, abs=0.5)
    expected = np.exp(growth * (fused[:, 0] - 10) / 10)
    np.testing.assert_allclose(spread.widen(fused)[:, 1], expected, rtol=0.5)


def test_a_growth_by_chance_is_none():
    growths = [learn_level_spread(*made(seed, growth=0.0, n_rows=100), None).growth
               for seed in range(40)]  # fmt: skip
    assert np.mean(np.equal(growths, 0)) > 0.6
    assert np.max(np.abs(growths)) <= 2


def test_one_mean_for_all_has_no_levels():
    rng = np.random.default_rng(0)
    fused = np.column_stack([np.full(50, 7.0), np.ones(50)])
    spread = learn_level_spread(fused, 7 + rng.normal(size=50), None)
    assert spread.growth == 0
    assert spread.is_sound
    assert np.ptp(spread.widen(fused)[:, 1]) == 0


def test_rows_that_nothing_was_off_on_have_no_growth():
    fused = np.column_stack([np.arange(30.0), np.ones(30)])
    spread = learn_level_spread(fused, np.arange(30.0), None)
    assert spread.growth == 0
    assert spread.is_sound


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(-4, 4), st.floats(1e-3, 1e3))
def test_no_row_learned_from_is_less_likely_and_units_do_not_matter(seed, growth, unit):
    fused, y = made(seed, growth)
    spread = learn_level_spread(fused, y, None)
    flat = learn_level_spread(fused, y, None)._replace(growth=0.0)
    size = np.mean((y - fused[:, 0]) ** 2 / flat.widen(fused)[:, 1])
    flat = flat._replace(factor=flat.factor * size, floor=flat.floor * size)
    assert log_loss(spread.widen(fused), y) <= log_loss(flat.widen(fused), y) + 1e-9
    scaled = learn_level_spread(fused * [unit, unit**2], unit * y, np.full(400, unit))
    assert scaled.growth == spread.growth
    np.testing.assert_allclose(scaled.widen(fused * [unit, unit**2])[:, 1],
                               unit**2 * spread.widen(fused)[:, 1], rtol=1e-6)  # fmt: skip


def test_prices_are_known_to_a_share_of_themselves():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = np.exp(X[:, 0] + 0.2 * rng.normal(size=600))
    model = EnsemblageRegressor(["ridge", "forest"], random_state=0).fit(X[:300], y[:300])
    assert model.spread_growth_ > 1
    low, high = model.predict_interval(X[300:], coverage=0.9).T
    covered = (low <= y[300:]) & (y[300:] <= high)
    assert 0.84 < covered.mean() < 0.97
    wide = high - low
    cheap = y[300:] < np.median(y[300:])
    assert wide[cheap].mean() < 0.7 * wide[~cheap].mean()
