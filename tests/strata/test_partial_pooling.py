import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from ensemblage.persistence import load, save
from ensemblage.strata import PartialPoolingClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 2)) * [1.0, 100.0] + [0.0, 1e4]
SITES = np.array(["a", "b", "c", "d"])[np.arange(400) % 4]
RULE = X[:, 0] + np.where(SITES == "d", -1, 1) * (X[:, 1] - 1e4) / 100
Y = np.where(RULE + 0.3 * RNG.logistic(size=400) > 0, "ill", "well")


@pytest.fixture(scope="module")
def model():
    return PartialPoolingClassifier(random_state=0).fit(X, Y, sources=SITES)


@pytest.mark.filterwarnings("ignore:PartialPoolingClassifier was fitted without sources")
@parametrize_with_checks(
    [
        PartialPoolingClassifier(shared_penalty=1.0, own_penalty=1.0, tol=1e-10),
        PartialPoolingClassifier(own_penalty=1.0, tol=1e-10),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


def test_each_source_has_its_own_rule(model):
    assert (model.predict(X, sources=SITES) == Y).mean() > 0.85
    assert model.sources_.tolist() == ["a", "b", "c", "d"]
    assert model.coef_.shape == (4, 1, 2)
    # classes are sorted: positive coefficients speak for "well"
    assert (model.coef_[:3, 0, 1] < 0).all()
    assert model.coef_[3, 0, 1] > 0


def test_the_source_that_differs_is_named(model):
    first = model.deviations()[0]
    assert (first.source, first.column, first.label) == ("d", "x1", "well")
    assert 0 < first.low < first.value < first.high
    assert {each.column for each in model.deviations()} == {"x1"}


def test_an_unknown_source_gets_the_mean(model):
    common = model.decision_function(X[:3])
    by_hand = X[:3] @ model.coef_.mean(axis=0)[0] + model.intercept_.mean()
    np.testing.assert_allclose(common, by_hand, rtol=1e-9)
    mixed = model.decision_function(X[:3], sources=[None, "new", "a"])
    np.testing.assert_array_equal(mixed[:2], common[:2])
    assert mixed[2] != common[2]


def test_units_do_not_matter(model):
    in_thousands = PartialPoolingClassifier(random_state=0).fit(X / 1000, Y, sources=SITES)
    np.testing.assert_allclose(
        in_thousands.predict_proba(X / 1000, sources=SITES),
        model.predict_proba(X, sources=SITES),
        atol=1e-6,
    )
    np.testing.assert_allclose(in_thousands.coef_, 1000 * model.coef_, rtol=1e-4)


def test_several_classes_rare_sources_and_sources_of_one_class():
    y = np.digitize(RULE, [-1.0, 1.0])
    sites = SITES.astype(object).copy()
    sites[:3] = "tiny"
    lone = y == 2
    sites[np.flatnonzero(lone)[:20]] = "one class"
    model = PartialPoolingClassifier(random_state=0).fit(X, y, sources=sites.astype(str))
    proba = model.predict_proba(X, sources=sites.astype(str))
    assert model.coef_.shape == (6, 3, 2)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert np.isfinite(model.coef_).all()


@pytest.fixture
def routed():
    """A pipeline that asks for the sources wherever it can."""
    with sklearn.config_context(enable_metadata_routing=True):
        inner = PartialPoolingClassifier(shared_penalty=1.0, own_penalty=1.0)
        inner.set_fit_request(sources=True).set_score_request(sources=True)
        inner.set_predict_request(sources=True)
        yield make_pipeline(StandardScaler(), inner)


def test_sources_are_routed_through_pipelines(routed):
    known = routed.fit(X, Y, sources=SITES).predict(X, sources=SITES)
    assert (known == Y).mean() > 0.85


@pytest.mark.usefixtures("routed_scores")
def test_sources_are_routed_through_folds(routed):
    scores = cross_val_score(routed, X, Y, cv=3, params={"sources": SITES})
    assert scores.min() > 0.8


def test_frames_names_and_files(tmp_path, model):
    frame = pd.DataFrame(X, columns=["age", "pressure"])
    named = PartialPoolingClassifier(random_state=0).fit(frame, Y, sources=pd.Series(SITES))
    assert named.deviations()[0].column == "pressure"
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops").model
    np.testing.assert_array_equal(
        again.predict_proba(X, sources=SITES), model.predict_proba(X, sources=SITES)
    )
    model_of_wrong_shape = PartialPoolingClassifier(random_state=0).fit(X, Y, sources=SITES)
    model_of_wrong_shape.coef_ = model_of_wrong_shape.coef_[:2]
    save(model_of_wrong_shape, tmp_path / "forged.skops")
    with pytest.raises(ValueError, match="forged or damaged PartialPoolingClassifier"):
        load(tmp_path / "forged.skops")


def test_without_sources_it_says_so():
    with pytest.warns(UserWarning, match="without sources: all rows count as one"):
        model = PartialPoolingClassifier(random_state=0).fit(X, Y)
    assert model.own_penalty_ == np.inf
    assert model.deviations() == []


def test_what_cannot_be_learned_is_refused():
    with pytest.raises(ValueError, match="one class only, 'ill'"):
        PartialPoolingClassifier().fit(X, np.full(400, "ill"), sources=SITES)
    with pytest.raises(ValueError, match="at least one non-zero"):
        PartialPoolingClassifier().fit(X, Y, sample_weight=np.zeros(400), sources=SITES)


def test_infinite_penalties_are_its_two_ends():
    apart = PartialPoolingClassifier(shared_penalty=np.inf, own_penalty=1.0)
    apart.fit(X, Y, sources=SITES)
    swapped = np.where(SITES == "a", Y, np.where(Y == "ill", "well", "ill"))
    against = PartialPoolingClassifier(shared_penalty=np.inf, own_penalty=1.0)
    against.fit(X, swapped, sources=SITES)
    # slopes of one source do not depend on what the others say, only intercepts are shared
    np.testing.assert_allclose(against.coef_[0], apart.coef_[0], rtol=0.02)
    together = PartialPoolingClassifier(shared_penalty=1.0, own_penalty=np.inf)
    together.fit(X, Y, sources=SITES)
    assert np.ptp(together.coef_, axis=0).max() == 0
