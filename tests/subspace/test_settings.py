import numpy as np
import pytest
from sklearn.datasets import load_wine

from ensemblage.subspace._member import as_rows, standardise
from ensemblage.subspace._settings import Settings, price_of_a_feature, resolve, step_length

SETTINGS = Settings("lbfgs", 0.1, "auto", "auto", C=2.0, patience=10, tol=1e-3, max_iter=50)


def test_step_length_is_four_over_the_largest_eigenvalue():
    X, y = load_wine(return_X_y=True)
    rows = as_rows(X, y, 3, standardise(X))
    largest = np.linalg.eigvalsh(rows.features @ rows.features.T / len(X))[-1]
    assert step_length(rows) == pytest.approx(4 / largest)


def test_step_length_of_constant_columns_is_one():
    X = np.ones((4, 2))
    assert step_length(as_rows(X, np.array([0, 1, 0, 1]), 2, standardise(X))) == 1


def test_automatic_penalty_is_four_rows():
    assert price_of_a_feature("auto", 200.0) == pytest.approx(0.02)
    assert price_of_a_feature(0.5, 200.0) == 0.5


def test_a_penalty_and_no_step_of_the_users_for_lbfgs():
    X, y = load_wine(return_X_y=True)
    rows = as_rows(X, y, 3, standardise(X))
    walk = resolve(SETTINGS._replace(learning_rate=7.0), rows)
    assert walk.rate == step_length(rows)
    assert walk.decay == pytest.approx(1 / (2 * 178))
    assert walk.price == pytest.approx(4 / 178)


def test_no_penalty_but_the_users_step_for_algorithm_1():
    X, y = load_wine(return_X_y=True)
    walk = resolve(
        SETTINGS._replace(solver="paper", learning_rate=7.0), as_rows(X, y, 3, standardise(X))
    )
    assert (walk.rate, walk.decay) == (7.0, 0.0)
