import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.fusion import FusionContext, Mean, Product, Vote, mean_rule, product_rule, vote_rule
from made_outputs import random_outputs


def test_mean_by_hand():
    outputs = np.array([[[0.8, 0.2]], [[0.4, 0.6]]])
    np.testing.assert_allclose(mean_rule(outputs), [[0.6, 0.4]])
    np.testing.assert_allclose(mean_rule(outputs, weights=[3, 1]), [[0.7, 0.3]])


def test_vote_by_hand_and_ties_go_to_the_first_class():
    outputs = np.array([[[0.8, 0.2]], [[0.4, 0.6]], [[0.5, 0.5]]])
    np.testing.assert_allclose(vote_rule(outputs), [[2 / 3, 1 / 3]])
    np.testing.assert_allclose(vote_rule(outputs, weights=[1, 4, 1]), [[1 / 3, 2 / 3]])


@given(st.integers(0, 1000))
@pytest.mark.parametrize("rule", [mean_rule, vote_rule])
def test_probabilities_in_probabilities_out_in_any_order_of_members(rule, seed):
    outputs = random_outputs(seed)
    fused = rule(outputs)
    np.testing.assert_allclose(fused.sum(axis=1), 1)
    np.testing.assert_allclose(rule(outputs[::-1]), fused)


def test_fusions_are_their_rules():
    outputs = random_outputs(0)
    np.testing.assert_array_equal(Mean().fit(outputs, None).combine(outputs), mean_rule(outputs))
    np.testing.assert_array_equal(Vote().fit(outputs, None).combine(outputs), vote_rule(outputs))
    assert Vote().returns_probabilities(False)
    assert not Mean().returns_probabilities(False)


def test_every_member_has_the_same_share_of_every_row():
    outputs = random_outputs(0, n_members=4)
    np.testing.assert_allclose(Mean().member_weights(4), 0.25)
    np.testing.assert_allclose(Vote().row_weights(outputs), np.full((30, 4), 0.25))


def outputs(seed, n_members=4, n_rows=6, n_classes=3):
    return np.random.default_rng(seed).dirichlet(np.ones(n_classes), (n_members, n_rows))


def test_a_product_by_hand():
    # sqrt(.8 * .2) = .4 for both classes
    np.testing.assert_allclose(product_rule([[[0.8, 0.2]], [[0.2, 0.8]]]), [[0.5, 0.5]])
    np.testing.assert_allclose(
        product_rule([[[0.8, 0.2]], [[0.5, 0.5]]], weights=[1, 1]), [[0.8, 0.2]]
    )


@given(st.integers(0, 2**32 - 1))
def test_equals_eq_10_and_adds_up_to_one(seed):
    members = outputs(seed)
    weights = np.random.default_rng(seed).uniform(0, 2, (6, 4))
    fused = product_rule(members, weights)
    literal = np.prod(members ** weights.T[:, :, None], axis=0)
    np.testing.assert_allclose(fused, literal / literal.sum(axis=1, keepdims=True), rtol=1e-9)


def test_one_hot_importance_picks_a_member():
    members = outputs(0)
    np.testing.assert_allclose(product_rule(members, [0, 0, 1, 0]), members[2])


def test_thousand_members_and_zeros_stay_finite():
    members = np.tile([[1.0, 0.0]], (1000, 1, 1))
    np.testing.assert_allclose(product_rule(members, np.ones(1000)), [[1, 0]])
    contrary = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    np.testing.assert_allclose(product_rule(contrary), [[0.5, 0.5]])


def test_no_importance_at_all_leaves_the_classes_equal():
    np.testing.assert_allclose(product_rule(outputs(0), np.zeros(4)), 1 / 3)


@pytest.mark.parametrize(
    ("weights", "message"), [([1, 2], "one per member"), ([1, 1, 1, -1], "non-negative")]
)
def test_wrong_importances(weights, message):
    with pytest.raises(ValueError, match=message):
        product_rule(outputs(0), weights)


def test_affinities_are_log_importances_per_row():
    members, weights = outputs(1), np.random.default_rng(1).uniform(0.1, 1, (6, 4))
    near = FusionContext(affinity=np.log(weights))
    fused = Product().combine(members, near)
    np.testing.assert_allclose(fused, product_rule(members, weights / 4))
    doubled = Product([2.0] * 4).combine(members, near)
    np.testing.assert_allclose(doubled, product_rule(members, 2 * weights))
    shares = weights / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(Product().row_weights(members, near), shares)


def test_shares_of_the_members_are_their_importances():
    np.testing.assert_allclose(Product([3, 1]).member_weights(2), [0.75, 0.25])
    np.testing.assert_allclose(Product().row_weights(outputs(0)), np.full((6, 4), 0.25))
