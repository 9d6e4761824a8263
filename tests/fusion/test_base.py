import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from ensemblage._core import set_seed, take_rows
from ensemblage.fusion import (
    AffinityGate,
    AnchoredGate,
    FusedClassifierMixin,
    Fusion,
    FusionContext,
    LocalCompetence,
    LogLinearPool,
    Product,
    SourcedClassifierMixin,
    Stacking,
    Vote,
)
from ensemblage.strata import BootstrapStrata, StrataEnsembleClassifier
from made_outputs import random_outputs


class First(Fusion):
    """Takes the first member."""

    def __init__(self, inner=None, *, size=1):
        self.inner = inner
        self.size = size

    def combine(self, outputs, context=None):
        return outputs[0]


def test_the_base_class_is_abstract():
    with pytest.raises(TypeError, match="combine"):
        Fusion()


def test_parameters_are_those_of_an_estimator():
    fusion = First(AffinityGate(2.0), size=3)
    assert fusion.get_params() == {
        "inner": fusion.inner, "size": 3, "inner__temperature": 2.0
    }  # fmt: skip
    copy = clone(fusion).set_params(size=4, inner__temperature=5.0)
    assert (copy.size, copy.inner.temperature) == (4, 5.0)
    assert (fusion.size, fusion.inner.temperature) == (3, 2.0)
    assert repr(copy) == "First(inner=AffinityGate(temperature=5.0), size=4)"
    assert repr(First()) == "First()"
    with pytest.raises(ValueError, match="First has no parameter 'depth'; it has"):
        fusion.set_params(depth=1)


def test_parameters_of_a_fusion_are_searched():
    X, y = load_iris(return_X_y=True)
    ensemble = StrataEnsembleClassifier(
        BootstrapStrata(2, random_state=0), GaussianNB(), fusion=LogLinearPool(), cv=2
    )
    search = GridSearchCV(ensemble, {"fusion__weight_penalty": [1.0, 5.0]}, cv=2).fit(X, y)
    assert search.best_estimator_.fusion_.weight_penalty in {1.0, 5.0}
    assert "weight_penalty" in ensemble.set_params(fusion__weight_penalty=3.0)._repr_html_()


def test_seeds_reach_what_a_fusion_holds():
    fusion = set_seed(Stacking(SVC()), 0)
    assert isinstance(fusion.final_estimator.random_state, int)


@pytest.mark.parametrize("fusion", [Vote(), Product(), LocalCompetence()], ids=repr)
def test_rules_for_classes_refuse_a_numeric_target(fusion):
    context = FusionContext(X=np.eye(3))
    with pytest.raises(ValueError, match=f"fusion={type(fusion).__name__}.* supports classif"):
        fusion.fit(np.ones((1, 3, 2)), np.arange(3.0), context, numeric=True)


def as_decisions(outputs):
    return np.log(outputs)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", [np.asarray, as_decisions])
@pytest.mark.parametrize(
    "fusion",
    [AffinityGate(), AffinityGate(2.0), AnchoredGate(n_anchors=0), LogLinearPool()],
    ids=repr,
)
def test_a_fit_on_parts_is_a_fit_on_each_part(fusion, form, weighted):
    rng = np.random.default_rng(0)
    outputs, y = form(random_outputs(1, n_samples=90)), np.arange(90) % 3
    affinity = rng.normal(scale=9, size=(90, 3))
    context = FusionContext(affinity if "affinity" in fusion.needs else None)
    weights = rng.integers(1, 4, 90) if weighted else None
    parts = [np.arange(0, 90, 2), np.arange(30), np.arange(30, 90)]
    fitted = fusion.fit_subsets(parts, outputs, y, context, sample_weight=weights)
    for part, each in zip(parts, fitted, strict=True):
        near = context.take(part)
        alone = clone(fusion).fit(
            outputs[:, part], y[part], near,
            sample_weight=None if weights is None else weights[part],
        )  # fmt: skip
        np.testing.assert_allclose(
            each.combine(outputs[:, part], near), alone.combine(outputs[:, part], near)
        )
    assert not hasattr(fusion, "temperature_")


@pytest.mark.parametrize("rows", [np.array([2, 0]), np.array([True, False, True])], ids=str)
def test_a_context_of_some_rows(rows):
    known = FusionContext(affinity=np.eye(3), X=pd.DataFrame({"site": ["a", "b", "c"]}))
    some = known.take(rows)
    np.testing.assert_array_equal(some.affinity, np.eye(3)[rows])
    assert some.X["site"].tolist() == np.array(["a", "b", "c"])[rows].tolist()
    assert some.sources is None


def test_rows_are_copied():
    X = np.arange(6.0).reshape(3, 2)
    taken = take_rows(X, np.array([1]))
    taken[:] = 9
    assert X.max() == 5


class Fixed(FusedClassifierMixin):
    def __init__(self, scores, classes, *, probable):
        self.scores, self.classes_, self.probable = np.array(scores), np.array(classes), probable

    def _scores(self, X):
        return self.scores

    def _returns_probabilities(self):
        return self.probable


def test_probabilities():
    model = Fixed([[0.2, 0.8], [0.6, 0.4]], ["a", "b"], probable=True)
    assert model.predict(None).tolist() == ["b", "a"]
    np.testing.assert_array_equal(model.predict_proba(None), model.scores)
    assert not hasattr(model, "decision_function")


def test_no_probability_is_above_one():
    above = np.nextafter(1.0, 2.0)
    model = Fixed([[above, 0.0]], ["a", "b"], probable=True)
    assert model.predict_proba(None).tolist() == [[1.0, 0.0]]
    assert log_loss(["a"], model.predict_proba(None), labels=["a", "b"]) < 1e-15


@pytest.mark.parametrize(("scores", "shape"), [([[-2.0, 2.0]], (1,)), ([[-2.0, 2.0, 1.0]], (1, 3))])
def test_two_classes_have_one_decision_value(scores, shape):
    model = Fixed(scores, list("abc")[: len(scores[0])], probable=False)
    assert model.decision_function(None).shape == shape
    assert model.predict(None).tolist() == ["b"]
    assert not hasattr(model, "predict_proba")


def test_what_a_class_must_fill_in():
    bare = FusedClassifierMixin()
    with pytest.raises(NotImplementedError):
        bare.predict(None)
    assert not hasattr(bare, "predict_proba")


class BySource(SourcedClassifierMixin, BaseEstimator):
    """Predicts the second class for source 1, and the first for others."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, probable=True):
        self.probable = probable

    def _scores(self, X, sources=None):
        given = np.zeros(len(X), dtype=int) if sources is None else np.asarray(sources)
        return np.eye(2)[given]

    def _returns_probabilities(self):
        return self.probable


def test_sources_reach_the_scores():
    X = np.zeros((3, 1))
    assert BySource().predict(X, sources=[0, 1, 1]).tolist() == ["no", "yes", "yes"]
    assert BySource().predict(X).tolist() == ["no"] * 3
    assert BySource().predict_proba(X, sources=[0, 1, 0])[:, 1].tolist() == [0, 1, 0]
    assert BySource().score(X, ["no", "yes", "no"], sources=[0, 1, 1]) == pytest.approx(2 / 3)
    assert BySource().score(X, ["no", "yes", "no"], [1, 2, 1]) == 0.5


def test_probabilities_only_where_there_are_some():
    assert not hasattr(BySource(probable=False), "predict_proba")
