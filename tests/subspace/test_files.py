"""Fitted estimators survive a model file."""

import numpy as np
import pytest

from ensemblage.datasets import make_quarter_circle
from ensemblage.persistence import load, save
from ensemblage.subspace import JointSubspaceClassifier, JointSubspaceSelector

QUICK = {"n_estimators": 2, "max_iter": 5, "random_state": 0}


@pytest.mark.parametrize("options", [
    {}, {"fusion": "mean"}, {"fusion": "vote"}, {"fusion": "stacking"}, {"fusion": "local"},
    {"refine": "gate"}, {"importance": [1.0, 2.0]}, {"basis": "quadratic"},
    {"basis": "spline", "refine": "gate"},
])  # fmt: skip
def test_classifier(options, tmp_path):
    X, y = make_quarter_circle(30, n_dummies=1, random_state=0)
    ensemble = JointSubspaceClassifier(**options, **QUICK).fit(X, y)
    save(ensemble, tmp_path / "m.skops", columns=list("abc"), kinds=["number"] * 3)
    again = load(tmp_path / "m.skops").model
    np.testing.assert_array_equal(again.predict_proba(X), ensemble.predict_proba(X))


def test_selector(tmp_path):
    X, y = make_quarter_circle(30, n_dummies=1, random_state=0)
    selector = JointSubspaceSelector(2, **QUICK).fit(X, y)
    save(selector, tmp_path / "m.skops", columns=list("abc"), kinds=["number"] * 3)
    again = load(tmp_path / "m.skops").model
    np.testing.assert_array_equal(again.transform(X), selector.transform(X))
