import json

import msgspec
import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ensemblage.datasets import make_multi_source
from ensemblage.explain._strata_facts import row_facts, strata_facts
from ensemblage.strata import HISS, SourceStrata, StrataEnsembleClassifier

pytestmark = pytest.mark.filterwarnings("ignore:.*hold one class only")


@pytest.fixture(scope="module")
def data():
    return make_multi_source(3, 240, 4, random_state=0, return_sources=True)


def fitted(X, y, strata, **options):
    ensemble = StrataEnsembleClassifier(strata, random_state=0, **options)
    return make_pipeline(StandardScaler(), ensemble).fit(X, y)


def test_members_of_a_stacked_ensemble(data):
    X, y, _ = data
    model = fitted(X, y, HISS(3, 0.25), fusion="stacking")
    facts = strata_facts(model)
    assert (facts.stratifier, facts.fusion, facts.n_strata) == ("HISS", "Stacking", 3)
    assert [each.member for each in facts.members] == ["0", "1", "2"]
    assert {each.estimator for each in facts.members} == {"ScaledLogisticRegression"}
    assert [each.n_rows for each in facts.members] == [60, 60, 60]
    assert sum(each.weight for each in facts.members) == pytest.approx(1)
    assert all(0 <= each.score <= 1 for each in facts.members)
    memberships = model[-1].stratifier_.memberships_
    assert sum(each.closest for each in facts.members) == pytest.approx(
        (memberships.max(axis=1) > 0).mean()
    )


def test_closest_by_hand(data):
    X, y, _ = data
    model = fitted(X, y, HISS(2, 0.5), fusion="mean")
    model[-1].stratifier_.memberships_ = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.5]])
    assert [each.closest for each in strata_facts(model).members] == [0.375, 0.375]


def test_rows_that_are_given_are_counted_instead(data):
    X, y, _ = data
    model = fitted(X, y, make_pipeline(PCA(2), HISS(3, 0.4)))
    facts = strata_facts(model, X[:1])
    assert facts.rows == "given"
    # a single row has one closest stratum, or shares it, or has none
    assert sum(each.closest for each in facts.members) == pytest.approx(1, abs=1)


def test_anchor_and_constant_members_have_their_names(data):
    X, y, sources = data
    facts = strata_facts(fitted(X, np.where(sources == 0, 2, y), HISS(6, 0.1), anchor=SVC()))
    assert facts.members[-1].member == "anchor"
    assert facts.members[-1].estimator == "SVC"
    assert facts.members[-1].closest is None
    constant = [each for each in facts.members if len(each.classes) == 1]
    assert {(each.estimator, *each.classes) for each in constant} == {("DummyClassifier", "2")}


def test_one_row_by_hand(data):
    X, y, _ = data
    model = fitted(X, y, HISS(3, 0.4), fusion="mean")
    story = row_facts(model, X, 5)
    assert story.row == 5
    assert story.prediction == str(model.predict(X[5:6])[0])
    outputs = np.array([each.outputs for each in story.members])
    np.testing.assert_allclose(story.scores, outputs.mean(axis=0))
    scaled = model[0].transform(X[5:6])
    expected = model[-1].stratifier_.transform(scaled)[0]
    assert [each.membership for each in story.members] == pytest.approx(expected.tolist())
    json.dumps(msgspec.to_builtins(story), allow_nan=False)


def test_a_gates_weights_are_the_rows_own(data):
    X, y, _ = data
    story = row_facts(fitted(X, y, HISS(3, 0.4)), X, 0)
    assert sum(each.weight for each in story.members) == pytest.approx(1)


def test_known_sources_have_their_names(data):
    X, y, sources = data
    places = np.array(["Basel", "Bern", "Genf"])[sources]
    model = StrataEnsembleClassifier(SourceStrata(), random_state=0).fit(X, y, sources=places)
    assert [each.member for each in strata_facts(model).members] == ["Basel", "Bern", "Genf"]


def test_a_row_that_is_not_there_is_named(data):
    X, y, _ = data
    model = fitted(X, y, HISS(3, 0.4))
    with pytest.raises(ValueError, match="no row 240: the data have rows 0 to 239"):
        row_facts(model, X, 240)
    with pytest.raises(ValueError, match="`row` = 3 is a row of the data: give `X`"):
        row_facts(model, None, 3)
