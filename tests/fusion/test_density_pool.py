import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemblage.fusion import DensityPool, FusionContext
from ensemblage.fusion._residual_spread import as_normals, calibrated
from ensemblage.kernels import normal_log_density, normal_product, product_loss


def made(seed, n_members=3, n_rows=120):
    """Members that know y with more and more noise, all saying a variance of one."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n_rows)
    noise = rng.normal(size=(n_members, n_rows)) * np.geomspace(0.2, 2.0, n_members)[:, None]
    return np.stack([y + noise, np.ones((n_members, n_rows))], axis=2), y


def test_the_pool_finds_who_knows_and_tells_its_spread():
    outputs, y = made(0, n_rows=2000)
    pool = DensityPool().fit(outputs, y)
    mean, variance = pool.combine(outputs).T
    assert pool.importance(3)[0] > 0.8
    assert np.mean((mean - y) ** 2) < 1.1 * np.mean((outputs[0, :, 0] - y) ** 2)
    assert np.mean((mean - y) ** 2 / variance) == pytest.approx(1.0, abs=0.1)


def test_equal_members_are_one():
    outputs, y = made(1)
    twice = DensityPool(ridge=1e6).fit(outputs[[0, 0]], y)
    once = DensityPool(ridge=1e6).fit(outputs[:1], y)
    np.testing.assert_allclose(twice.weights_, 0.5, atol=1e-3)
    np.testing.assert_allclose(twice.combine(outputs[[0, 0]]), once.combine(outputs[:1]), rtol=5e-3)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_importances_are_never_negative_and_no_worse_than_equal_ones(seed):
    outputs, y = made(seed)
    pool = DensityPool(ridge=1.0).fit(outputs, y)
    members = calibrated(as_normals(outputs), pool.factors_, FusionContext())
    losses = [product_loss(members, y, np.ones(120), each, 1.0)[0]
              for each in (pool.weights_, np.full(3, 1 / 3))]  # fmt: skip
    assert (pool.weights_ >= 0).all()
    assert losses[0] <= losses[1] + 1e-9
    np.testing.assert_allclose(pool.row_weights(outputs).sum(axis=1), 1)


def test_strata_have_variances_of_their_own():
    rng = np.random.default_rng(2)
    strata = np.arange(2000) % 2
    y = rng.normal(size=2000) * np.where(strata == 1, 3.0, 0.5)
    outputs = np.stack([np.column_stack([np.zeros(2000), np.ones(2000)])])
    rows = FusionContext(strata=strata)
    told = [DensityPool(by_stratum=each).fit(outputs, y, rows) for each in (False, True)]
    assert [sorted(pool.needs) for pool in told] == [[], ["strata"]]
    plain, by_stratum = (pool.combine(outputs, rows) for pool in told)
    assert normal_log_density(as_normals(by_stratum), y).mean() > (
        normal_log_density(as_normals(plain), y).mean() + 0.2
    )
    np.testing.assert_allclose(np.sqrt(by_stratum[:2, 1]), [0.5, 3.0], rtol=0.1)


def test_weights_count_as_copies():
    outputs, y = made(3)
    weights = np.random.default_rng(3).integers(1, 3, 120)
    copies = np.repeat(np.arange(120), weights)
    heavy = DensityPool().fit(outputs, y, sample_weight=weights.astype(float))
    long = DensityPool().fit(outputs[:, copies], y[copies])
    np.testing.assert_allclose(heavy.combine(outputs), long.combine(outputs), rtol=1e-3)


def test_the_answer_is_the_product_of_calibrated_members():
    outputs, y = made(4)
    pool = DensityPool().fit(outputs, y)
    members = calibrated(as_normals(outputs), pool.factors_, FusionContext())
    np.testing.assert_allclose(
        pool.combine(outputs), np.column_stack(normal_product(members, pool.weights_))
    )


def test_without_members_of_importance_zero_it_says_the_same():
    rng = np.random.default_rng(0)
    y, error = rng.normal(size=(2, 600))
    said = np.stack([y + error, y + 3 * error, y + 2 * rng.normal(size=600)])
    outputs = np.stack([said, np.ones((3, 600))], axis=2)
    pool = DensityPool().fit(outputs, y)
    kept = np.flatnonzero(pool.weights_)
    assert kept.tolist() == [0, 2]
    np.testing.assert_allclose(pool.only(kept).combine(outputs[kept]), pool.combine(outputs))
    assert len(pool.weights_) == 3
