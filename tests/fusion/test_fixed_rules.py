import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.fusion import Mean, Vote, mean_rule, vote_rule
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
    assert Vote().gives_probabilities(False)
    assert not Mean().gives_probabilities(False)


def test_every_member_has_the_same_share_of_every_row():
    outputs = random_outputs(0, n_members=4)
    np.testing.assert_allclose(Mean().importance(4), 0.25)
    np.testing.assert_allclose(Vote().row_weights(outputs), np.full((30, 4), 0.25))
