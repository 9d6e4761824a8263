import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.svm import SVC

from ensemblage.fusion import (
    Fusion,
    Mean,
    Stacking,
    Vote,
    as_columns,
    mean_rule,
    stack_features,
    vote_rule,
)


def random_outputs(seed, n_members=3, n_samples=30, n_classes=3):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(n_classes), size=(n_members, n_samples))


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
    assert Vote().gives_probabilities(False)
    assert not Mean().gives_probabilities(False)


def test_stacked_features_keep_one_column_of_two():
    two = random_outputs(0, n_classes=2)
    np.testing.assert_array_equal(stack_features(two), two[:, :, 1].T)
    three = random_outputs(0)
    np.testing.assert_array_equal(stack_features(three)[:, 3:6], three[1])


def test_decision_values_of_two_classes_become_a_pair():
    np.testing.assert_array_equal(as_columns(np.array([2.0, -1.0])), [[-2, 2], [1, -1]])
    assert as_columns(np.ones((2, 3))).shape == (2, 3)


def test_stacking_finds_the_member_that_knows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    knows = np.where(y[:, None] == [0, 1], 0.8, 0.2)
    guesses = rng.dirichlet([1, 1], 200)
    fusion = Stacking().fit(np.stack([guesses, knows]), y)
    assert (fusion.combine(np.stack([guesses, knows])).argmax(axis=1) == y).all()
    assert fusion.gives_probabilities(False)


def test_stacking_without_probabilities_gives_decision_values():
    outputs, y = random_outputs(1, n_classes=2), np.arange(30) % 2
    fusion = Stacking(SVC()).fit(outputs, y, sample_weight=np.ones(30))
    scores = fusion.combine(outputs)
    np.testing.assert_allclose(scores[:, 0], -scores[:, 1])
    assert not fusion.gives_probabilities(True)


def test_row_weights_reach_the_final_estimator():
    outputs, y = random_outputs(1, n_classes=2), np.arange(30) % 2
    weights = np.where(y == 1, 3.0, 1.0)
    fusion = Stacking(DummyClassifier(strategy="prior")).fit(outputs, y, sample_weight=weights)
    np.testing.assert_allclose(fusion.combine(outputs)[0], [0.25, 0.75])


def test_the_contract_itself_fuses_nothing():
    with pytest.raises(NotImplementedError):
        Fusion().combine(random_outputs(0))
