from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ensemblage._core import DamagedStateError, deal_folds
from ensemblage.fusion import LogLinearPool, Mean
from ensemblage.persistence import load, save
from ensemblage.pool import (
    EnsemblageClassifier,
    OutOfFold,
    PoolClassTarget,
    SourceAwareClassifier,
    TrainingData,
    make_cv_folds,
    make_fusion,
    resolve_members,
)
from ensemblage.pool._boosting import SETTINGS_GRID
from ensemblage.pool._fit import fit_pool
from ensemblage.pool._sources import (
    PenaltiesBySharedFolds,
    append_source_indicators,
    class_scores,
    interval_factor,
    new_source_threshold,
    prediction_sets,
    score_unseen_sources,
    source_aware_members,
    stratify_folds_by_source,
)
from ensemblage.sources import PartialPoolingClassifier, source_folds
from pool.sourced import SITES, X, Y
from reference.conformal import slow_new_threshold


def test_scores_are_one_minus_the_probability():
    proba = np.array([[0.7, 0.3], [0.2, 0.8]])
    np.testing.assert_allclose(class_scores(proba, np.array([0, 0])), [0.3, 0.8])


def test_sources_have_equal_weight_for_a_new_source():
    scores = np.array([0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8])
    rows = scores, np.array([0, 0, 0, 1, 1, 1, 1]), np.ones(7)
    # together two: 60 % are 1.2
    assert new_source_threshold(*rows, 0.6) == 0.5


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_the_slow_twin_agrees(coverage):
    rng = np.random.default_rng(0)
    sources = rng.integers(0, 4, 80)
    scores = np.clip(rng.beta(1, 3, 80) + 0.1 * sources, 0, 1).round(2)
    rows = scores, sources, rng.uniform(0.5, 2.0, 80)
    assert new_source_threshold(*rows, coverage) == slow_new_threshold(*rows, coverage)


def test_sets_hold_the_most_probable_class():
    proba = np.array([[0.5, 0.3, 0.2], [0.9, 0.05, 0.05]])
    inside = prediction_sets(proba, np.array([0.75, 0.05]))
    assert inside.tolist() == [[True, True, False], [True, False, False]]
    assert prediction_sets(proba, np.array([np.inf, np.inf])).all()


def test_the_interval_factor_by_hand():
    y, pooled = np.arange(9.0), np.zeros((9, 2))
    pooled[:, 1] = 4.0
    record = OutOfFold((), (), np.zeros((0, 9, 2)), pooled, y, np.arange(9), None)
    # scores are 0 to 4 by halves; half of nine rows and the one to come are five of them
    assert interval_factor(record, 0.5) == 2.0
    assert interval_factor(record, 0.99) == 4.0  # too few rows: the largest
    doubled = replace(record, weights=np.where(y < 5, 0.0, 1.0))
    assert interval_factor(doubled, 0.5) == 3.5


CODES = np.unique(SITES, return_inverse=True)[1]
WITH_SOURCES = np.column_stack([X, np.eye(3)[CODES]])
LABELS = (Y == "well").astype(int)
ROWS = TrainingData(
    WITH_SOURCES,
    LABELS,
    PoolClassTarget(np.arange(2)),
    None,
    deal_folds(LABELS, 3, np.random.default_rng(0)),
)
FIXED = PartialPoolingClassifier(common_penalty=1.0, deviation_penalty=1.0)


def test_the_last_columns_are_source_indicators():
    model = SourceAwareClassifier(FIXED, 3).fit(WITH_SOURCES, LABELS)
    plain = clone(FIXED).fit(X, LABELS, sources=CODES)
    expected = plain.predict_proba(X, sources=CODES)
    np.testing.assert_array_equal(model.predict_proba(WITH_SOURCES), expected)
    np.testing.assert_array_equal(model.predict(WITH_SOURCES), expected.argmax(axis=1))


def test_penalties_are_chosen_on_the_shared_folds():
    recipe = PenaltiesBySharedFolds(
        "partial-pooling", "sources", (SourceAwareClassifier(PartialPoolingClassifier(), 3),)
    )
    assert recipe.parts(ROWS) == [None]
    attempt = recipe.fit_predict_fold(ROWS, None, 0)
    outputs, model = attempt.outputs, attempt.model
    search = PartialPoolingClassifier(cv=ROWS.folds).fit(X, LABELS, sources=CODES)
    assert model.estimator_.deviation_penalty_ == search.deviation_penalty_
    train, test = ROWS.folds[1]
    again = PartialPoolingClassifier(
        common_penalty=search.common_penalty_, deviation_penalty=search.deviation_penalty_
    ).fit(X[train], LABELS[train], sources=CODES[train])
    expected = again.predict_proba(X[test], sources=CODES[test])
    np.testing.assert_array_equal(outputs[0, test], expected)
    assert model.estimator_.cv == model.estimator.cv == 5


def test_with_incomplete_folds_each_fold_chooses_its_penalties():
    (recipe, *_) = source_aware_members(3)
    once = ROWS._replace(folds=ROWS.folds[:1])
    assert recipe.parts(once) == once.folds
    outputs = recipe.fit_predict_fold(once, once.folds[0], 0).outputs
    assert outputs.shape == (1, len(once.folds[0].test), 2)


def test_members_of_the_source_aware_pool():
    recipes = source_aware_members(3)
    names = [each.name for each in recipes]
    assert names == ["partial-pooling", "boosting-by-source", "forest-by-source"]
    assert {each.response for each in recipes} == {"predict_proba"}


def test_inconsistent_columns_are_refused():
    model = SourceAwareClassifier(FIXED, 3).fit(WITH_SOURCES, LABELS)
    model._check_fitted()
    model.n_sources = 4
    with pytest.raises(DamagedStateError, match="its columns differ"):
        model._check_fitted()


def test_sources_are_left_out_in_groups_of_like_size():
    codes = np.repeat(np.arange(7), [10, 10, 10, 4, 3, 2, 1])
    folds = source_folds(codes, 5)
    assert len(folds) == 5
    for train, test in folds:
        assert not {*codes[train]} & {*codes[test]}
    assert sorted(len(fold.test) for fold in folds) == [5, 5, 10, 10, 10]
    assert source_folds(np.zeros(4, dtype=int), 5) == []


def test_rows_of_unknown_source_are_used_in_training_but_not_scored():
    folds = source_folds(np.array([0, 0, 1, -1]), 5)
    assert [fold.test.tolist() for fold in folds] == [[0, 1], [2]]
    assert [fold.train.tolist() for fold in folds] == [[2, 3], [0, 1, 3]]


def test_scores_are_leave_source_out(rows):
    fusion = make_fusion("log_linear", has_groups=False)
    pool, members, _ = fit_pool(resolve_members([GaussianNB()]), [0], fusion, rows, n_jobs=1)
    codes = np.arange(150) % 2
    codes[0] = -1
    left = score_unseen_sources(pool, members, rows, codes, None)
    assert left["sources"].tolist() == codes[1:].tolist()
    own = np.flatnonzero(codes == 1)
    others = np.flatnonzero(codes != 1)
    alone = GaussianNB().fit(rows.X[others], rows.y[others]).predict_proba(rows.X[own])
    fused = pool.fusion.combine(alone[None])
    np.testing.assert_allclose(
        left["scores"][codes[1:] == 1], 1 - fused[np.arange(75), rows.y[own]]
    )
    assert score_unseen_sources(pool, members, rows, np.zeros(150, dtype=int), None) is None


@pytest.fixture(scope="module")
def model():
    return EnsemblageClassifier(["logistic"], cv=3, random_state=0).fit(X, Y, sources=SITES)


def test_members_are_source_aware(model):
    known = model.source_pool_
    assert known.names.tolist() == ["a", "b", "c"]
    with_sources = append_source_indicators(X[:2], np.array([2, 0]), 3)
    assert with_sources[:, 3:].tolist() == [[0, 0, 1], [1, 0, 0]]
    assert {each.group for each in known.leaderboard[1:]} == {"sources"}
    assert isinstance(known.pool.fusion, LogLinearPool)
    # with c the rule is reversed: who does not know it cannot be good
    assert known.leaderboard[0].log_loss < model.leaderboard_[0].log_loss - 0.05
    assert "predicted by a source-aware pool" in str(model.leaderboard_)


def test_offsets_shift_log_probabilities(model):
    known = model.source_pool_
    codes = np.unique(SITES, return_inverse=True)[1]
    fused = known.pool.fusion.combine(known.member_outputs(X, codes))
    shifted = fused * np.exp(known.offsets[codes])
    expected = shifted / shifted.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X, sources=SITES), expected)


def test_folds_keep_shares_of_sources_but_not_of_their_classes():
    y, codes = np.tile([0, 0, 1], 40), np.repeat([0, 1, 2, -1], 30)
    rows = TrainingData(
        np.zeros((120, 1)), y, PoolClassTarget(np.arange(2)), None, make_cv_folds(y, 5, 0)
    )
    folds = stratify_folds_by_source(rows, codes, 5, 0).folds
    for _, test in folds:
        assert np.unique(codes[test], return_counts=True)[1].tolist() == [6] * 4
    shares = [np.bincount(codes[test] + 1, y[test]) for _, test in folds]
    assert np.ptp(shares, axis=0).max() > 0
    given = deal_folds(y, 4, np.random.default_rng(1))
    assert stratify_folds_by_source(rows._replace(folds=given), codes, given, 0).folds is given
    assert stratify_folds_by_source(rows._replace(has_groups=True), codes, 5, 0).folds is rows.folds


def test_a_source_aware_prediction_is_explained(model):
    decision = model.explain_row(X[0], SITES[0])
    assert decision.source == SITES[0]
    assert "source-aware" in decision.as_table().caption
    np.testing.assert_allclose(
        decision.probabilities, model.predict_proba(X[:1], sources=SITES[:1])[0]
    )
    first, second = (
        decision.classes.index(each) for each in (decision.prediction, decision.runner_up)
    )
    odds = np.log(decision.probabilities[first] / decision.probabilities[second])
    assert sum(each.contribution for each in decision.members) + decision.baseline == pytest.approx(
        odds
    )
    assert model.explain_row(X[0]).source is None


def test_forged_offsets_are_refused(model):
    known = model.source_pool_
    known._check_fitted()
    for name, value in (
        ("offsets", np.zeros((4, 2))),
        ("offset_penalty", -1.0),
        ("codes", np.full(240, 3)),
        ("names", known.names[:2]),
        ("unseen_source_scores", known.unseen_source_scores | {"scores": np.full(240, 7.0)}),
        ("unseen_source_scores", {"scores": np.zeros(1)}),
    ):
        with pytest.raises(DamagedStateError):
            replace(known, **{name: value})._check_fitted()


SMALL = EnsemblageClassifier(["logistic"], cv=2, random_state=0)


FRAME = pd.DataFrame(X, columns=["x", "y", "z"]).assign(site=SITES)


@pytest.fixture(scope="module")
def small_model():
    return clone(SMALL).fit(X, Y, sources=SITES)


def test_known_sources_are_predicted_source_aware_and_others_blind(small_model):
    sources = SITES.astype(object).copy()
    sources[:10], sources[10:20] = "new", None
    mixed = small_model.predict_proba(X, sources=sources)
    np.testing.assert_array_equal(mixed[:20], small_model.predict_proba(X[:20]))
    np.testing.assert_array_equal(mixed[20:], small_model.predict_proba(X[20:], sources=SITES[20:]))
    np.testing.assert_allclose(mixed.sum(axis=1), 1)
    assert small_model.score(X, Y, sources=SITES) > small_model.score(X, Y) + 0.05
    winners = small_model.classes_[mixed.argmax(axis=1)]
    np.testing.assert_array_equal(small_model.predict(X, sources=sources), winners)


def test_lists_are_accepted(small_model):
    as_list = small_model.predict_proba(X[:5].tolist(), sources=SITES[:5].tolist())
    np.testing.assert_array_equal(as_list, small_model.predict_proba(X[:5], sources=SITES[:5]))


def test_a_fit_without_sources_has_no_source_pool(small_model):
    plain = clone(SMALL).fit(X, Y)
    with pytest.raises(ValueError, match=r"fitted without: pass fit\(\.\.\., sources=\.\.\.\)"):
        plain.predict_proba(X, sources=SITES)
    again = clone(SMALL).fit(X, Y, sources=SITES).fit(X, Y)
    assert not hasattr(again, "source_pool_")
    np.testing.assert_array_equal(again.predict_proba(X), plain.predict_proba(X))


def test_sources_in_a_column_of_a_frame(small_model):
    by_name = clone(SMALL).fit(FRAME, Y, sources="site")
    assert by_name.feature_names_in_.tolist() == ["x", "y", "z"]
    expected = small_model.predict_proba(X, sources=SITES)
    np.testing.assert_array_equal(by_name.predict_proba(FRAME), expected)
    alone = FRAME.drop(columns="site")
    np.testing.assert_array_equal(by_name.predict_proba(alone, sources=SITES), expected)
    np.testing.assert_array_equal(by_name.predict_proba(alone), small_model.predict_proba(X))
    assert by_name.explain_row(FRAME[:1]).source == SITES[0]
    assert by_name.predict_set(FRAME).shape == (240, 2)
    assert by_name.distill(FRAME).model.n_features_in_ == 3


def test_rows_without_source_are_used_by_the_source_blind_pool(small_model):
    sources = SITES.astype(object).copy()
    sources[::4] = None
    model = clone(SMALL).fit(X, Y, sources=sources)
    assert len(model.source_pool_.pool.out_of_fold.y) == 180
    assert len(model.out_of_fold_.y) == 240
    source_pool = model.source_pool_
    np.testing.assert_array_equal(
        source_pool.names[source_pool.codes], SITES[source_pool.pool.out_of_fold.indices]
    )
    with pytest.raises(ValueError, match="sources is missing for 240 of 240 rows"):
        clone(SMALL).fit(X, Y, sources=[None] * 240)


def test_sources_of_three_rows_and_of_one_class_are_shrunk():
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
    assert fitted.source_pool_.unseen_source_scores is None
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
    assert grouped.source_pool_.pool.fusion.biases_.tolist() == [0, 0]


def test_sets_cover_each_source(small_model):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(3000, 3))
    sites = np.array(["a", "b", "c"])[rng.integers(0, 3, 3000)]
    rule = rows[:, 0] * np.where(sites == "c", -1, 1) + np.where(sites == "b", 1, 0)
    y = (rule + 0.5 * rng.logistic(size=3000) <= 0).astype(int)
    inside = small_model.predict_set(rows, sites)
    covered = inside[np.arange(3000), y]
    assert min(covered[sites == site].mean() for site in "abc") > 0.84
    assert 1 <= inside.sum(axis=1).mean() < 1.7
    smaller = small_model.predict_set(rows, sites, coverage=0.5)
    assert (smaller <= inside).all()
    assert smaller.any(axis=1).all()
    # prediction sets of a new source are larger
    assert small_model.predict_set(rows).sum() > inside.sum()
    with pytest.raises(ValueError, match="coverage=90 is not a number between 0 and 1"):
        small_model.predict_set(rows, coverage=90)


def test_sets_need_no_sources():
    fitted = clone(SMALL).fit(X, SITES)
    inside = fitted.predict_set(X, coverage=0.8)
    labels = np.searchsorted(fitted.classes_, SITES)
    assert inside[np.arange(240), labels].mean() > 0.75


def test_a_pool_without_probabilities_is_refused():
    decisions = EnsemblageClassifier([SVC()], fusion=Mean(), cv=2)
    with pytest.raises(ValueError, match="returns no probabilities with these members"):
        decisions.fit(X, Y, sources=SITES)


def test_one_worker_and_two_give_the_same_bits(small_model):
    two = clone(SMALL).set_params(n_jobs=2).fit(X, Y, sources=SITES)
    expected = small_model.predict_proba(X, sources=SITES)
    np.testing.assert_array_equal(two.predict_proba(X, sources=SITES), expected)
    np.testing.assert_array_equal(two.predict_set(X), small_model.predict_set(X))


def test_saved_and_loaded(tmp_path, small_model):
    save(
        small_model, tmp_path / "pool.skops",
        columns=["x", "y", "z"], kinds=["numeric"] * 3, target="class", details={},
    )  # fmt: skip
    loaded = load(tmp_path / "pool.skops").model
    expected = small_model.predict_proba(X, sources=SITES)
    np.testing.assert_array_equal(loaded.predict_proba(X, sources=SITES), expected)
    np.testing.assert_array_equal(loaded.predict_set(X), small_model.predict_set(X))


def test_a_budget_is_shared_by_both_pools():
    quick = clone(SMALL).set_params(time_budget=30.0).fit(X, Y, sources=SITES)
    assert quick.source_pool_.unseen_source_scores is None
    assert len(quick.source_pool_.pool.names) >= 1
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
    search = GridSearchCV(clone(SMALL), {"members": [forest, ["logistic"]]}, cv=2)
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
    monkeypatch.setattr("ensemblage.pool._sources.installed_library", lambda: "sklearn")
    monkeypatch.setattr("ensemblage.pool._sources.SETTINGS_GRID", SETTINGS_GRID[3:4])
    fitted = clone(SMALL).fit(X, Y, sources=SITES)
    save(
        fitted, tmp_path / "pool.skops",
        columns=["x", "y", "z"], kinds=["numeric"] * 3, target="class", details={},
    )  # fmt: skip
    loaded = load(tmp_path / "pool.skops").model
    expected = fitted.predict_proba(X, sources=SITES)
    np.testing.assert_array_equal(loaded.predict_proba(X, sources=SITES), expected)


def test_a_source_per_row_is_uninformative_and_harmless():
    fitted = clone(SMALL).fit(X[:60], Y[:60], sources=np.arange(60))
    proba = fitted.predict_proba(X[:60], sources=np.arange(60))
    assert np.isfinite(proba).all()
    assert fitted.predict_set(X[:60], sources=np.arange(60)).any(axis=1).all()
