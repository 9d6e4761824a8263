import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.subspace._basis import FeatureBasis
from ensemblage.subspace._units import correlated_groups, units_of


def quadratic(n_features):
    features = np.random.default_rng(0).normal(size=(n_features, 20))
    return FeatureBasis("quadratic").fit(features, np.full(20, 0.05)).owners()


def test_nothing_made_and_nothing_grouped_needs_no_units():
    assert units_of(None, None) is None


def test_a_group_is_flipped_as_a_whole():
    units = units_of(None, np.array([0, 1, 0]))
    np.testing.assert_array_equal(units.lead, [0, 1])
    np.testing.assert_array_equal(units.flipped_columns(np.ones(3, bool), np.array([0])), [0, 2])


def test_a_product_needs_both_features():
    # columns x0, x1, x0 x0, x0 x1, x1 x1
    units = units_of(quadratic(2), None)
    everything = np.ones(5, bool)
    np.testing.assert_array_equal(units.flipped_columns(everything, np.array([1])), [1, 3, 4])
    without = np.array([True, False, True, False, False])
    np.testing.assert_array_equal(units.flipped_columns(without, np.array([1])), [1, 3, 4])
    np.testing.assert_array_equal(units.flipped_columns(without, np.array([0, 1])), [0, 1, 2, 4])


@given(st.integers(0, 999), st.integers(2, 6))
def test_flips_lead_to_the_columns_of_the_new_mask(seed, n_features):
    rng = np.random.default_rng(seed)
    owners = quadratic(n_features)
    units = units_of(owners, None)
    before, flipped = rng.random(n_features) < 0.5, np.flatnonzero(rng.random(n_features) < 0.5)
    after = before.copy()
    after[flipped] ^= True
    support = before[owners[0]] & before[owners[1]]
    support[units.flipped_columns(support, flipped)] ^= True
    np.testing.assert_array_equal(support, after[owners[0]] & after[owners[1]])


def test_groups_are_chained_by_correlation_whatever_its_sign():
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, 400))
    near = one + 0.1 * rng.normal(size=400)
    nearer = near + 0.1 * rng.normal(size=400)
    features = np.array([one, other, -near, np.zeros(400), nearer])
    features -= features.mean(axis=1, keepdims=True)
    weights = np.full(400, 1 / 400)
    np.testing.assert_array_equal(correlated_groups(features, weights, 0.98), [0, 1, 0, 2, 0])
    np.testing.assert_array_equal(correlated_groups(features, weights, 1.0), np.arange(5))


def test_exact_copies_are_a_group_at_one():
    x = np.random.default_rng(0).normal(size=(1, 30))
    x -= x.mean()
    groups = correlated_groups(np.repeat(x, 3, axis=0), np.full(30, 1 / 30), 1.0)
    np.testing.assert_array_equal(groups, 0)
