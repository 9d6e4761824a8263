import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import log_loss

from ensemblage._core import take_rows
from ensemblage.fusion import (
    AnchoredGate,
    FusedClassifierMixin,
    Fusion,
    FusionContext,
    Gate,
    LogPool,
    SourcedClassifierMixin,
)
from made_outputs import random_outputs


def test_the_contract_itself_fuses_nothing():
    with pytest.raises(NotImplementedError):
        Fusion().combine(random_outputs(0))


def as_decisions(outputs):
    return np.log(outputs)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", [np.asarray, as_decisions])
@pytest.mark.parametrize(
    "fusion", [Gate(), Gate(2.0), AnchoredGate(n_anchors=0), LogPool()], ids=repr
)
def test_a_fit_on_parts_is_a_fit_on_each_part(fusion, form, weighted):
    rng = np.random.default_rng(0)
    outputs, y = form(random_outputs(1, n_samples=90)), np.arange(90) % 3
    affinity = rng.normal(scale=9, size=(90, 3))
    context = FusionContext(affinity if "affinity" in fusion.needs else None)
    weights = rng.integers(1, 4, 90) if weighted else None
    parts = [np.arange(0, 90, 2), np.arange(30), np.arange(30, 90)]
    fitted = fusion.fit_parts(parts, outputs, y, context, sample_weight=weights)
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

    def _gives_probabilities(self):
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


class Told(SourcedClassifierMixin, BaseEstimator):
    """Says the second class of rows of source 1, and the first of others."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, probable=True):
        self.probable = probable

    def _scores(self, X, sources=None):
        given = np.zeros(len(X), dtype=int) if sources is None else np.asarray(sources)
        return np.eye(2)[given]

    def _gives_probabilities(self):
        return self.probable


def test_sources_reach_the_scores():
    X = np.zeros((3, 1))
    assert Told().predict(X, sources=[0, 1, 1]).tolist() == ["no", "yes", "yes"]
    assert Told().predict(X).tolist() == ["no"] * 3
    assert Told().predict_proba(X, sources=[0, 1, 0])[:, 1].tolist() == [0, 1, 0]
    assert Told().score(X, ["no", "yes", "no"], sources=[0, 1, 1]) == pytest.approx(2 / 3)
    assert Told().score(X, ["no", "yes", "no"], [1, 2, 1]) == 0.5


def test_probabilities_only_where_there_are_some():
    assert not hasattr(Told(probable=False), "predict_proba")
