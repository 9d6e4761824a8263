import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.svm import SVC

from ensemblage.strata import HISS, SourceStrata, StrataEnsembleClassifier
from ensemblage.strata._given_source import (
    HeldOutPair,
    choose_pull,
    own_outputs,
    own_shares,
)
from ensemblage.strata._strata_targets import ClassTarget

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
    assert own_shares(np.array([20.0, 60.0]), 20.0).tolist() == [0.5, 0.75]
    assert own_shares(np.array([20.0]), np.inf).tolist() == [0.0]
    assert own_shares(np.array([20.0]), 0.0).tolist() == [1.0]
    mixed = TARGET.mix(np.array([[1.0, 0.0]]), np.array([[0.2, 0.8]]), np.array([0.75]))
    np.testing.assert_allclose(mixed, [[0.8, 0.2]])


def test_own_members_of_several_kinds_are_averaged():
    # two kinds on three strata, then an anchor; outputs tell who speaks
    outputs = np.arange(7.0)[:, None, None] * np.ones((7, 2, 1))
    assert own_outputs(outputs, np.array([2, 0]), 3)[:, 0].tolist() == [3.5, 1.5]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_the_chosen_pull_loses_no_more_than_any_other(seed):
    rng = np.random.default_rng(seed)
    own, fused = rng.dirichlet([1, 1], (2, 50))
    y, each = rng.integers(0, 2, 50), np.arange(50)
    pair = HeldOutPair(own[each, y], fused[each, y], rng.integers(0, 3, 50), np.ones(50))
    counts = np.array([5.0, 20.0, 100.0])

    def loss(pull):
        said = TARGET.mix(own, fused, own_shares(counts, pull)[pair.strata])
        return -np.log(said[each, y]).sum()

    assert loss(choose_pull(pair, counts)) <= min(loss(0.0), loss(20.0), loss(np.inf)) + 1e-9


def test_a_known_source_has_its_own_member_first(model):
    told, untold = model.score(X, Y, sources=SITES), model.score(X, Y)
    assert told > untold + 0.1
    proba = model.predict_proba(X, sources=SITES)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    own = SITES == "c"
    member = model.estimators_[2].predict_proba(X[own])
    share = own.sum() / (own.sum() + model.source_pull_)
    expected = share * member + (1 - share) * model.predict_proba(X)[own]
    np.testing.assert_allclose(proba[own], expected)


def test_new_and_missing_sources_are_recognised_by_the_gate(model):
    sources = SITES.astype(object).copy()
    sources[:5], sources[5:10] = "new", None
    mixed = model.predict_proba(X, sources=sources)
    np.testing.assert_array_equal(mixed[:10], model.predict_proba(X)[:10])
    np.testing.assert_array_equal(mixed[10:], model.predict_proba(X, sources=SITES)[10:])


def test_small_sources_have_the_member_that_they_share():
    sites = SITES.astype(object).copy()
    sites[:12], sites[12:24] = "d", "e"
    strata = SourceStrata(random_state=0).fit(X, sources=sites.astype(str))
    assert strata.sources_[-1] == "d + e"
    assert strata.find_strata(["d", "a", "e", "new"], 4).tolist() == [3, 0, 3, -1]


def test_who_does_not_know_sources_says_so(model):
    hiss = StrataEnsembleClassifier(HISS(3, 0.4), random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="sources were given, but HISS does not know them"):
        hiss.predict(X, sources=SITES)
    votes = clone(model).set_params(estimator=SVC(), fusion="stacking").fit(X, Y, sources=SITES)
    with pytest.raises(ValueError, match="members or fusion give no probabilities"):
        votes.predict(X, sources=SITES)
