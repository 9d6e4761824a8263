import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.svm import SVC

from ensemblage._core import DamagedStateError
from ensemblage.fusion import SHARE_GRID, Normals, normal_log_density
from ensemblage.sources import SourceStrata
from ensemblage.strata import (
    HISS,
    ClassTarget,
    NumericTarget,
    StrataEnsembleClassifier,
    StrataEnsembleRegressor,
)
from ensemblage.strata._targets import (
    OutputCorrection,
    choose_shrinkage,
    conformal_factors,
    fit_output_correction,
    own_member_weights,
    own_outputs,
)

TWO = ClassTarget(np.array(["no", "yes"]))


def test_classes_are_encoded_and_must_have_weight():
    y, target = ClassTarget.read(np.array(["b", "a", "b"]), np.ones(3))
    assert y.tolist() == [1, 0, 1]
    assert target.classes.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="zero for all rows of class 'a'"):
        ClassTarget.read(np.array(["b", "a", "b"]), np.array([1.0, 0.0, 1.0]))
    with pytest.raises(ValueError, match="one class only, 'a'"):
        ClassTarget.read(np.array(["a", "a"]), np.ones(2))


def test_losses_and_likelihoods_of_classes_by_hand():
    outputs = np.array([[0.9, 0.1], [0.6, 0.4]])
    y = np.array([0, 1])
    assert TWO.losses(outputs, y).tolist() == [False, True]
    assert TWO.likelihoods(outputs, y).tolist() == [0.9, 0.4]
    assert TWO.likelihoods(outputs - 3, y) is None
    assert TWO.error_from_loss(0.25) == 0.25


def test_a_constant_member_predicts_its_class():
    member = TWO.constant_member(np.array([1, 1]))
    assert isinstance(member, DummyClassifier)
    assert TWO.is_constant(member)
    assert TWO.outputs(member, np.zeros((1, 3)), "predict_proba").tolist() == [[0.0, 1.0]]
    assert TWO.member_report(member, None, np.array([]))["classes"] == ["yes"]


def test_losses_densities_and_mixtures_of_a_numeric_target_by_hand():
    target = NumericTarget(2.0)
    outputs, y = np.array([[1.0, 4.0], [3.0, 4.0]]), np.array([1.0, 5.0])
    assert target.losses(outputs, y).tolist() == [0.0, 4.0]
    assert target.error_from_loss(4.0) == 2.0
    peak = 1 / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(target.likelihoods(outputs, y), [peak, peak * np.exp(-0.5)])
    mixed = target.mix(outputs[:1], outputs[1:], np.array([0.5]))
    np.testing.assert_allclose(mixed, [[2.0, 5.0]])


def test_a_constant_member_predicts_its_value_and_the_targets_variance():
    target = NumericTarget(2.0)
    member = target.constant_member(np.array([7.0, 7.0]))
    assert isinstance(member, DummyRegressor)
    assert target.outputs(member, np.zeros((1, 3)), "predict_std").tolist() == [[7.0, 4.0]]
    assert target.member_report(member, None, np.array([]))["score"] is None


@given(st.integers(2, 300))
def test_folds_are_stratified_by_deciles(n_rows):
    y = np.random.default_rng(n_rows).normal(size=n_rows)
    labels = NumericTarget(1.0).stratification_labels(y)
    counts = np.bincount(labels)
    assert len(counts) <= 10
    assert counts.max() - counts.min() <= 1
    assert (np.diff(labels[np.argsort(y)]) >= 0).all()


def test_a_numeric_target_has_its_standard_deviation():
    y, target = NumericTarget.read(np.array([1, 3, 100]), np.array([1.0, 1.0, 0.0]))
    assert (y.tolist(), target.scale) == ([1.0, 3.0, 100.0], 1.0)
    assert NumericTarget.read(np.array(["1", "3"], dtype=object), np.ones(2))[1].scale == 1.0


def made(seed, n_rows=400):
    """Rows with calibrated variances: fused means and variances, and the target."""
    rng = np.random.default_rng(seed)
    variance = rng.uniform(0.1, 4.0, n_rows)
    mean = rng.normal(size=n_rows)
    return np.column_stack([mean, variance]), mean + np.sqrt(variance) * rng.normal(size=n_rows)


def test_a_correction_by_hand():
    fused, anchored = np.array([[1.0, 4.0]]), np.array([[9.0], [3.0]])
    assert OutputCorrection().apply(fused, anchored).tolist() == [[1.0, 4.0]]
    assert OutputCorrection(1, 0.5, 2.0, 1.0).apply(fused, anchored).tolist() == [[2.0, 9.0]]


def test_calibrated_variances_are_kept():
    fused, y = made(0, n_rows=20_000)
    correction = fit_output_correction(fused, np.empty((0, 20_000)), y, np.ones(20_000))
    assert correction.weight == 0
    assert correction.factor == pytest.approx(1.0, abs=0.15)
    assert correction.offset < 0.25


def test_uninformative_variances_become_one_for_all_rows():
    fused, _ = made(1, n_rows=20_000)
    y = fused[:, 0] + 3 * np.random.default_rng(1).normal(size=20_000)
    correction = fit_output_correction(fused, np.empty((0, 20_000)), y, np.ones(20_000))
    assert correction.factor < 0.5
    assert correction.offset == pytest.approx(9.0, rel=0.1)


def test_a_perfect_anchor_has_all_the_weight():
    fused, y = made(2)
    anchored = np.stack([fused[:, 0] + 1, y])
    correction = fit_output_correction(fused, anchored, y, np.ones(400))
    assert (correction.anchor, correction.weight) == (1, 1.0)
    np.testing.assert_allclose(correction.apply(fused, anchored)[:, 0], y)
    assert correction.apply(fused, anchored)[:, 1].min() > 0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_neither_error_nor_log_score_is_worse_than_without(seed):
    fused, y = made(seed)
    rng = np.random.default_rng(seed)
    anchored = y + rng.uniform(0.1, 3.0) * rng.normal(size=(1, 400))
    correction = fit_output_correction(fused, anchored, y, np.ones(400))
    mean, variance = correction.apply(fused, anchored).T
    errors = [np.mean((each - y) ** 2) for each in (mean, fused[:, 0], anchored[0])]
    assert errors[0] <= min(errors[1:]) + 1e-12
    one = Normals(mean, np.full(400, errors[0]))
    predicted = normal_log_density(Normals(mean, variance), y).sum()
    assert predicted >= normal_log_density(one, y).sum() - 1e-9
    assert correction.weight in SHARE_GRID


TARGET = ClassTarget(np.array([0, 1]))
RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2))
SITES = np.array(["a", "b", "c"])[RNG.integers(0, 3, 300)]
RULE = X[:, 0] * np.where(SITES == "c", -1.0, 1.0)
Y = np.where(RULE + 0.3 * RNG.logistic(size=300) > 0, "ill", "well")


@pytest.fixture(scope="module")
def model():
    return StrataEnsembleClassifier(SourceStrata(), random_state=0).fit(X, Y, sources=SITES)


def test_shares_by_hand():
    assert own_member_weights(np.array([20.0, 60.0]), 20.0).tolist() == [0.5, 0.75]
    assert own_member_weights(np.array([20.0]), np.inf).tolist() == [0.0]
    assert own_member_weights(np.array([20.0]), 0.0).tolist() == [1.0]
    mixed = TARGET.mix(np.array([[1.0, 0.0]]), np.array([[0.2, 0.8]]), np.array([0.75]))
    np.testing.assert_allclose(mixed, [[0.8, 0.2]])


def test_own_members_of_several_kinds_are_averaged():
    # two kinds on three strata, then an anchor; outputs tell who speaks
    outputs = np.arange(7.0)[:, None, None] * np.ones((7, 2, 1))
    assert own_outputs(outputs, np.array([2, 0]), 3)[:, 0].tolist() == [3.5, 1.5]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_the_chosen_shrinkage_loses_no_more_than_any_other(seed):
    rng = np.random.default_rng(seed)
    own, fused = rng.dirichlet([1, 1], (2, 50))
    y, each = rng.integers(0, 2, 50), np.arange(50)
    strata, counts = rng.integers(0, 3, 50), np.array([5.0, 20.0, 100.0])

    def loss(shrinkage):
        outputs = TARGET.mix(own, fused, own_member_weights(counts, shrinkage)[strata])
        return -np.log(outputs[each, y]).sum()

    chosen = choose_shrinkage(own[each, y], fused[each, y], strata, np.ones(50), counts)
    assert loss(chosen) <= min(loss(0.0), loss(20.0), loss(np.inf)) + 1e-9


def test_a_known_source_uses_its_own_member(model):
    known, unknown = model.score(X, Y, sources=SITES), model.score(X, Y)
    assert known > unknown + 0.1
    proba = model.predict_proba(X, sources=SITES)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    own = SITES == "c"
    member = model.estimators_[2].predict_proba(X[own])
    share = own.sum() / (own.sum() + model.source_shrinkage_)
    expected = share * member + (1 - share) * model.predict_proba(X)[own]
    np.testing.assert_allclose(proba[own], expected)


def test_new_and_missing_sources_are_recognised_by_the_gate(model):
    sources = SITES.astype(object).copy()
    sources[:5], sources[5:10] = "new", None
    mixed = model.predict_proba(X, sources=sources)
    np.testing.assert_array_equal(mixed[:10], model.predict_proba(X)[:10])
    np.testing.assert_array_equal(mixed[10:], model.predict_proba(X, sources=SITES)[10:])


def test_small_sources_share_a_member():
    sites = SITES.astype(object).copy()
    sites[:12], sites[12:24] = "d", "e"
    strata = SourceStrata(random_state=0).fit(X, sources=sites.astype(str))
    assert strata.stratum_names_[-1] == "d + e"
    assert strata.strata_of_sources(["d", "a", "e", "new"], 4).tolist() == [3, 0, 3, -1]


def test_stratifiers_without_sources_raise(model):
    hiss = StrataEnsembleClassifier(HISS(3, 0.4), random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="sources were given, but HISS does not support them"):
        hiss.predict(X, sources=SITES)
    votes = clone(model).set_params(estimator=SVC(), fusion="stacking").fit(X, Y, sources=SITES)
    with pytest.raises(ValueError, match="members or fusion have no probabilities"):
        votes.predict(X, sources=SITES)


def scored(scores, strata):
    return {"scores": scores, "strata": strata, "weights": np.ones(len(scores))}


def test_strata_have_their_own_factors_with_shrinkage():
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.uniform(0, 1, 500), rng.uniform(0, 4, 500), [9.0]])
    narrow, wide, few = conformal_factors(
        scored(scores, np.repeat([0, 1, 2], [500, 500, 1])), 3, 0.9
    )
    assert narrow == pytest.approx(0.94, abs=0.05)
    assert wide == pytest.approx(3.6, abs=0.15)
    assert narrow < few <= 9.0


def test_a_coverage_beyond_the_rows_uses_the_largest_score():
    scores = scored(np.array([1.0, 2.0, 3.0]), np.zeros(3, int))
    assert conformal_factors(scores, 2, 0.99).tolist() == [3.0, 3.0]


def test_scores_of_no_stratum_are_refused():
    model = StrataEnsembleRegressor(HISS(2, 0.5), cv=2, random_state=0).fit(X, RULE)
    model._check_fitted()
    model.conformity_scores_["strata"][0] = 5
    with pytest.raises(DamagedStateError):
        model._check_fitted()
    model.conformity_scores_ = {"scores": np.ones(2)}
    with pytest.raises(DamagedStateError, match="other fields"):
        model._check_fitted()
