import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from ensemblage.persistence import load, save
from ensemblage.subspace import JointSubspaceRegressor
from ensemblage.subspace._member import as_rows, standardise
from ensemblage.subspace._objectives import NUMBERS
from ensemblage.subspace._sequence import fit_sequence
from ensemblage.subspace._settings import Settings
from reference.joint_subspace import algorithm_1_for_numbers

QUICK = {"patience": 20, "max_iter": 60, "random_state": 0}


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


def sparse_numbers(n_rows=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 12))
    return X, 50 + 10 * X[:, 2] - 6 * X[:, 5] + 5 * rng.normal(size=n_rows)


def test_paper_solver_is_algorithm_1_with_squared_loss(diabetes):
    X, y = diabetes[0][:80], diabetes[1][:80]
    y = (y - y.mean()) / y.std()
    rows = as_rows(X, y, 1, standardise(X))._replace(objective=NUMBERS)
    settings = Settings("paper", 0.1, "auto", 0.3, 1.0, 50, 1e-3, 1000)
    ours = list(fit_sequence(rows, [3, 4, 5], settings))
    literal = algorithm_1_for_numbers(rows.features.T, y, [3, 4, 5], 0.1, 0.3, 1e-3)
    assert min(member.n_iter for member in ours) > 3
    for member, (theta, bias, mask) in zip(ours, literal, strict=True):
        np.testing.assert_array_equal(member.support, mask)
        np.testing.assert_allclose(member.coef[0], theta, atol=1e-10)
        np.testing.assert_allclose(member.intercept, bias, atol=1e-10)


def test_one_member_without_masks_is_a_ridge_regression(diabetes):
    X, y = diabetes
    ours = JointSubspaceRegressor(1, flip_probability=0.0, C=0.5, tol=1e-9).fit(X, y)
    Z = StandardScaler().fit_transform(X)
    peer = Ridge(alpha=2.0).fit(Z, y)
    np.testing.assert_allclose(ours.predict(X), peer.predict(Z), atol=1e-8)


def test_keeps_what_matters():
    X, y = sparse_numbers()
    ensemble = JointSubspaceRegressor(5, flip_probability=0.1, random_state=0).fit(X, y)
    assert ensemble.supports_[0, [2, 5]].all()
    assert ensemble.supports_[0].sum() < 8
    assert ensemble.score(X, y) > 0.8


def test_shapes(diabetes):
    ensemble = JointSubspaceRegressor(4, **QUICK).fit(*diabetes)
    assert ensemble.coefs_.shape == ensemble.supports_.shape == (4, 10)
    assert ensemble.intercepts_.shape == ensemble.variances_.shape == (4,)
    assert ensemble.member_outputs(diabetes[0]).shape == (4, 442, 2)
    assert len(ensemble.score_path_) == 4


def test_importance_of_one_member_alone(diabetes):
    X, y = diabetes
    ensemble = JointSubspaceRegressor(3, importance=[0, 1, 0], **QUICK).fit(X, y)
    mean, deviation = ensemble.predict(X, return_std=True)
    np.testing.assert_allclose(mean, ensemble.member_outputs(X)[1, :, 0])
    np.testing.assert_allclose(deviation, np.sqrt(ensemble.variances_[1]))


def test_deviation_is_that_of_new_rows():
    X, y = sparse_numbers(400)
    X_new, y_new = sparse_numbers(2000, seed=1)
    ensemble = JointSubspaceRegressor(5, **QUICK).fit(X, y)
    mean, deviation = ensemble.predict(X_new, return_std=True)
    inside = np.abs(y_new - mean) < 1.96 * deviation
    assert 0.9 < inside.mean() < 0.99


def test_numbers_in_another_unit(diabetes):
    X, y = diabetes
    one = JointSubspaceRegressor(3, **QUICK).fit(X, y)
    other = JointSubspaceRegressor(3, **QUICK).fit(X, 1e4 * y - 7e5)
    np.testing.assert_array_equal(one.supports_, other.supports_)
    np.testing.assert_allclose(1e4 * one.predict(X) - 7e5, other.predict(X), rtol=1e-5)
    np.testing.assert_allclose(1e8 * one.variances_, other.variances_, rtol=1e-5)


def test_row_weights_and_copies_are_one_thing():
    X, y = sparse_numbers(60)
    counts = np.random.default_rng(0).integers(1, 4, len(y))
    ensemble = JointSubspaceRegressor(3, **QUICK)
    weighed = clone(ensemble).fit(X, y, sample_weight=counts)
    copied = clone(ensemble).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_array_equal(weighed.supports_, copied.supports_)
    np.testing.assert_allclose(weighed.coefs_, copied.coefs_, atol=1e-8)
    np.testing.assert_allclose(weighed.variances_, copied.variances_, atol=1e-8)


def test_same_bits_for_any_number_of_jobs(diabetes):
    one, two = (JointSubspaceRegressor(2, n_jobs=n, **QUICK).fit(*diabetes) for n in (1, 2))
    np.testing.assert_array_equal(one.variances_, two.variances_)
    np.testing.assert_array_equal(one.predict(diabetes[0]), two.predict(diabetes[0]))


@pytest.mark.parametrize("y", [np.full(20, 3.0), 2.0 * np.arange(20)])
def test_constant_and_perfect_numbers(y):
    X = np.column_stack([np.arange(20.0), np.ones(20)])
    ensemble = JointSubspaceRegressor(3, C=1e6, **QUICK).fit(X, y)
    mean, deviation = ensemble.predict(X, return_std=True)
    np.testing.assert_allclose(mean, y, atol=0.1)
    assert np.isfinite(deviation).all()
    assert (deviation > 0).all()


@pytest.mark.parametrize("unit", [1e-15, 1e15])
def test_small_and_large_units(diabetes, unit):
    X, y = diabetes
    one, other = (JointSubspaceRegressor(2, **QUICK).fit(X, scale * y) for scale in (1.0, unit))
    np.testing.assert_allclose(other.predict(X) / unit, one.predict(X), rtol=1e-6)


def test_numbers_that_cannot_be_squared_are_refused(diabetes):
    X, y = diabetes
    with pytest.raises(ValueError, match=r"y holds numbers of up to 3.46e\+202"):
        JointSubspaceRegressor(2, **QUICK).fit(X, 1e200 * y)


def test_a_quadratic_basis_finds_a_product():
    rng = np.random.default_rng(0)
    X, X_new = rng.normal(size=(2, 300, 6))
    y, y_new = X[:, 0] * X[:, 1], X_new[:, 0] * X_new[:, 1]
    line, curve = (
        JointSubspaceRegressor(2, basis=basis, **QUICK).fit(X, y).score(X_new, y_new)
        for basis in ("linear", "quadratic")
    )
    assert line < 0.1
    assert curve > 0.95


def test_single_precision(diabetes):
    X = diabetes[0].astype(np.float32)
    ensemble = JointSubspaceRegressor(2, **QUICK).fit(X, diabetes[1])
    assert ensemble.coefs_.dtype == np.float32
    assert ensemble.score(X, diabetes[1]) > 0.4


def test_words_and_gaps():
    X, y = sparse_numbers()
    frame = pd.DataFrame(X[:, :4], columns=list("abcd"))
    frame["word"] = np.where(X[:, 5] > 0, "yes", "no")
    frame.loc[3, "a"] = np.nan
    assert JointSubspaceRegressor(2, **QUICK).fit(frame, y).score(frame, y) > 0.5


@pytest.mark.parametrize("options", [{}, {"basis": "spline"}, {"importance": [1.0, 2.0]}])
def test_files(options, tmp_path):
    X, y = sparse_numbers()
    ensemble = JointSubspaceRegressor(2, **options, **QUICK).fit(X, y)
    save(ensemble, tmp_path / "m.skops", columns=list("abcdefghijkl"), kinds=["number"] * 12)
    again = load(tmp_path / "m.skops").model
    np.testing.assert_array_equal(again.predict(X), ensemble.predict(X))


def test_forged_variances_are_refused(tmp_path):
    ensemble = JointSubspaceRegressor(2, **QUICK).fit(*sparse_numbers())
    ensemble.variances_ = np.zeros(2)
    save(ensemble, tmp_path / "m.skops", columns=list("abcdefghijkl"), kinds=["number"] * 12)
    with pytest.raises(ValueError, match="variances_ holds 0, below"):
        load(tmp_path / "m.skops")


@pytest.mark.parametrize(("options", "message"), [
    ({"importance": [1, 2]}, r"importance has shape \(2,\); expected \(3,\), one per member"),
    ({"importance": [0, 0, 0]}, "at least one above"),
    ({"importance": [1, -1, 1]}, "none below zero"),
    ({"n_estimators": 0}, "n_estimators"),
    ({"basis": "cubic"}, "basis"),
])  # fmt: skip
def test_wrong_parameters(diabetes, options, message):
    with pytest.raises(ValueError, match=message):
        JointSubspaceRegressor(**{"n_estimators": 3, **options}).fit(*diabetes)


def test_generalises_like_a_linear_regression(diabetes):
    ours = cross_val_score(JointSubspaceRegressor(5, **QUICK), *diabetes, cv=3).mean()
    assert ours > cross_val_score(LinearRegression(), *diabetes, cv=3).mean() - 0.03


def test_words_are_refused_by_name():
    words = np.array(["a", "b"] * 20)
    with pytest.raises(ValueError, match="y holds 'a', which is no number"):
        JointSubspaceRegressor(2).fit(np.arange(80.0).reshape(40, 2), words)
