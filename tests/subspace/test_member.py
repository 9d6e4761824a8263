import numpy as np
import pytest
from sklearn.datasets import load_wine

from ensemblage.subspace._member import (
    Member,
    as_features,
    as_rows,
    member_logits,
    member_outputs,
    standardise,
)


def test_standardised_by_hand():
    X = np.array([[1.0, 5.0], [3.0, 5.0]])
    np.testing.assert_array_equal(as_features(X, standardise(X)), [[-1, 1], [0, 0]])
    # three rows at 1 and one at 3: mean 1.5, variance 0.75
    weighted = standardise(X, np.array([3.0, 1.0]))
    np.testing.assert_allclose(weighted.mean, [1.5, 5.0])
    np.testing.assert_allclose(weighted.scale, [np.sqrt(0.75), 1.0])


def test_parts_of_weighted_rows_add_up():
    X, y = load_wine(return_X_y=True)
    rows = as_rows(X, y, 3, standardise(X), np.random.default_rng(0).uniform(1, 2, len(y)))
    train, rest = rows.take(np.arange(100)), rows.take(np.arange(100, len(y)))
    assert train.total + rest.total == pytest.approx(rows.total)
    assert train.weights.sum() == pytest.approx(1)


def test_masked_features_are_not_seen():
    coef = np.array([[1.0, 9.0], [-1.0, 9.0]])
    member = Member(coef, np.array([0.0, 1.0]), np.array([True, False]), np.empty(0), 0)
    features = np.array([[2.0], [7.0]])
    np.testing.assert_array_equal(member_logits(features, member), [[2.0], [-1.0]])
    (outputs,) = member_outputs(features, [member])
    np.testing.assert_allclose(outputs, [[1 / (1 + np.exp(-3)), 1 / (1 + np.exp(3))]])
