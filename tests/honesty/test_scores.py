"""Scores of fit and compare against fresh rows, and how often compare calls noise significant."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

from ensemblage.datasets import Dataset
from ensemblage.studies import compare, train
from honesty.drawn import assert_honest, draw_classes, draw_values

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.* strata hold one class only:UserWarning"),
]
CHEAP = [("logistic", 20), ("tree", 25), ("bayesnet", 25), ("boosting", 25), ("strata", 20)]


@pytest.mark.parametrize("effect", [0.0, 1.0])
@pytest.mark.parametrize(("method", "n_draws"), CHEAP)
def test_accuracy_that_fit_prints(method, n_draws, effect):
    told, true = [], []
    for draw in range(n_draws):
        train_rows, (X, y) = draw_classes(60, draw, effect)
        done = train(Dataset.from_arrays(*train_rows), method, n_splits=5, seed=0)
        told.append(1 - done.comparison.summary[0].accuracy)
        true.append((done.model.predict(X).astype(int) != y).mean())
    assert_honest(told, true, pessimism=0.03)


@pytest.mark.parametrize("effect", [0.0, 1.0])
@pytest.mark.parametrize(("method", "n_draws"), [("ridge", 20), ("tree", 25), ("strata", 20)])
def test_rmse_that_fit_prints(method, n_draws, effect):
    told, true = [], []
    for draw in range(n_draws):
        train_rows, (X, y) = draw_values(60, draw, effect)
        done = train(Dataset.from_arrays(*train_rows), method, n_splits=5, seed=0)
        told.append(done.comparison.summary[0].rmse)
        true.append(np.sqrt(((done.model.predict(X) - y) ** 2).mean()))
    assert_honest(told, true, pessimism=0.07)


@pytest.mark.parametrize("effect", [0.0, 1.0])
def test_equal_methods_are_rarely_significantly_different(effect):
    methods = {"one": GaussianNB(), "two": LinearDiscriminantAnalysis()}
    found = []
    for draw in range(60):
        (X, y), _ = draw_classes(100, draw)
        X[:, 0] += effect * y  # independent columns of equal variance: both methods are optimal
        found.append(compare(X, y, methods, n_splits=5, seed=draw).choice.significant)
    assert np.mean(found) <= 0.05


def test_no_method_is_significantly_better_than_chance_on_noise():
    significant, recommended = [], []
    for draw in range(40):
        (X, y), _ = draw_classes(100, draw)
        methods = ["majority", "logistic", "bayesnet"]
        choice = compare(X, y, methods, n_splits=5, seed=draw).choice
        significant.append(choice.significant and choice.method != "majority")
        recommended.append(choice.method != "majority")
    assert np.mean(significant) <= 0.05
    assert np.mean(recommended) <= 0.1
