"""Measures of predictions."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score
from sklearn.metrics import log_loss as sklearn_log_loss

from ensemblage.runs._scoring import balanced_accuracy, log_loss


def test_measures_equal_scikit_learns():
    rng = np.random.default_rng(0)
    y, guess = rng.choice(list("abc"), 50), rng.choice(list("abc"), 50)
    shares = rng.dirichlet([1, 1, 1], 50)
    assert balanced_accuracy(y, guess) == pytest.approx(balanced_accuracy_score(y, guess))
    loss = log_loss(y, shares, np.array(list("abc")))
    assert loss == pytest.approx(sklearn_log_loss(y, shares, labels=list("abc")))


def test_a_class_never_seen_costs_a_finite_loss():
    loss = log_loss(np.array(["a", "z"]), np.array([[1.0], [1.0]]), np.array(["a"]))
    assert loss == pytest.approx(-np.log(1e-15) / 2)
