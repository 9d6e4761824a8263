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
    EnsemblageRegressor,
    OutOfFold,
    PoolClassTarget,
    SourceAwareClassifier,
    SourceAwareRegressor,
    TrainingData,
    make_cv_folds,
    make_fusion,
    resolve_members,
)
from ensemblage.pool._boosting import SETTINGS_GRID
from ensemblage.pool._fit import fit_pool
from ensemblage.pool._member_spec import BLIND, BY_SOURCE, CODED
from ensemblage.pool._source_members import (
    BLIND_POOL,
    COLUMN_POOL,
    GivenNormals,
    GivenProbabilities,
    PenaltiesBySharedFolds,
    SourceIndex,
    source_aware_members,
    source_forms,
)
from ensemblage.pool._sources import (
    class_scores,
    fit_value_offsets,
    interval_factor,
    new_source_threshold,
    prediction_sets,
    score_unseen_sources,
    stratify_folds_by_source,
)
from ensemblage.sources import (
    PartialPoolingClassifier,
    PartialPoolingRegressor,
    source_folds,
)
from pool.sourced import SITES, VALUES, WARDS, X, Y
from reference.conformal import slow_new_threshold, slow_source_threshold


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
WITH_CODES = np.column_stack([X, CODES])
LABELS = (Y == "well").astype(int)
ROWS = TrainingData(
    WITH_CODES,
    LABELS,
    PoolClassTarget(np.arange(2)),
    None,
    deal_folds(LABELS, 3, np.random.default_rng(0)),
)
FIXED = PartialPoolingClassifier(common_penalty=1.0, deviation_penalty=1.0, intercept_penalty=1.0)
ONE_LEVEL = SourceIndex.of(np.array(["a", "b", "c"]))
NESTED = SourceIndex.of(np.array([["a", "1"], ["a", "2"], ["b", "1"]]))


def test_nested_sources_are_coded_behind_each_other():
    assert SourceIndex(3, NESTED.outer) == NESTED
    assert NESTED.outer.tolist() == [0, 0, 1]
    assert (NESTED.n_codes, NESTED.n_levels, ONE_LEVEL.n_codes, ONE_LEVEL.n_levels) == (5, 2, 3, 1)
    codes = np.array([0, 2, 3, 4])  # two pairs; a and b, of which the inner source is unknown
    assert NESTED.outer_codes(codes).tolist() == [3, 4, 3, 4]
    np.testing.assert_array_equal(NESTED.columns(codes), [[0, 0], [1, 2], [0, np.nan], [1, np.nan]])
    assert ONE_LEVEL.columns(np.array([2, 0])).tolist() == [[2], [0]]


def test_means_are_shrunk_by_hand():
    rows, codes = np.array([[0.0], [0.0], [6.0], [6.0]]), np.array([0, 0, 1, 1])
    one = SourceIndex.of(np.array(["a", "b"])).column_means(rows, codes, None)
    # five rows of the mean 3 beside two of each source
    np.testing.assert_allclose(one, [[15 / 7], [(12 + 15) / 7]])
    wards = SourceIndex.of(np.array([["a", "1"], ["a", "2"]]))
    both = wards.column_means(rows, codes, np.array([1.0, 1.0, 2.0, 2.0]))
    # weighted mean 4, of the hospital too; five rows of it beside those of each ward
    np.testing.assert_allclose(both, [[20 / 7], [(24 + 20) / 9], [4.0]])


def test_forms_of_rows():
    blind = np.array([[0.3, 0.7]])
    forms = source_forms(X[:1], np.array([1]), ONE_LEVEL, np.arange(9.0).reshape(3, 3), blind)
    assert forms[CODED].tolist() == [[*X[0], 1]]
    assert forms[BY_SOURCE].tolist() == [[*X[0], 3, 4, 5, 1]]
    assert forms[BLIND] is blind


def test_the_last_columns_are_codes():
    model = SourceAwareClassifier(FIXED).fit(WITH_CODES, LABELS)
    plain = clone(FIXED).fit(X, LABELS, sources=CODES)
    expected = plain.predict_proba(X, sources=CODES)
    np.testing.assert_array_equal(model.predict_proba(WITH_CODES), expected)
    np.testing.assert_array_equal(model.predict(WITH_CODES), expected.argmax(axis=1))
    wards = np.column_stack([X, CODES, np.arange(240) % 2 + 2 * CODES])
    nested = SourceAwareRegressor(PartialPoolingRegressor(random_state=0), 2).fit(wards, VALUES)
    again = PartialPoolingRegressor(random_state=0).fit(X, VALUES, sources=wards[:, 3:])
    np.testing.assert_array_equal(nested.predict(wards), again.predict(X, sources=wards[:, 3:]))


def test_the_outputs_of_a_pool_are_passed_on():
    proba = np.array([[0.3, 0.7], [0.6, 0.4]])
    classes = GivenProbabilities().fit(proba, np.array([0, 1]))
    np.testing.assert_array_equal(classes.predict_proba(proba), proba)
    assert classes.predict(proba).tolist() == [1, 0]
    normals = GivenNormals().fit(np.array([[1.0, 4.0]]), np.array([0.0]))
    mean, std = normals.predict(np.array([[1.0, 4.0]]), return_std=True)
    assert (mean.tolist(), std.tolist()) == ([1.0], [2.0])


def test_penalties_are_chosen_on_the_shared_folds():
    recipe = PenaltiesBySharedFolds(
        "partial-pooling", "sources", (SourceAwareClassifier(PartialPoolingClassifier()),)
    )
    assert recipe.parts(ROWS) == [None]
    attempt = recipe.fit_predict_fold(ROWS, None, 0)
    outputs, model = attempt.outputs, attempt.model
    search = PartialPoolingClassifier(cv=ROWS.folds).fit(X, LABELS, sources=CODES)
    assert model.estimator_.deviation_penalty_ == search.deviation_penalty_
    train, test = ROWS.folds[1]
    again = PartialPoolingClassifier(
        common_penalty=search.common_penalty_, deviation_penalty=search.deviation_penalty_,
        intercept_penalty=search.intercept_penalty_,
    ).fit(X[train], LABELS[train], sources=CODES[train])  # fmt: skip
    expected = again.predict_proba(X[test], sources=CODES[test])
    np.testing.assert_array_equal(outputs[0, test], expected)
    assert model.estimator_.cv == model.estimator.cv == 5


def test_with_incomplete_folds_each_fold_chooses_its_penalties():
    (recipe, *_) = source_aware_members(ONE_LEVEL, 3, numeric=False, with_column=False)
    once = ROWS._replace(folds=ROWS.folds[:1])
    assert recipe.parts(once) == once.folds
    outputs = recipe.fit_predict_fold(once, once.folds[0], 0).outputs
    assert outputs.shape == (1, len(once.folds[0].test), 2)


@pytest.mark.parametrize("numeric", [False, True])
def test_members_of_the_source_aware_pool(numeric):
    recipes = source_aware_members(NESTED, 3, numeric=numeric, with_column=True)
    names = [each.name for each in recipes]
    assert names == [
        "partial-pooling",
        "boosting-by-source",
        "forest-by-source",
        BLIND_POOL,
        COLUMN_POOL,
    ]
    expected = {"predict", "predict_std"} if numeric else {"predict_proba"}
    assert {each.response for each in recipes} == expected
    assert recipes[1].categorical == (6, 7)  # behind three columns and their means


def test_inconsistent_columns_are_refused():
    model = SourceAwareClassifier(FIXED).fit(WITH_CODES, LABELS)
    model._check_fitted()
    model.n_levels = 2
    with pytest.raises(DamagedStateError, match="its columns differ"):
        model._check_fitted()


def test_offsets_of_values_by_hand():
    residuals, codes = np.array([3.0, 3.0, -1.0]), np.array([0, 0, 1])
    one = SourceIndex.of(np.array(["a", "b"]))
    found = fit_value_offsets(residuals, codes, np.ones(3), one, 1.0)
    np.testing.assert_allclose(found, [[2.0], [-0.5]])
    assert not fit_value_offsets(residuals, codes, np.ones(3), one, np.inf).any()


def test_nested_offsets_are_a_ridge_regression():
    rng = np.random.default_rng(0)
    codes, weights = rng.integers(0, 3, 40), rng.uniform(0.5, 2, 40)
    residuals = rng.normal(size=40) + codes
    found = fit_value_offsets(residuals, codes, weights, NESTED, 2.0)[:, 0]
    design = np.column_stack([np.eye(3)[codes], np.eye(2)[NESTED.outer[codes]]])
    gram = design.T @ (design * weights[:, None]) + 2.0 * np.eye(5)
    best = np.linalg.solve(gram, design.T @ (weights * residuals))
    np.testing.assert_allclose(found[3:], best[3:])
    np.testing.assert_allclose(found[:3], best[:3] + best[3:][NESTED.outer])


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
    blind = fit_pool(resolve_members([GaussianNB()]), [0], fusion, rows, n_jobs=1)
    codes = np.arange(150) % 2
    codes[0] = -1
    left = score_unseen_sources(blind, rows, codes, None)
    assert left["sources"].tolist() == codes[1:].tolist()
    own = np.flatnonzero(codes == 1)
    others = np.flatnonzero(codes != 1)
    alone = GaussianNB().fit(rows.X[others], rows.y[others]).predict_proba(rows.X[own])
    fused = blind.pool.fusion.combine(alone[None])
    np.testing.assert_allclose(
        left["scores"][codes[1:] == 1], 1 - fused[np.arange(75), rows.y[own]]
    )
    assert score_unseen_sources(blind, rows, np.zeros(150, dtype=int), None) is None


@pytest.fixture(scope="module")
def model():
    return EnsemblageClassifier(["logistic"], cv=3, random_state=0).fit(X, Y, sources=SITES)


def test_members_are_source_aware(model):
    known = model.source_pool_
    assert known.names.tolist() == ["a", "b", "c"]
    assert {each.group for each in known.leaderboard[1:]} == {"sources", "all"}
    assert known.helps
    assert known.gain > 0.05
    assert isinstance(known.pool.fusion, LogLinearPool)
    # with c the rule is reversed: who does not know it cannot be good
    assert known.leaderboard[0].log_loss < model.leaderboard_[0].log_loss - 0.05
    assert "predicted by a source-aware pool" in str(model.leaderboard_)


def test_offsets_shift_log_probabilities(model):
    known = model.source_pool_
    codes = np.unique(SITES, return_inverse=True)[1]
    blind = model.predict_proba(X)
    fused = known.pool.fusion.combine(known.member_outputs(X, codes, blind, model._target()))
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
    monkeypatch.setattr("ensemblage.pool._source_members.installed_library", lambda: "sklearn")
    monkeypatch.setattr("ensemblage.pool._source_members.SETTINGS_GRID", SETTINGS_GRID[3:4])
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


SMALL_NUMERIC = EnsemblageRegressor(["ridge"], cv=3, random_state=0)
NESTED_SITES = np.column_stack([SITES, WARDS])


@pytest.fixture(scope="module")
def values_model():
    return clone(SMALL_NUMERIC).fit(X, VALUES, sources=SITES)


def test_numeric_targets_have_sources_too(values_model):
    known = values_model.source_pool_
    assert known.helps
    assert known.leaderboard.metric == "RMSE"
    assert values_model.score(X, VALUES, sources=SITES) > values_model.score(X, VALUES) + 0.1
    sources = SITES.astype(object).copy()
    sources[:10], sources[10:20] = "new", None
    mixed, std = values_model.predict(X, return_std=True, sources=sources)
    np.testing.assert_array_equal(mixed[:20], values_model.predict(X[:20]))
    np.testing.assert_array_equal(mixed[20:], values_model.predict(X[20:], sources=SITES[20:]))
    assert (std > 0).all()
    by_name = clone(SMALL_NUMERIC).fit(FRAME, VALUES, sources="site")
    np.testing.assert_array_equal(by_name.predict(FRAME), values_model.predict(X, sources=SITES))
    with pytest.raises(ValueError, match="the pool was fitted without"):
        clone(SMALL_NUMERIC).fit(X, VALUES).predict(X, sources=SITES)


def test_a_source_aware_number_is_explained(values_model):
    found = values_model.explain_row(X[0], SITES[0])
    mean, std = values_model.predict(X[:1], return_std=True, sources=SITES[:1])
    assert found.source == SITES[0]
    assert found.prediction == pytest.approx(mean[0])
    assert found.std == pytest.approx(std[0])
    total = found.baseline + sum(each.contribution for each in found.members)
    assert total == pytest.approx(mean[0])


def test_intervals_cover_each_source(values_model):
    rng = np.random.default_rng(1)
    rows, sites = rng.normal(size=(3000, 3)), np.array(["a", "b", "c"])[rng.integers(0, 3, 3000)]
    rule = rows[:, 0] * np.where(sites == "c", -1, 1) + np.where(sites == "b", 1, 0)
    y = 10 * (rule + rng.choice([0.5, -0.5], 3000)) + rng.normal(size=3000)
    low, high = values_model.predict_interval(rows, sites).T
    covered = (low <= y) & (y <= high)
    assert min(covered[sites == site].mean() for site in "abc") > 0.84
    narrow = np.diff(values_model.predict_interval(rows, sites, coverage=0.5))
    assert (narrow[:, 0] < high - low).all()
    assert np.isfinite(values_model.predict_interval(rows, sites, coverage=0.999)).all()
    # intervals of a new source are wider
    assert np.diff(values_model.predict_interval(rows)).mean() > (high - low).mean()


def test_thresholds_of_a_source_have_a_slow_twin(values_model):
    pool = values_model.source_pool_
    for code, found in enumerate(pool.thresholds(0.8)):
        slow = slow_source_threshold(pool.scores, pool.codes, pool.weights, code, 0.8)
        assert found == pytest.approx(slow)


@pytest.mark.parametrize("numeric", [False, True])
def test_nested_sources(numeric, tmp_path):
    """A ward is known by its hospital; a new ward of a known hospital is predicted by that."""
    model, y = (SMALL_NUMERIC, VALUES) if numeric else (SMALL, Y)
    frame = FRAME.assign(ward=WARDS)
    with pytest.warns(UserWarning, match="Inner sources are not unique"):
        fitted = clone(model).fit(frame, y, sources=["site", "ward"])
    pool = fitted.source_pool_
    assert fitted.source_column_ == ["site", "ward"]
    assert pool.names.tolist() == [[s, w] for s in "abc" for w in "12"]
    assert pool.offsets.shape == (9, 1 if numeric else 2)
    predict = fitted.predict if numeric else fitted.predict_proba
    own = predict(frame)
    np.testing.assert_array_equal(predict(FRAME.drop(columns="site"), sources=NESTED_SITES), own)
    new_ward = predict(frame.assign(ward="9"))
    assert np.isfinite(new_ward).all()
    blind = predict(FRAME.drop(columns="site"))
    assert not np.array_equal(new_ward, blind)
    np.testing.assert_array_equal(predict(frame.assign(site="z")), blind)
    np.testing.assert_array_equal(predict(frame.drop(columns="ward")), new_ward)
    explained = fitted.explain_row(frame[:1])
    assert explained.source == tuple(NESTED_SITES[0])
    assert fitted.explain_row(FRAME[:1].drop(columns="site"), [SITES[0], "9"]).source == SITES[0]
    if numeric:
        assert np.isfinite(fitted.predict_interval(frame.assign(ward="9"))).all()
        outer_only = clone(model).fit(X, y, sources=SITES).score(X, y, sources=SITES)
        assert fitted.score(frame, y) > outer_only
    else:
        assert fitted.predict_set(frame).any(axis=1).all()
    save(
        fitted, tmp_path / "pool.skops",
        columns=["x", "y", "z"], kinds=["numeric"] * 3, target="class", details={},
    )  # fmt: skip
    loaded = load(tmp_path / "pool.skops").model
    again = loaded.predict if numeric else loaded.predict_proba
    np.testing.assert_array_equal(again(frame), own)


def test_where_sources_do_not_help_the_source_blind_pool_predicts():
    rng = np.random.default_rng(2)
    rows, sites = rng.normal(size=(200, 2)), rng.integers(0, 20, 200)
    y = (rows[:, 0] + rng.logistic(size=200) > 0).astype(int)
    fitted = clone(SMALL).set_params(cv=5).fit(rows, y, sources=sites)
    assert not fitted.source_pool_.helps
    assert "Knowing the source does not help" in str(fitted.leaderboard_)
    np.testing.assert_array_equal(
        fitted.predict_proba(rows, sources=sites), fitted.predict_proba(rows)
    )
    assert fitted.explain_row(rows[0], sites[0]).source is None
    assert fitted.predict_set(rows, sources=sites).any(axis=1).all()


def test_values_saved_with_a_budget_and_in_any_number_of_workers(tmp_path, values_model):
    save(
        values_model, tmp_path / "pool.skops",
        columns=["x", "y", "z"], kinds=["numeric"] * 3, target="value", details={},
    )  # fmt: skip
    loaded = load(tmp_path / "pool.skops").model
    expected = values_model.predict_interval(X, SITES)
    np.testing.assert_array_equal(loaded.predict_interval(X, SITES), expected)
    two = clone(SMALL_NUMERIC).set_params(n_jobs=2).fit(X, VALUES, sources=SITES)
    np.testing.assert_array_equal(two.predict_interval(X, SITES), expected)
    quick = clone(SMALL_NUMERIC).set_params(time_budget=20.0).fit(X, VALUES, sources=SITES)
    assert quick.source_pool_.unseen_source_scores is None
    assert np.isfinite(quick.predict_interval(X, SITES)).all()


def test_members_that_pass_on_a_pool_have_its_times(small_model):
    board = {each.member: each for each in small_model.source_pool_.leaderboard}
    blind, passed_on = small_model.leaderboard_[0], board["source-blind"]
    assert passed_on.fit_seconds == blind.fit_seconds
    assert passed_on.predict_seconds in {None, blind.predict_seconds}
    others = [each.fit_seconds for name, each in board.items() if name != "pool"]
    assert board["pool"].fit_seconds == pytest.approx(sum(others))
