import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ensemblage.fusion import Mean
from ensemblage.persistence import load, save
from ensemblage.pool import EnsemblageClassifier
from ensemblage.pool._boosting import FIVE
from pool.sourced import SITES, X, Y

SMALL = EnsemblageClassifier(["logistic"], cv=2, random_state=0)
FRAME = pd.DataFrame(X, columns=["x", "y", "z"]).assign(site=SITES)


@pytest.fixture(scope="module")
def model():
    return clone(SMALL).fit(X, Y, sources=SITES)


def test_each_row_is_answered_by_what_is_known_of_it(model):
    sources = SITES.astype(object).copy()
    sources[:10], sources[10:20] = "new", None
    mixed = model.predict_proba(X, sources=sources)
    np.testing.assert_array_equal(mixed[:20], model.predict_proba(X[:20]))
    np.testing.assert_array_equal(mixed[20:], model.predict_proba(X[20:], sources=SITES[20:]))
    np.testing.assert_allclose(mixed.sum(axis=1), 1)
    assert model.score(X, Y, sources=SITES) > model.score(X, Y) + 0.05
    winners = model.classes_[mixed.argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(X, sources=sources), winners)


def test_lists_are_taken_as_well(model):
    as_list = model.predict_proba(X[:5].tolist(), sources=SITES[:5].tolist())
    np.testing.assert_array_equal(as_list, model.predict_proba(X[:5], sources=SITES[:5]))


def test_a_fit_without_sources_has_no_other_pool(model):
    plain = clone(SMALL).fit(X, Y)
    with pytest.raises(ValueError, match=r"fitted without: pass fit\(\.\.\., sources=\.\.\.\)"):
        plain.predict_proba(X, sources=SITES)
    again = clone(SMALL).fit(X, Y, sources=SITES).fit(X, Y)
    assert not hasattr(again, "known_sources_")
    np.testing.assert_array_equal(again.predict_proba(X), plain.predict_proba(X))


def test_the_column_of_a_frame_tells_the_source(model):
    by_name = clone(SMALL).fit(FRAME, Y, sources="site")
    assert by_name.feature_names_in_.tolist() == ["x", "y", "z"]
    expected = model.predict_proba(X, sources=SITES)
    np.testing.assert_array_equal(by_name.predict_proba(FRAME), expected)
    alone = FRAME.drop(columns="site")
    np.testing.assert_array_equal(by_name.predict_proba(alone, sources=SITES), expected)
    np.testing.assert_array_equal(by_name.predict_proba(alone), model.predict_proba(X))
    assert by_name.explain_row(FRAME[:1]).source == SITES[0]
    assert by_name.predict_set(FRAME).shape == (240, 2)
    assert by_name.distill(FRAME).model.n_features_in_ == 3


def test_rows_whose_source_is_missing_are_learned_by_the_other_pool(model):
    sources = SITES.astype(object).copy()
    sources[::4] = None
    gaps = clone(SMALL).fit(X, Y, sources=sources)
    assert len(gaps.known_sources_.pool.held_out.y) == 180
    assert len(gaps.held_out_.y) == 240
    held = gaps.known_sources_
    np.testing.assert_array_equal(held.names[held.codes], SITES[held.pool.held_out.rows])
    with pytest.raises(ValueError, match="sources is missing for 240 of 240 rows"):
        clone(SMALL).fit(X, Y, sources=[None] * 240)


def test_sources_of_three_rows_and_of_one_class_borrow_from_the_others():
    sources = SITES.astype(object).copy()
    sources[:3] = "tiny"
    sources[np.flatnonzero(Y == "ill")[-20:]] = "always ill"
    fitted = clone(SMALL).fit(X, Y, sources=sources)
    proba = fitted.predict_proba(X, sources=sources)
    assert np.isfinite(proba).all()
    assert proba.min() > 0
    ill = proba[sources == "always ill", 0]
    assert (fitted.predict(X, sources=sources)[sources == "always ill"] == "ill").all()
    assert ill.mean() > fitted.predict_proba(X)[sources == "always ill", 0].mean()


def test_one_source_alone():
    fitted = clone(SMALL).fit(X, Y, sources=np.zeros(240, dtype=int))
    assert fitted.known_sources_.left_out is None
    assert np.isfinite(fitted.predict_proba(X, sources=np.zeros(240, dtype=int))).all()
    assert fitted.predict_set(X).any(axis=1).all()


def test_weights_and_groups_go_with_sources():
    weights = np.ones(240)
    weights[:40] = 0
    with_zeros = clone(SMALL).fit(X, Y, sample_weight=weights, sources=SITES)
    without = clone(SMALL).fit(X[40:], Y[40:], sample_weight=weights[40:], sources=SITES[40:])
    expected = without.predict_proba(X, sources=SITES)
    np.testing.assert_array_equal(with_zeros.predict_proba(X, sources=SITES), expected)
    grouped = clone(SMALL).fit(X, Y, groups=np.arange(240) // 3, sources=SITES)
    assert grouped.known_sources_.pool.fusion.biases_.tolist() == [0, 0]


def test_sets_cover_each_source(model):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(3000, 3))
    sites = np.array(["a", "b", "c"])[rng.integers(0, 3, 3000)]
    rule = rows[:, 0] * np.where(sites == "c", -1, 1) + np.where(sites == "b", 1, 0)
    y = (rule + 0.5 * rng.logistic(size=3000) <= 0).astype(int)
    inside = model.predict_set(rows, sites)
    covered = inside[np.arange(3000), y]
    assert min(covered[sites == site].mean() for site in "abc") > 0.84
    assert 1 <= inside.sum(axis=1).mean() < 1.7
    smaller = model.predict_set(rows, sites, coverage=0.5)
    assert (smaller <= inside).all()
    assert smaller.any(axis=1).all()
    # of a source that nobody has met, more is unsure
    assert model.predict_set(rows).sum() > inside.sum()
    with pytest.raises(ValueError, match="coverage=90 is no share"):
        model.predict_set(rows, coverage=90)


def test_sets_need_no_sources():
    fitted = clone(SMALL).fit(X, SITES)
    inside = fitted.predict_set(X, coverage=0.8)
    labels = np.searchsorted(fitted.classes_, SITES)
    assert inside[np.arange(240), labels].mean() > 0.75


def test_a_pool_without_probabilities_is_refused():
    decisions = EnsemblageClassifier([SVC()], fusion=Mean(), cv=2)
    with pytest.raises(ValueError, match="gives no probabilities with these members"):
        decisions.fit(X, Y, sources=SITES)


def test_one_worker_and_two_give_the_same_bits(model):
    two = clone(SMALL).set_params(n_jobs=2).fit(X, Y, sources=SITES)
    expected = model.predict_proba(X, sources=SITES)
    np.testing.assert_array_equal(two.predict_proba(X, sources=SITES), expected)
    np.testing.assert_array_equal(two.predict_set(X), model.predict_set(X))


def test_saved_and_loaded(tmp_path, model):
    save(
        model, tmp_path / "pool.skops",
        columns=["x", "y", "z"], kinds=["number"] * 3, target="class", details={},
    )  # fmt: skip
    loaded = load(tmp_path / "pool.skops").model
    expected = model.predict_proba(X, sources=SITES)
    np.testing.assert_array_equal(loaded.predict_proba(X, sources=SITES), expected)
    np.testing.assert_array_equal(loaded.predict_set(X), model.predict_set(X))


def test_a_budget_is_shared_by_both_pools():
    quick = clone(SMALL).set_params(time_budget=30.0).fit(X, Y, sources=SITES)
    assert quick.known_sources_.left_out is None
    assert len(quick.known_sources_.pool.names) >= 1
    assert quick.predict_set(X).any(axis=1).all()


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def asking():
    """Give a pipeline that asks for the sources wherever it can."""
    asks = clone(SMALL).set_fit_request(sources=True).set_score_request(sources=True)
    return make_pipeline(StandardScaler(), asks.set_predict_proba_request(sources=True))


@pytest.mark.usefixtures("routing")
def test_sources_are_routed_through_pipelines_and_searches():
    pipeline = asking().fit(X, Y, sources=SITES)
    direct = clone(SMALL).fit(StandardScaler().fit_transform(X), Y, sources=SITES)
    np.testing.assert_array_equal(
        pipeline.predict_proba(X, sources=SITES),
        direct.predict_proba(StandardScaler().fit_transform(X), sources=SITES),
    )
    forest = [RandomForestClassifier(3)]
    search = GridSearchCV(clone(SMALL), {"pool": [forest, ["logistic"]]}, cv=2)
    search.fit(X, Y, sources=SITES)
    found = search.best_estimator_.predict_proba(X, sources=SITES)
    assert found.shape == (240, 2)


@pytest.mark.usefixtures("routing", "routed_scores")
def test_sources_are_routed_through_folds():
    scores = cross_validate(asking(), X, Y, params={"sources": SITES}, cv=2)["test_score"]
    blind = cross_val_score(clone(SMALL), X, Y, cv=2)
    assert scores.mean() > blind.mean()


def test_a_named_column_needs_no_routing():
    by_name = cross_val_score(clone(SMALL), FRAME, Y, cv=2, params={"sources": "site"},
                              scoring="neg_log_loss")  # fmt: skip
    blind = cross_val_score(clone(SMALL), FRAME.drop(columns="site"), Y, cv=2,
                            scoring="neg_log_loss")  # fmt: skip
    assert by_name.mean() > blind.mean() + 0.05


def test_saved_and_loaded_without_lightgbm(tmp_path, monkeypatch):
    monkeypatch.setattr("ensemblage.pool._source_members.has_lightgbm", lambda: False)
    monkeypatch.setattr("ensemblage.pool._source_members.FIVE", FIVE[3:4])
    fitted = clone(SMALL).fit(X, Y, sources=SITES)
    save(
        fitted, tmp_path / "pool.skops",
        columns=["x", "y", "z"], kinds=["number"] * 3, target="class", details={},
    )  # fmt: skip
    loaded = load(tmp_path / "pool.skops").model
    expected = fitted.predict_proba(X, sources=SITES)
    np.testing.assert_array_equal(loaded.predict_proba(X, sources=SITES), expected)


def test_a_source_per_row_tells_nothing_and_breaks_nothing():
    fitted = clone(SMALL).fit(X[:60], Y[:60], sources=np.arange(60))
    proba = fitted.predict_proba(X[:60], sources=np.arange(60))
    assert np.isfinite(proba).all()
    assert fitted.predict_set(X[:60], sources=np.arange(60)).any(axis=1).all()
