import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.messages import DamagedStateError
from ensemblage.subspace._basis import FeatureBasis

EVEN = np.full(4, 0.25)


def test_linear_leaves_the_features():
    features = np.arange(8.0).reshape(2, 4)
    basis = FeatureBasis().fit(features, EVEN)
    assert basis.expand(features) is features
    assert basis.owners() is None
    assert basis.n_columns() == 2


def test_quadratic_by_hand():
    features = np.array([[1.0, -1.0, 1.0, -1.0], [2.0, 2.0, -2.0, -2.0]])
    basis = FeatureBasis("quadratic").fit(features, EVEN)
    # x0, x1 (scaled), x0 x0 and x1 x1 (constant, so nothing), x0 x1 (scaled)
    found = basis.expand(features)
    np.testing.assert_allclose(found[0], features[0])
    np.testing.assert_allclose(found[1], features[1] / 2)
    np.testing.assert_allclose(found[[2, 4]], 0, atol=1e-12)
    np.testing.assert_allclose(found[3], features[0] * features[1] / 2)
    np.testing.assert_array_equal(basis.owners()[0], [0, 1, 0, 0, 1])
    np.testing.assert_array_equal(basis.owners()[1], [0, 1, 0, 1, 1])


def test_spline_bends_at_quantiles():
    features = np.arange(10.0)[None]
    basis = FeatureBasis("spline").fit(features, np.full(10, 0.1))
    np.testing.assert_array_equal(basis.knots_[:, 0], [0, 2, 4, 6, 8])
    columns = basis.expand(features) * basis.column_scale_[:, None] + basis.column_mean_[:, None]
    np.testing.assert_allclose(columns[3], np.maximum(features[0] - 4, 0), atol=1e-12)


@given(st.integers(0, 99), st.sampled_from(["quadratic", "spline"]), st.integers(1, 5))
def test_columns_are_standardised_and_of_the_features_that_own_them(seed, kind, n_features):
    rng = np.random.default_rng(seed)
    features, weights = rng.normal(size=(n_features, 30)), rng.uniform(1, 2, 30)
    weights /= weights.sum()
    basis = FeatureBasis(kind).fit(features, weights)
    columns = basis.expand(features)
    assert len(columns) == basis.n_columns() == len(basis.owners()[0])
    np.testing.assert_allclose(columns @ weights, 0, atol=1e-9)
    np.testing.assert_allclose(columns**2 @ weights, 1, atol=1e-6)
    # a change of one feature changes the columns that it owns, and no others
    other = features.copy()
    other[0] += 10.0
    changed = ~np.isclose(basis.expand(other), columns).all(axis=1)
    owned = (basis.owners()[0] == 0) | (basis.owners()[1] == 0)
    np.testing.assert_array_equal(changed, owned)


def test_weights_and_copies_are_one_thing():
    rng = np.random.default_rng(0)
    features, counts = rng.normal(size=(2, 20)), rng.integers(1, 4, 20)
    weighed = FeatureBasis("spline").fit(features, counts / counts.sum())
    copied = np.repeat(features, counts, axis=1)
    plain = FeatureBasis("spline").fit(copied, np.full(counts.sum(), 1 / counts.sum()))
    np.testing.assert_allclose(weighed.expand(features), plain.expand(features))


def test_too_many_columns():
    with pytest.raises(ValueError, match="makes 20300 columns of 200 features; 10000 are the most"):
        FeatureBasis("quadratic").fit(np.zeros((200, 3)), np.full(3, 1 / 3))


def test_forged_scales_are_refused():
    basis = FeatureBasis("quadratic").fit(np.eye(3), np.full(3, 1 / 3))
    basis.__check_state__()
    basis.column_scale_ = basis.column_scale_[:2]
    with pytest.raises(DamagedStateError, match="column_scale_ has shape"):
        basis.__check_state__()
