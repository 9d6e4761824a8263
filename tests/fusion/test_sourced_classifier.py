import numpy as np
import pytest
from sklearn.base import BaseEstimator

from ensemblage.fusion import SourcedClassifierMixin


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
