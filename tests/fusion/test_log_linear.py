import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax

from ensemblage._core import deal_folds
from ensemblage.fusion import (
    FusionContext,
    LogLinearPool,
    normal_log_density,
    normal_product,
)
from ensemblage.fusion._normal import as_normals, calibrated, product_loss
from made_outputs import random_outputs
from reference import log_pool as literal


def test_a_log_pool_of_equal_members_is_that_member():
    outputs = random_outputs(3)[:1]
    y = outputs[0].argmax(axis=1)
    twice = np.concatenate([outputs, outputs])
    pool = LogLinearPool(weight_penalty=1e6).fit(twice, y)
    np.testing.assert_allclose(pool.weights_, 0.5, atol=1e-3)
    np.testing.assert_allclose(pool.temperatures_[0], pool.temperatures_[1])
    np.testing.assert_allclose(pool.member_weights(2), 0.5, atol=1e-3)


def test_a_log_linear_pool_weights_the_best_member_and_mixes_decisions_with_probabilities():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 600)
    decisions = 2 * np.eye(3)[y] + rng.normal(size=(600, 3))
    guesses = rng.dirichlet(np.ones(3), 600)
    pool = LogLinearPool().fit(np.stack([decisions, guesses]), y)
    fused = pool.combine(np.stack([decisions, guesses]))
    assert pool.has_probabilities_.tolist() == [False, True]
    assert pool.member_weights(2)[0] > 0.9
    np.testing.assert_allclose(fused.sum(axis=1), 1)
    assert (fused.argmax(axis=1) == y).mean() > 0.8
    assert pool.returns_probabilities(False)


def test_votes_are_calibrated_with_an_offset_of_the_first_class():
    # votes 5, 4, ..., 0: the first is right in 90 of 100 rows, the others equally often
    rng = np.random.default_rng(5)
    y = rng.integers(0, 6, 2000)
    first = np.where(rng.uniform(size=2000) < 0.88, y, rng.integers(0, 6, 2000))
    votes = rng.permuted(np.tile(np.arange(5.0), (2000, 1)), axis=1)
    votes = np.stack([np.insert(row, at, 5.0) for row, at in zip(votes, first, strict=True)])
    pool = LogLinearPool(weight_penalty=1e9).fit(votes[None], y)
    proba = pool.combine(votes[None])
    assert pool.top_class_offsets_[0] > 1
    np.testing.assert_allclose(proba.max(axis=1), (first == y).mean(), atol=0.01)


def test_probabilities_and_two_classes_need_no_offset():
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, 100)
    decisions = np.stack([-1.0 * y, y], axis=1) + rng.normal(size=(100, 2))
    assert LogLinearPool().fit(decisions[None], y).top_class_offsets_.tolist() == [0]
    outputs = random_outputs(7)
    pool = LogLinearPool().fit(outputs, np.arange(len(outputs[0])) % 3)
    assert not pool.top_class_offsets_.any()


@given(st.integers(0, 200))
def test_importances_are_never_negative_and_no_worse_than_equal_ones(seed):
    outputs = random_outputs(seed, n_samples=60)
    y = np.random.default_rng(seed).integers(0, 3, 60)
    pool = LogLinearPool(weight_penalty=1.0).fit(outputs, y)
    assert (pool.weights_ >= 0).all()

    def loss(weights):
        log_p = log_softmax(np.tensordot(weights, pool.calibrated_log_proba(outputs), 1), axis=1)
        return -log_p[np.arange(60), y].sum() + ((weights - 1 / 3) ** 2).sum()

    assert loss(pool.weights_) <= loss(np.full(3, 1 / 3)) + 1e-9


def test_row_weights_reach_the_pool():
    outputs = np.stack([np.tile([0.9, 0.1], (40, 1)), np.tile([0.1, 0.9], (40, 1))])
    y = np.arange(40) % 2
    heavy = LogLinearPool(weight_penalty=0.1).fit(
        outputs, y, sample_weight=np.where(y == 0, 9.0, 1.0)
    )
    assert heavy.combine(outputs)[0, 0] > 0.7


def some_rows(seed, n_samples=25):
    rng = np.random.default_rng(seed)
    return random_outputs(seed, n_samples=n_samples), rng.integers(0, 3, n_samples)


def test_a_bias_by_hand():
    # 3 rows of one class and 1 of the other, of which the member knows nothing. Pulled by
    # 1 / (3 log 2), biases of +-log(2) / 2 make the slope 4 (2/3 - 3/4) + 2 / (3 log 2) b zero
    outputs, y = np.full((1, 4, 2), 0.5), np.array([0, 0, 0, 1])
    pool = LogLinearPool(bias_penalty=1 / (3 * np.log(2))).fit(outputs, y)
    np.testing.assert_allclose(pool.biases_, [np.log(2) / 2, -np.log(2) / 2], atol=1e-5)
    np.testing.assert_allclose(pool.combine(outputs)[0], [2 / 3, 1 / 3], atol=1e-5)


def test_a_floor_by_hand():
    # 0.9 (1, 0) + 0.1 (3/4, 1/4) = (0.975, 0.025)
    outputs, y = np.tile([1.0, 0.0], (1, 4, 1)), np.array([0, 0, 0, 1])
    pool = LogLinearPool(prior_weight=0.1).fit(outputs, y)
    np.testing.assert_allclose(pool.class_prior_, [0.75, 0.25])
    np.testing.assert_allclose(np.exp(pool._logits(outputs))[0, 0], [0.975, 0.025])


def test_decision_values_have_no_floor():
    decisions = np.array([[[-3.0, 3.0], [2.0, -2.0]]])
    pool = LogLinearPool(prior_weight=0.1).fit(decisions, np.array([1, 0]))
    np.testing.assert_array_equal(pool._logits(decisions), decisions)


@pytest.mark.parametrize("seed", range(3))
def test_importances_and_biases_are_the_slow_twins(seed):
    outputs, y = some_rows(seed)
    weights = np.random.default_rng(seed).uniform(0.5, 2, len(y))
    pool = LogLinearPool(weight_penalty=2.0, bias_penalty=3.0).fit(
        outputs, y, sample_weight=weights
    )
    scores = pool.calibrated_log_proba(outputs)
    importances, biases = literal.importances_and_biases(scores, y, weights, 2.0, 3.0)
    np.testing.assert_allclose(pool.weights_, importances, atol=1e-3)
    np.testing.assert_allclose(pool.biases_, biases, atol=1e-3)
    expected = literal.probabilities(scores, pool.weights_, pool.biases_)
    np.testing.assert_allclose(pool.combine(outputs), expected)


def test_the_temperature_is_optimal_for_cross_fitted_pools():
    outputs, y = some_rows(1)
    pool = LogLinearPool(weight_penalty=2.0, bias_penalty=3.0, temperature_scaling=True).fit(
        outputs, y
    )
    scores, unseen = pool.calibrated_log_proba(outputs), []
    for train, test in deal_folds(y, 5, np.random.default_rng(0)):
        ones = np.ones(len(train))
        fitted = literal.importances_and_biases(scores[:, train], y[train], ones, 2.0, 3.0)
        unseen.append((scores[:, test], y[test], fitted))

    def loss(temperature):
        return sum(
            literal.log_loss(
                literal.probabilities(own, *fitted, temperature), labels, np.ones(len(labels))
            )
            for own, labels, fitted in unseen
        )

    best = pool.temperature_
    assert loss(best) <= min(loss(0.9 * best), loss(1.1 * best))
    expected = literal.probabilities(scores, pool.weights_, pool.biases_, best)
    np.testing.assert_allclose(pool.combine(outputs), expected)


def test_overfitted_importances_raise_the_temperature():
    outputs, y = some_rows(2, n_samples=30)
    assert (
        LogLinearPool(weight_penalty=0.01, temperature_scaling=True).fit(outputs, y).temperature_
        > 1.5
    )


def test_without_options_there_are_none():
    outputs, y = some_rows(3)
    pool = LogLinearPool().fit(outputs, y)
    assert pool.temperature_ == 1.0
    assert pool.biases_.tolist() == [0, 0, 0]


@settings(max_examples=20)
@given(st.integers(0, 200))
def test_biases_add_up_to_zero_and_swap_with_the_classes(seed):
    outputs, y = some_rows(seed, n_samples=60)
    options = {"bias_penalty": 5.0, "temperature_scaling": True, "prior_weight": 1e-3}
    pool = LogLinearPool(**options).fit(outputs, y)
    assert abs(pool.biases_.sum()) < 1e-6
    turned = LogLinearPool(**options).fit(outputs[:, :, ::-1], 2 - y)
    np.testing.assert_allclose(turned.biases_[::-1], pool.biases_, atol=1e-3)
    fused = pool.combine(outputs)
    np.testing.assert_allclose(fused.sum(axis=1), 1)
    assert np.isfinite(fused).all()


def test_members_of_importance_zero_have_no_effect():
    # a member with twice the other's noise would be good to subtract, which is not allowed
    rng = np.random.default_rng(8)
    y, noise = rng.integers(0, 2, 300), rng.normal(size=300)
    outputs = np.stack([np.stack([-d, d], axis=1) for d in (y - 0.5 + 2 * noise, y - 0.5 + noise)])
    pool = LogLinearPool(weight_penalty=0.1).fit(outputs, y)
    assert pool.weights_[0] == 0
    kept = np.flatnonzero(pool.weights_)
    np.testing.assert_array_equal(pool.subset(kept).combine(outputs[kept]), pool.combine(outputs))


def made(seed, n_members=3, n_rows=120):
    """Members that know y with more and more noise, all saying a variance of one."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n_rows)
    noise = rng.normal(size=(n_members, n_rows)) * np.geomspace(0.2, 2.0, n_members)[:, None]
    return np.stack([y + noise, np.ones((n_members, n_rows))], axis=2), y


def test_the_pool_of_normals_weights_the_best_member_and_gives_its_variance():
    outputs, y = made(0, n_rows=2000)
    pool = LogLinearPool().fit(outputs, y, numeric=True)
    mean, variance = pool.combine(outputs).T
    assert pool.member_weights(3)[0] > 0.8
    assert np.mean((mean - y) ** 2) < 1.1 * np.mean((outputs[0, :, 0] - y) ** 2)
    assert np.mean((mean - y) ** 2 / variance) == pytest.approx(1.0, abs=0.1)


def test_equal_members_are_one():
    outputs, y = made(1)
    twice = LogLinearPool(weight_penalty=1e6).fit(outputs[[0, 0]], y, numeric=True)
    once = LogLinearPool(weight_penalty=1e6).fit(outputs[:1], y, numeric=True)
    np.testing.assert_allclose(twice.weights_, 0.5, atol=1e-3)
    np.testing.assert_allclose(twice.combine(outputs[[0, 0]]), once.combine(outputs[:1]), rtol=5e-3)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_importances_are_never_negative_and_no_worse_than_equal_ones_of_normals(seed):
    outputs, y = made(seed)
    pool = LogLinearPool(weight_penalty=1.0).fit(outputs, y, numeric=True)
    members = calibrated(as_normals(outputs), pool.variance_factors_, FusionContext())
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
    pools = [
        LogLinearPool(by_stratum=each).fit(outputs, y, rows, numeric=True) for each in (False, True)
    ]
    assert [sorted(pool.needs) for pool in pools] == [[], ["strata"]]
    plain, by_stratum = (pool.combine(outputs, rows) for pool in pools)
    assert normal_log_density(as_normals(by_stratum), y).mean() > (
        normal_log_density(as_normals(plain), y).mean() + 0.2
    )
    np.testing.assert_allclose(np.sqrt(by_stratum[:2, 1]), [0.5, 3.0], rtol=0.1)


def test_weights_count_as_copies():
    outputs, y = made(3)
    weights = np.random.default_rng(3).integers(1, 3, 120)
    copies = np.repeat(np.arange(120), weights)
    heavy = LogLinearPool().fit(outputs, y, numeric=True, sample_weight=weights.astype(float))
    long = LogLinearPool().fit(outputs[:, copies], y[copies], numeric=True)
    np.testing.assert_allclose(heavy.combine(outputs), long.combine(outputs), rtol=1e-3)


def test_the_output_is_the_product_of_calibrated_members():
    outputs, y = made(4)
    pool = LogLinearPool().fit(outputs, y, numeric=True)
    members = calibrated(as_normals(outputs), pool.variance_factors_, FusionContext())
    np.testing.assert_allclose(
        pool.combine(outputs), np.column_stack(normal_product(members, pool.weights_))
    )


def test_members_of_importance_zero_have_no_effect_on_normals():
    rng = np.random.default_rng(0)
    y, error = rng.normal(size=(2, 600))
    means = np.stack([y + error, y + 3 * error, y + 2 * rng.normal(size=600)])
    outputs = np.stack([means, np.ones((3, 600))], axis=2)
    pool = LogLinearPool().fit(outputs, y, numeric=True)
    kept = np.flatnonzero(pool.weights_)
    assert kept.tolist() == [0, 2]
    np.testing.assert_allclose(pool.subset(kept).combine(outputs[kept]), pool.combine(outputs))
    assert len(pool.weights_) == 3
