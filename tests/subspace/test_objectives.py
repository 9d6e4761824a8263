import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_wine

from ensemblage._core import DamagedStateError
from ensemblage.subspace._objectives import (
    SOFTMAX,
    SQUARED,
    FeatureBasis,
    Member,
    Settings,
    as_features,
    as_rows,
    correlated_groups,
    member_logits,
    member_outputs,
    resolve,
    standardise,
    step_length,
    units_of,
    weighted_accuracy,
)

SETTINGS = Settings("lbfgs", 0.1, "auto", "auto", C=2.0, patience=10, tol=1e-3, max_iter=50)
EVEN = np.full(4, 0.25)


def test_step_length_is_four_over_the_largest_eigenvalue():
    X, y = load_wine(return_X_y=True)
    rows = as_rows(X, y, 3, standardise(X))
    largest = np.linalg.eigvalsh(rows.features @ rows.features.T / len(X))[-1]
    assert step_length(rows) == pytest.approx(4 / largest)


def test_step_length_of_constant_columns_is_one():
    X = np.ones((4, 2))
    assert step_length(as_rows(X, np.array([0, 1, 0, 1]), 2, standardise(X))) == 1


def test_automatic_settings():
    X, y = load_wine(return_X_y=True)
    rows = as_rows(X, y, 3, standardise(X))
    found = resolve(SETTINGS, rows)
    assert found.learning_rate == step_length(rows)
    assert found.size_penalty == pytest.approx(4 / 178)
    assert resolve(SETTINGS._replace(size_penalty=0.5), rows).size_penalty == 0.5


def test_only_algorithm_1_uses_the_given_learning_rate():
    X, y = load_wine(return_X_y=True)
    rows = as_rows(X, y, 3, standardise(X))
    given = SETTINGS._replace(learning_rate=7.0)
    assert resolve(given, rows).learning_rate == step_length(rows)
    assert resolve(given._replace(solver="paper"), rows).learning_rate == 7.0


def test_linear_basis_is_the_identity():
    features = np.arange(8.0).reshape(2, 4)
    basis = FeatureBasis().fit(features, EVEN)
    assert basis.expand(features) is features
    assert basis.owners() is None
    assert basis.n_columns() == 2


def test_quadratic_by_hand():
    features = np.array([[1.0, -1.0, 1.0, -1.0], [2.0, 2.0, -2.0, -2.0]])
    basis = FeatureBasis("quadratic").fit(features, EVEN)
    # x0, x1 (scaled), x0 x0 and x1 x1 (constant, so zero), x0 x1 (scaled)
    found = basis.expand(features)
    np.testing.assert_allclose(found[0], features[0])
    np.testing.assert_allclose(found[1], features[1] / 2)
    np.testing.assert_allclose(found[[2, 4]], 0, atol=1e-12)
    np.testing.assert_allclose(found[3], features[0] * features[1] / 2)
    np.testing.assert_array_equal(basis.owners()[0], [0, 1, 0, 0, 1])
    np.testing.assert_array_equal(basis.owners()[1], [0, 1, 0, 1, 1])


def test_spline_knots_are_quantiles():
    features = np.arange(10.0)[None]
    basis = FeatureBasis("spline").fit(features, np.full(10, 0.1))
    np.testing.assert_array_equal(basis.knots_[:, 0], [0, 2, 4, 6, 8])
    columns = basis.expand(features) * basis.column_scale_[:, None] + basis.column_mean_[:, None]
    np.testing.assert_allclose(columns[3], np.maximum(features[0] - 4, 0), atol=1e-12)


@given(st.integers(0, 99), st.sampled_from(["quadratic", "spline"]), st.integers(1, 5))
def test_columns_are_standardised_and_depend_on_their_features_only(seed, kind, n_features):
    rng = np.random.default_rng(seed)
    features, weights = rng.normal(size=(n_features, 30)), rng.uniform(1, 2, 30)
    weights /= weights.sum()
    basis = FeatureBasis(kind).fit(features, weights)
    columns = basis.expand(features)
    assert len(columns) == basis.n_columns() == len(basis.owners()[0])
    np.testing.assert_allclose(columns @ weights, 0, atol=1e-9)
    np.testing.assert_allclose(columns**2 @ weights, 1, atol=1e-6)
    # changing one feature changes its own columns and no others
    other = features.copy()
    other[0] += 10.0
    changed = ~np.isclose(basis.expand(other), columns).all(axis=1)
    owned = (basis.owners()[0] == 0) | (basis.owners()[1] == 0)
    np.testing.assert_array_equal(changed, owned)


def test_weights_equal_copies():
    rng = np.random.default_rng(0)
    features, counts = rng.normal(size=(2, 20)), rng.integers(1, 4, 20)
    weighed = FeatureBasis("spline").fit(features, counts / counts.sum())
    copied = np.repeat(features, counts, axis=1)
    plain = FeatureBasis("spline").fit(copied, np.full(counts.sum(), 1 / counts.sum()))
    np.testing.assert_allclose(weighed.expand(features), plain.expand(features))


def test_too_many_columns_raise():
    with pytest.raises(ValueError, match="expands 200 features to 20300 columns, more than 10000"):
        FeatureBasis("quadratic").fit(np.zeros((200, 3)), np.full(3, 1 / 3))


def test_forged_scales_raise():
    basis = FeatureBasis("quadratic").fit(np.eye(3), np.full(3, 1 / 3))
    basis._check_fitted()
    basis.column_scale_ = basis.column_scale_[:2]
    with pytest.raises(DamagedStateError, match="column_scale_ has shape"):
        basis._check_fitted()


def quadratic(n_features):
    features = np.random.default_rng(0).normal(size=(n_features, 20))
    return FeatureBasis("quadratic").fit(features, np.full(20, 0.05)).owners()


def test_a_linear_basis_without_groups_has_no_units():
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
def test_flipped_columns_equal_those_of_the_new_mask(seed, n_features):
    rng = np.random.default_rng(seed)
    owners = quadratic(n_features)
    units = units_of(owners, None)
    before, flipped = rng.random(n_features) < 0.5, np.flatnonzero(rng.random(n_features) < 0.5)
    after = before.copy()
    after[flipped] ^= True
    support = before[owners[0]] & before[owners[1]]
    support[units.flipped_columns(support, flipped)] ^= True
    np.testing.assert_array_equal(support, after[owners[0]] & after[owners[1]])


def test_groups_are_single_linkage_on_absolute_correlation():
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, 400))
    near = one + 0.1 * rng.normal(size=400)
    nearer = near + 0.1 * rng.normal(size=400)
    features = np.array([one, other, -near, np.zeros(400), nearer])
    features -= features.mean(axis=1, keepdims=True)
    weights = np.full(400, 1 / 400)
    np.testing.assert_array_equal(correlated_groups(features, weights, 0.98), [0, 1, 0, 2, 0])
    np.testing.assert_array_equal(correlated_groups(features, weights, 1.0), np.arange(5))


def test_exact_copies_are_a_group_at_correlation_one():
    x = np.random.default_rng(0).normal(size=(1, 30))
    x -= x.mean()
    groups = correlated_groups(np.repeat(x, 3, axis=0), np.full(30, 1 / 30), 1.0)
    np.testing.assert_array_equal(groups, 0)


def test_standardised_by_hand():
    X = np.array([[1.0, 5.0], [3.0, 5.0]])
    np.testing.assert_array_equal(as_features(X, *standardise(X)), [[-1, 1], [0, 0]])
    # three rows at 1 and one at 3: mean 1.5, variance 0.75
    mean, scale = standardise(X, np.array([3.0, 1.0]))
    np.testing.assert_allclose(mean, [1.5, 5.0])
    np.testing.assert_allclose(scale, [np.sqrt(0.75), 1.0])


def test_parts_of_weighted_rows_are_normalised():
    X, y = load_wine(return_X_y=True)
    rows = as_rows(X, y, 3, standardise(X), np.random.default_rng(0).uniform(1, 2, len(y)))
    train, rest = rows.take(np.arange(100)), rows.take(np.arange(100, len(y)))
    assert train.total + rest.total == pytest.approx(rows.total)
    assert train.weights.sum() == pytest.approx(1)


def test_masked_features_are_not_used():
    coef = np.array([[1.0, 9.0], [-1.0, 9.0]])
    member = Member(coef, np.array([0.0, 1.0]), np.array([True, False]), np.empty(0), 0)
    features = np.array([[2.0], [7.0]])
    np.testing.assert_array_equal(member_logits(features, member), [[2.0], [-1.0]])
    (outputs,) = member_outputs(features, [member])
    np.testing.assert_allclose(outputs, [[1 / (1 + np.exp(-3)), 1 / (1 + np.exp(3))]])


def test_accuracy_is_weighted():
    logits = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]])
    assert weighted_accuracy(logits, np.array([0, 1, 1]), np.array([0.2, 0.3, 0.5])) == 0.5


def test_likelihood_ratio_of_a_class_is_its_probability():
    logits = np.log([[0.2, 0.5], [0.8, 0.5]])
    ratio = SOFTMAX.likelihood_ratio(logits, np.array([1, 0]), np.array([0.5, 0.5]))
    np.testing.assert_allclose(ratio, [0.8, 0.5])


def test_likelihood_ratio_of_a_numeric_target_is_its_density_over_the_mode():
    # residuals 0 and 2 of equal weight: the variance is 2
    ratio = SQUARED.likelihood_ratio(
        np.array([[1.0, 1.0]]), np.array([1.0, 3.0]), np.array([0.5, 0.5])
    )
    np.testing.assert_allclose(ratio, [1, np.exp(-1)])


def test_likelihood_ratio_of_a_perfect_fit_is_one():
    target = np.array([1.0, 3.0])
    ratio = SQUARED.likelihood_ratio(target[None], target, np.array([0.5, 0.5]))
    np.testing.assert_array_equal(ratio, 1)
    assert SQUARED.score(target[None], target, np.ones(2)) == pytest.approx(-np.log(1e-12))
