import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.svm import SVC

from ensemblage.fusion import Stacking, as_columns, stack_features
from made_outputs import random_outputs


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


def test_linear_stacking_tells_the_share_of_each_member():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    knows = np.where(y[:, None] == [0, 1], 0.8, 0.2)
    fusion = Stacking().fit(np.stack([rng.dirichlet([1, 1], 200), knows]), y)
    shares = fusion.importance(2)
    assert shares[1] > shares[0]
    assert shares.sum() == pytest.approx(1)
    rows = np.stack([knows, knows])[:, :5]
    np.testing.assert_allclose(fusion.row_weights(rows), np.tile(shares, (5, 1)))
