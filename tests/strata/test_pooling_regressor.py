import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GroupKFold

from ensemblage.persistence import load, save
from ensemblage.strata import PartialPoolingRegressor


def made(spread, seed=0, n_rows=300, n_sources=5):
    rng = np.random.default_rng(seed)
    X, sites = rng.normal(size=(n_rows, 3)) * [1, 10, 0.1], np.arange(n_rows) % n_sources
    own = np.array([1.0, 0.1, 10.0]) * (
        1 + spread * np.random.default_rng(9).normal(size=(n_sources, 3))
    )
    y = 3.0 + sites + (X * own[sites]).sum(axis=1) + 0.5 * rng.normal(size=n_rows)
    return X, y, np.array(list("abcde"))[sites]


def fitted(spread, **options):
    X, y, sites = made(spread)
    return PartialPoolingRegressor(random_state=0, **options).fit(X, y, sources=sites)


def error(model, spread, told=True):
    X, y, sites = made(spread, seed=1)
    return np.mean((model.predict(X, sites if told else None) - y) ** 2)


@pytest.mark.parametrize("spread", [0.0, 0.3, 3.0])
def test_it_is_no_worse_than_one_model_for_all_and_one_per_source(spread):
    pooled = error(fitted(spread), spread)
    apart = error(fitted(spread, shared_penalty=np.inf, own_penalty=1e-6), spread)
    alike = error(fitted(spread, shared_penalty=1e-6, own_penalty=np.inf), spread)
    assert pooled < 1.03 * min(apart, alike)


def test_penalties_follow_how_much_sources_differ():
    assert fitted(0.0).own_penalty_ >= 30
    assert fitted(3.0).own_penalty_ <= 3


def test_without_penalties_on_deviations_each_source_has_its_own_regression():
    X, y, sites = made(1.0)
    model = fitted(1.0, shared_penalty=np.inf, own_penalty=1e-9)
    own = sites == "b"
    alone = LinearRegression().fit(X[own], y[own])
    np.testing.assert_allclose(model.coef_[1], alone.coef_, rtol=0.02)


def test_sources_that_differ_in_their_level_only():
    model = fitted(0.0, shared_penalty=1e-6, own_penalty=np.inf)
    assert (model.coef_ == model.common_coef_).all()
    assert (model.deviation_sd_ == 0).all()
    np.testing.assert_allclose(np.diff(model.intercept_), 1.0, atol=0.3)
    assert model.residual_sd_ == pytest.approx(0.5, rel=0.1)


def test_one_source_is_a_ridge_regression():
    X, y, _ = made(0.0)
    with pytest.warns(UserWarning, match="fitted without sources"):
        model = PartialPoolingRegressor(shared_penalty=5.0, own_penalty=np.inf).fit(X, y)
    scale = X.std(axis=0)
    twin = Ridge(alpha=5.0).fit((X - X.mean(axis=0)) / scale, y)
    np.testing.assert_allclose(model.coef_[0], twin.coef_ / scale, rtol=1e-6)


def test_unknown_sources_get_the_mean():
    model = fitted(1.0)
    X = np.ones((2, 3))
    new, none = model.predict(X, ["z", None]), model.predict(X)
    np.testing.assert_array_equal(new, none)
    np.testing.assert_allclose(model.common_coef_, model.coef_.mean(axis=0))


def test_true_deviations_are_named():
    X, y, sites = made(0.0)
    y = y + np.where(sites == "c", 2.0 * X[:, 0], 0.0)
    model = PartialPoolingRegressor(random_state=0).fit(X, y, sources=sites)
    found = model.deviations()
    assert (found[0].source, found[0].column, found[0].label) == ("c", "x0", None)
    assert found[0].low < found[0].value < found[0].high


def test_a_splitter_gets_the_sources():
    assert error(fitted(0.3, cv=GroupKFold(5)), 0.3, told=False) < 20


@pytest.mark.parametrize("bad", [np.full(300, 1.0), np.array(["a", "b"] * 150)])
def test_bad_targets_are_refused(bad):
    X, _, sites = made(0.0)
    with pytest.raises(ValueError, match=r"y varies from 1 to 1 only|which is no number"):
        PartialPoolingRegressor().fit(X, bad, sources=sites)


def test_saved_and_loaded(tmp_path):
    model = fitted(1.0)
    save(model, tmp_path / "model.skops")
    X, y, sites = made(1.0, seed=1)
    again = load(tmp_path / "model.skops").model
    np.testing.assert_array_equal(again.predict(X, sites), model.predict(X, sites))
    assert again.score(X, y, sources=sites) > 0.9
    model.coef_ = model.coef_[:2]
    save(model, tmp_path / "forged.skops")
    with pytest.raises(ValueError, match="forged or damaged"):
        load(tmp_path / "forged.skops")
