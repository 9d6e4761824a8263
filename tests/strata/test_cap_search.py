import numpy as np
import pytest

from ensemblage.kernels import log_memberships
from ensemblage.strata._cap_search import SizeRange, bins_about, search_caps, share_budget
from ensemblage.strata._caps import log_scales_of
from reference.capping import capped_memberships
from strata.carried import with_affinity


def random_affinity(rng, n_strata, n_rows):
    """Affinities of all kinds: alike, spread out, tied, and as far down as -1e10."""
    depth = 10 ** rng.uniform(-3, 10, size=(n_strata, 1))
    affinity = -depth * rng.uniform(size=(n_strata, n_rows)) ** rng.integers(1, 6)
    tied = rng.uniform(size=affinity.shape) < rng.choice([0, 0.5])
    return np.where(tied, np.round(affinity), affinity)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-6)])
def test_sizes_hold_in_2000_random_cases(dtype, tolerance):
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n_rows = int(rng.integers(2, 300))
        affinity = random_affinity(rng, 10, n_rows).astype(dtype)
        weights = rng.gamma(2.0, size=n_rows) if seed % 2 else np.ones(n_rows)
        sizes = rng.uniform(0.01, 1, size=10) * weights.sum()
        caps = search_caps(with_affinity(affinity, weights), sizes)
        tau = np.exp(log_memberships(affinity, caps).astype(float))
        assert tau.max() <= 1
        np.testing.assert_allclose(tau @ weights, sizes, rtol=tolerance)


@pytest.mark.parametrize("n_rows", [200, 5000])
def test_blocks_find_what_sorting_finds(n_rows):
    rng = np.random.default_rng(n_rows)
    affinity = -rng.gamma(0.5, 20.0, size=(6, n_rows))
    sizes = np.linspace(0.02, 0.95, 6) * n_rows
    tau = np.exp(log_memberships(affinity, search_caps(with_affinity(affinity), sizes)))
    for row, values, size in zip(tau, affinity, sizes, strict=True):
        np.testing.assert_allclose(row, capped_memberships(values, size), atol=1e-12)


@pytest.mark.parametrize("guess", [-1e10, -300.0, -0.01])
def test_a_bad_guess_costs_time_but_not_truth(guess):
    rng = np.random.default_rng(0)
    affinity = -rng.gamma(0.5, 20.0, size=(2, 3000))
    source, sizes = with_affinity(affinity), np.array([300.0, 2000.0])
    for cold, warm in zip(
        log_scales_of(search_caps(source, sizes)),
        log_scales_of(
            search_caps(
                source,
                sizes,
                bins_about(np.full(2, guess)),
            )
        ),
        strict=True,
    ):
        assert warm == pytest.approx(cold, abs=1e-12)


def test_thousands_of_equal_rows_share_equally():
    affinity = np.full((1, 6000), -7.25)
    caps = search_caps(with_affinity(affinity), np.array([1500.0]))
    np.testing.assert_allclose(np.exp(log_memberships(affinity, caps)), 0.25)


def test_a_budget_is_shared_so_that_no_exchange_helps():
    # the last unit of size is worth 1 / c_j to stratum j: equal off the bounds, less at the lower
    rng = np.random.default_rng(1)
    affinity = np.log(rng.dirichlet([0.1, 1.0, 1.5, 6.0], size=120).T)
    low, high, budget = 20.0, 70.0, 160.0
    source = with_affinity(affinity)
    sizes = share_budget(source, SizeRange(low, high, budget), 4).sizes
    log_worth = -log_scales_of(search_caps(source, sizes))
    at_low, at_high = np.isclose(sizes, low), np.isclose(sizes, high)
    inside = log_worth[~at_low & ~at_high]
    assert at_low.sum() == at_high.sum() == 1
    assert sizes.sum() == pytest.approx(budget, rel=1e-12)
    np.testing.assert_allclose(inside, inside[0], atol=1e-9)
    assert log_worth[at_low] <= inside[0] <= log_worth[at_high]


@pytest.mark.parametrize(("depth", "budget"), [(1e-6, 100), (1e3, 60), (1e9, 250)])
def test_a_budget_is_met_at_any_depth(depth, budget):
    rng = np.random.default_rng(2)
    affinity = -depth * rng.uniform(size=(5, 100))
    sizes = share_budget(with_affinity(affinity), SizeRange(5.0, 60.0, budget), 5).sizes
    assert sizes.sum() == pytest.approx(budget)
    assert sizes.min() >= 5 - 1e-9
    assert sizes.max() <= 60 + 1e-9


@pytest.mark.parametrize("weight", [0.1, 1 / 3, 0.7])
def test_a_size_beyond_the_sum_of_the_weights_takes_all_rows(weight):
    # as much beyond it as rounding makes it
    affinity = -np.random.default_rng(3).gamma(0.5, 20.0, size=(2, 50))
    weights = np.full(50, weight)
    sizes = np.array([0.5, 1 + 1e-15]) * weights.sum()
    caps = search_caps(with_affinity(affinity, weights), sizes)
    tau = np.exp(log_memberships(affinity, caps))
    np.testing.assert_allclose(tau @ weights, sizes, rtol=1e-12)
    np.testing.assert_allclose(tau[1], 1.0)
