import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemblage.strata import ScaledLogisticRegression, ScaledRidge
from ensemblage.strata._linear_members import ALPHAS, solve_logistic


def rows_of(seed, n_classes, weighted=False):
    rng = np.random.default_rng(seed)
    codes = np.arange(40) % n_classes
    X = rng.normal(size=(40, 4)) + codes[:, None] * [1.0, 0.0, -0.5, 0.2]
    return X, codes, rng.random(40) if weighted else None


def check_same_bits(rows, **settings):
    theirs = LogisticRegression(**settings).fit(*rows)
    coef, intercept, n_iter = solve_logistic(*rows, **settings)
    np.testing.assert_array_equal(coef, theirs.coef_)
    np.testing.assert_array_equal(intercept, theirs.intercept_)
    assert n_iter == theirs.n_iter_[0]


def test_the_solver_by_hand():
    # w minimises 4 log(1 + exp(-w)) + w^2 / 2, without an intercept by symmetry
    rows = np.array([[-1.0], [-1.0], [1.0], [1.0]]), np.array([0, 0, 1, 1])
    coef, intercept, _ = solve_logistic(*rows, tol=1e-10)
    assert coef[0, 0] == pytest.approx(4 / (1 + np.exp(coef[0, 0])), abs=1e-7)
    assert intercept[0] == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_as_scikit_learn_to_the_bit(n_classes, fit_intercept, weighted):
    rows = rows_of(0, n_classes, weighted)
    check_same_bits(rows, fit_intercept=fit_intercept, C=0.3, tol=1e-6)


@given(st.integers(0, 1000), st.sampled_from([2, 3]), st.sampled_from([0.01, 1.0, 100.0]))
def test_as_scikit_learn_on_any_rows(seed, n_classes, C):
    check_same_bits(rows_of(seed, n_classes), C=C)


def test_too_few_iterations_warn():
    with pytest.warns(ConvergenceWarning, match=r"after 2 iter.*Increase `max_iter` \(now 2\)"):
        solve_logistic(*rows_of(0, 2), max_iter=2)


EXACT = {"tol": 1e-10, "max_iter": 10_000}


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


def test_coefficients_are_in_the_columns_units():
    # standardised, the column is -1 and 1: w minimises 4 log(1 + exp(-w)) + w^2 / 2
    model = ScaledLogisticRegression(**EXACT).fit([[10.0], [10.0], [14.0], [14.0]], [0, 0, 1, 1])
    w = 2 * model.coef_[0, 0]
    assert w == pytest.approx(4 / (1 + np.exp(w)), abs=1e-8)
    assert model.intercept_[0] == pytest.approx(-12 * model.coef_[0, 0])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_predictions_equal_those_of_the_pipeline(wine, classes, fit_intercept):
    X, y = wine[0][wine[1] < classes], wine[1][wine[1] < classes]
    settings = {"fit_intercept": fit_intercept, "C": 0.3, **EXACT}
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(**settings)).fit(X, y)
    model = ScaledLogisticRegression(**settings).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), pipeline.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(model.coef_ * X.std(axis=0), pipeline[-1].coef_, atol=1e-8)


@given(st.integers(0, 1000))
def test_units_and_origin_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    other = X * 10.0 ** rng.integers(-6, 6, 3) + 10.0 ** rng.integers(-3, 3, 3)
    before = ScaledLogisticRegression(**EXACT).fit(X, y).predict_proba(X)
    after = ScaledLogisticRegression(**EXACT).fit(other, y).predict_proba(other)
    np.testing.assert_allclose(after, before, atol=1e-6)


def test_a_weight_of_two_is_a_row_twice(wine):
    X, y = wine
    weights = np.arange(len(y)) % 3
    weighted = ScaledLogisticRegression(**EXACT).fit(X, y, weights)
    repeated = ScaledLogisticRegression(**EXACT).fit(
        np.repeat(X, weights, 0), np.repeat(y, weights)
    )
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
def test_plain_rows_get_the_same_answers_as_checked_ones(wine, classes):
    X, y = wine[0][wine[1] < classes], wine[1][wine[1] < classes]
    model = ScaledLogisticRegression().fit(X, y)
    for method in (model.decision_function, model.predict_proba):
        np.testing.assert_allclose(method(X), method(X.tolist()), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.predict(X.tolist()))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[np.nan] * 13], "Input X contains NaN"),
        ([[np.inf] * 13], "Input X contains infinity"),
        ([[0.0] * 12], "X has 12 features, but ScaledLogisticRegression is expecting 13"),
        ([0.0] * 13, "Expected 2D array, got 1D array"),
        (np.empty((0, 13)), "Found array with 0 sample"),
    ],
)
def test_bad_rows_are_refused(wine, rows, message):
    model = ScaledLogisticRegression().fit(*wine)
    with pytest.raises(ValueError, match=message):
        model.predict_proba(np.array(rows))


def test_constant_columns_and_columns_far_from_zero():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    times = 1.7e9 + y * 2 + rng.normal(size=200)
    X = np.column_stack([np.full(200, 0.1), times, np.full(200, 1e12)])
    model = ScaledLogisticRegression().fit(X, y)
    assert model.score(X, y) > 0.8
    assert np.abs(model.coef_[0, [0, 2]]).max() < 1e-9
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_names_of_columns_are_kept(wine, frame):
    X = frame({"ash": wine[0][:, 2], "hue": wine[0][:, 10]})
    model = ScaledLogisticRegression().fit(X, wine[1])
    assert model.feature_names_in_.tolist() == ["ash", "hue"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X.rename({"hue": "colour"}) if frame is pl.DataFrame
                      else X.rename(columns={"hue": "colour"}))  # fmt: skip


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_plain_rows_are_learned_as_checked_ones_are(wine, classes, order, fit_intercept):
    keep = wine[1] < classes
    X, y = np.asarray(wine[0][keep], order=order), wine[1][keep] + 3
    short = ScaledLogisticRegression(fit_intercept=fit_intercept).fit(X, y)
    long = ScaledLogisticRegression(fit_intercept=fit_intercept).fit(X, y.tolist())
    assert vars(short).keys() == vars(long).keys()
    for name in ("coef_", "intercept_", "classes_", "n_iter_", "n_features_in_"):
        np.testing.assert_array_equal(getattr(short, name), getattr(long, name))


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"tol": -1.0}, "'tol'"), ({"max_iter": 0.5}, "'max_iter'"), ({"C": -1}, "'C'")],
)
def test_settings_are_checked_also_for_plain_rows(wine, settings, message):
    with pytest.raises(ValueError, match=message):
        ScaledLogisticRegression(**settings).fit(*wine)


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


def test_the_penalty_is_chosen_by_leave_one_out():
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
