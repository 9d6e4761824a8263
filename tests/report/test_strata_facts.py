import json

import msgspec
import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ensemblage.datasets import make_multi_source
from ensemblage.report import explain_model
from ensemblage.report._contributions import against_others
from ensemblage.report._explanation import Subject
from ensemblage.report._linear import linear_part
from ensemblage.report._strata import describe_training
from ensemblage.report._strata import row_facts as row_facts_of
from ensemblage.report._strata import strata_facts as strata_facts_of
from ensemblage.sources import SourceStrata
from ensemblage.strata import HISS, StrataEnsembleClassifier

pytestmark = pytest.mark.filterwarnings("ignore:.*hold one class only")


@pytest.fixture(scope="module")
def data():
    return make_multi_source(3, 240, 4, random_state=0, return_sources=True)


def subject(model, X=None, y=None, **options):
    return Subject(model, [f"column {j}" for j in range(4)], X, y, **options)


def strata_facts(model, X=None):
    return strata_facts_of(subject(model, X))


def row_facts(model, X, row):
    return row_facts_of(subject(model, X), row)


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
        explain_model(model, X, row=240)
    with pytest.raises(ValueError, match="`row` = 3 is a row of the data: give `X`"):
        explain_model(model, row=3)


@pytest.mark.parametrize("anchor", [None, SVC(kernel="linear")])
@pytest.mark.parametrize("fusion", ["gate", "mean", "log_linear"])
def test_columns_add_up_to_the_weighted_log_odds(data, anchor, fusion):
    X, y, _ = data
    model = fitted(X, y, HISS(3, 0.4), anchor=anchor, fusion=fusion)
    ensemble = model[-1]
    for row in (0, 17):
        decision = row_facts(model, X, row).decision
        total = decision.base + sum(each.amount for each in decision.contributions)
        assert total == pytest.approx(decision.value, abs=1e-12)
        scaled = model[0].transform(X[row : row + 1])
        weights = ensemble.explain_row(scaled)["weights"]
        label = int(ensemble.predict(scaled)[0])
        sign = 1 if label == 1 else -1
        members = [*ensemble.estimators_, *ensemble.anchors_]
        odds = [sign * member.decision_function(scaled)[0] for member in members]
        assert decision.value == pytest.approx(float(weights @ odds), abs=1e-10)
        assert decision.label == str(label)


def test_columns_add_up_for_three_classes(data):
    X, y, _ = data
    model = fitted(X, np.where(X[:, 0] > 0.3, 2, y), HISS(2, 0.6))
    ensemble, scaled = model[-1], model[0].transform(X[:1])
    decision = row_facts(model, X, 0).decision
    parts = [linear_part(each, np.arange(3)) for each in ensemble.estimators_]
    weights = ensemble.explain_row(scaled)["weights"]
    label = int(decision.label)
    value = sum(
        w * against_others(part.coef @ scaled[0] + part.intercept, label)
        for w, part in zip(weights, parts, strict=True)
    )
    assert decision.value == pytest.approx(float(value), abs=1e-10)


def test_what_is_not_linear_is_not_told_by_columns(data):
    X, y, _ = data
    stacked = fitted(X, y, HISS(2, 0.5), fusion="stacking")
    assert row_facts(stacked, X, 0).decision is None
    curved = StrataEnsembleClassifier(HISS(2, 0.5), SVC(), fusion="mean", random_state=0)
    model = make_pipeline(StandardScaler(), curved).fit(X, y)
    assert row_facts(model, X, 0).decision is None
    half = fitted(X, y, HISS(2, 0.5), anchor=SVC())
    assert 0 < row_facts(half, X, 0).decision.share < 1


def test_strata_have_names_and_rows_reasons(data):
    X, y, _ = data
    model = fitted(X, y, HISS(3, 0.3))
    facts = strata_facts(model, X)
    assert [each.name for each in facts.members] == facts.described.names
    story = row_facts(model, X, 0)
    best = max(story.members, key=lambda each: each.membership)
    assert best.why
    assert all(reason.startswith("column ") for reason in best.why)


def test_what_was_noted_after_the_fit_comes_first(data):
    X, y, _ = data
    model = fitted(X, y, HISS(2, 0.4))
    described = describe_training(subject(model, X, y))
    noted = {"strata": msgspec.to_builtins(described)}
    # without rows, and with few of them, the names are those of the training
    assert strata_facts_of(subject(model, details=noted)).described == described
    story = row_facts_of(subject(model, X[:1], details=noted), 0)
    assert [each.name for each in story.members] == described.names
    assert story.decision is not None
    assert strata_facts_of(subject(model)).described is None


def test_errors_on_training_rows_are_called_so(data):
    X, y, _ = data
    model = fitted(X, y, HISS(2, 0.4), fusion="mean")
    assert describe_training(subject(model, X, y)).error_rows == "training"
    assert describe_training(subject(fitted(X, y, HISS(2, 0.4)), X, y)).error_rows == "held out"
