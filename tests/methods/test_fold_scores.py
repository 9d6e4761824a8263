"""Every measure of a fold, beside scikit-learn's and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, f1_score, roc_auc_score
from sklearn.metrics import log_loss as sklearn_log_loss
from sklearn.svm import SVC

from ensemblage.methods._fold_scores import (
    ClassScores,
    auc,
    balanced_accuracy,
    log_loss,
    macro_f1,
    score_predictions,
)

LETTERS = np.array(list("abc"))


def test_measures_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, guess = rng.choice(LETTERS, 50), rng.choice(LETTERS, 50)
    shares = rng.dirichlet([1, 1, 1], 50)
    assert balanced_accuracy(y, guess) == pytest.approx(balanced_accuracy_score(y, guess))
    assert macro_f1(y, guess) == pytest.approx(f1_score(y, guess, average="macro"))
    given_scores = ClassScores(shares, LETTERS)
    assert log_loss(y, given_scores) == pytest.approx(
        sklearn_log_loss(y, shares, labels=list("abc"))
    )
    assert auc(y, given_scores) == pytest.approx(roc_auc_score(y, shares, multi_class="ovr"))


def test_the_area_by_hand():
    # of the pairs (row of b, row of a): 2 > 1, 2 > 0, and a tie
    y = np.array(["a", "a", "b", "a"])
    scores = np.array([1.0, 0.0, 2.0, 2.0])
    assert auc(y, ClassScores(np.column_stack([-scores, scores]), LETTERS[:2])) == 2.5 / 3


def test_a_class_never_seen_costs_a_finite_loss_and_half_an_area():
    y, one = np.array(["a", "z"]), ClassScores(np.array([[1.0], [1.0]]), np.array(["a"]))
    assert log_loss(y, one) == pytest.approx(-np.log(1e-15) / 2)
    assert auc(y, one) == 0.5
    assert auc(np.array(["a", "a"]), one) is None


@given(st.lists(st.sampled_from("ab"), min_size=2, max_size=20), st.integers(0, 9))
def test_the_area_does_not_depend_on_the_scale(labels, seed):
    y, scores = np.array(labels), np.random.default_rng(seed).normal(size=(len(labels), 2))
    usual = auc(y, ClassScores(scores, LETTERS[:2]))
    assert usual == auc(y, ClassScores(np.exp(scores), LETTERS[:2]))
    assert usual is None or 0 <= usual <= 1


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_model_without_probabilities_has_an_area(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = LETTERS[np.digitize(X[:, 0], [0.0, 0.7][: n_classes - 1])]
    scores = score_predictions(SVC().fit(X, y), X, y)
    assert scores.log_loss is None
    assert scores.auc > 0.95
