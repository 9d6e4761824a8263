"""What a model file may hold: every class of ours that a fitted model can be made of."""

import importlib
import io
import pkgutil

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import ensemblage
from ensemblage.persistence import TRUSTED_TYPES, load, save
from persistence.archives import rewrite

# what others inherit from; no model is one
CONTRACTS = {"ConsensusClusterer", "Fusion"}

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4))
Y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")


def exported_estimators():
    """Every class with a ``fit`` that a package exports, but the contracts."""
    for package in pkgutil.iter_modules(ensemblage.__path__, "ensemblage."):
        door = importlib.import_module(package.name)
        for name in getattr(door, "__all__", ()):
            each = getattr(door, name)
            estimator = isinstance(each, type) and issubclass(each, BaseEstimator)
            if estimator and hasattr(each, "fit") and name not in CONTRACTS:
                yield each


def test_trusted_types_exist():
    for name in TRUSTED_TYPES:
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name


def test_every_exported_estimator_is_trusted():
    ours = {f"{each.__module__}.{each.__qualname__}" for each in exported_estimators()}
    assert len(ours) > 15
    assert ours <= set(TRUSTED_TYPES)


@pytest.mark.parametrize(
    ("model", "forge"),
    [
        (RandomForestClassifier(3, random_state=0), "left_child"),
        (RandomForestClassifier(3, random_state=0), "feature"),
        (HistGradientBoostingClassifier(max_iter=3), "left"),
        (HistGradientBoostingClassifier(max_iter=3), "feature_idx"),
    ],
)
def test_forged_trees_are_refused(tmp_path, model, forge):
    """A tree whose nodes point outside would crash the process at predict."""
    path = tmp_path / "trees.skops"
    save(model.fit(X, Y), path)
    assert (load(path).model.predict(X) == model.predict(X)).all()
    forged = []

    def change(name, data):
        if not name.endswith(".npy"):
            return data
        array = np.load(io.BytesIO(data))
        if array.dtype.names is None or forge not in array.dtype.names:
            return data
        array[forge][0] = 1000
        forged.append(name)
        buffer = io.BytesIO()
        np.save(buffer, array)
        return buffer.getvalue()

    rewrite(path, change)
    assert forged
    with pytest.raises(ValueError, match="decision tree with forged or damaged nodes"):
        load(path)
