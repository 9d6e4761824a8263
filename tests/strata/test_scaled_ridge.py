import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from ensemblage.strata import ScaledRidge
from ensemblage.strata._scaled_ridge import ALPHAS


def made(seed=0, n_rows=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 5.0, 100.0, 0.0]
    return X, X @ [1.0, 0.2, 3.0, 0.0] + rng.normal(size=n_rows)


@pytest.mark.parametrize("alpha", [0.1, 10.0])
def test_it_is_ridge_regression_on_standardised_columns(alpha):
    X, y = made()
    scaler = StandardScaler().fit(X)
    twin = Ridge(alpha=alpha).fit(scaler.transform(X), y)
    model = ScaledRidge(alpha).fit(X, y)
    np.testing.assert_allclose(model.predict(X), twin.predict(scaler.transform(X)))
    np.testing.assert_allclose(model.coef_, twin.coef_ / scaler.scale_)


def test_the_penalty_is_chosen_by_rows_left_out_one_at_a_time():
    X, y = made(1, n_rows=12)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    errors = []
    for alpha in ALPHAS:
        # the slow way: the columns stay as they are standardised on all rows
        left = []
        for m in range(12):
            kept = np.arange(12) != m
            rows = np.column_stack([np.ones(11), Z[kept]])
            ridge = np.diag([0.0] + [alpha] * 4)
            coef = np.linalg.solve(rows.T @ rows + ridge, rows.T @ y[kept])
            left.append(y[m] - coef @ [1.0, *Z[m]])
        errors.append(np.mean(np.square(left)))
    assert ScaledRidge().fit(X, y).alpha_ == ALPHAS[np.argmin(errors)]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_units_of_the_columns_change_no_prediction(seed):
    X, y = made(seed)
    units = np.random.default_rng(seed).uniform(0.01, 100.0, 4)
    plain, other = ScaledRidge().fit(X, y), ScaledRidge().fit(X * units, y)
    np.testing.assert_allclose(plain.predict(X), other.predict(X * units), rtol=1e-6, atol=1e-6)


def test_a_frame_gives_the_bits_of_an_array():
    X, y = made()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = ScaledRidge().fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(model.predict(frame), ScaledRidge().fit(X, y).predict(X))


def test_weights_count_as_copies_and_constant_columns_are_harmless():
    X, y = made()
    X[:, 3] = 7.0
    weights = np.arange(40) % 3
    copies = np.repeat(np.arange(40), weights)
    heavy = ScaledRidge().fit(X, y, sample_weight=weights)
    long = ScaledRidge().fit(X[copies], y[copies])
    assert heavy.alpha_ == long.alpha_
    np.testing.assert_allclose(heavy.coef_, long.coef_, atol=1e-8)
    assert heavy.coef_[3] == 0
