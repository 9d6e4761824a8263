"""Small models of each kind, fitted once."""

from functools import cache

import pytest

from ensemblage.datasets import load_dataset
from ensemblage.methods import make_model
from ensemblage.strata import HISS, StrataEnsembleClassifier

SMALLER = {
    "subspace": {"model__n_estimators": 2, "model__fusion": "product", "model__max_iter": 5},
    "strata": {"model": StrataEnsembleClassifier(HISS(2, 0.8), random_state=0)},
}


@pytest.fixture(scope="session")
def quick_model():
    """Fit a method on iris, smaller than by default."""

    @cache
    def fitted(method):
        iris = load_dataset("iris")
        model = make_model(method, iris.columns, seed=0).set_params(**SMALLER.get(method, {}))
        return model.fit(iris.X, iris.y)

    return fitted
