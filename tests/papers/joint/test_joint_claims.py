"""Statistical claims of the joint feature subsets, with fixed seeds."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from ensemblage.datasets import TableEncoder, load_dataset
from papers.joint.claims import (
    COMPARED,
    compare_with_logistic,
    gate_gains,
    rankings,
    selection_precision,
)


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [100, 500])
def test_refined_gate_is_three_points_above_logistic_regression(n_rows):
    scores = gate_gains(n_rows, n_datasets=20)
    assert (scores["refined gate"] - scores["logistic regression"]).mean() >= 3.0
    assert set(scores) >= {"random mixture", "quadratic logistic regression"}


@pytest.mark.slow
def test_selection_among_two_hundred_dummies():
    precision = selection_precision(range(100, 110))
    assert precision["joint subsets"].mean() >= 0.80
    assert set(precision) >= {"RFE", "L1", "mutual information"}


def test_rankings_of_small_data():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 10)), np.repeat([0, 1], 40)
    X[:, 3] += 3 * y
    for name, ranks in rankings(X, y, 2, seed=0).items():
        assert np.argmin(ranks) == 3, name


def test_verdict_on_easy_data():
    verdict = compare_with_logistic(*load_wine(return_X_y=True), n_splits=2)
    assert verdict.auto > 90
    assert 0 <= verdict.t_test <= 1


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_automatic_fusion_against_a_tuned_logistic_regression(shared):
    verdicts = {}
    for name in COMPARED:
        dataset = load_dataset(name, shared / "data")
        X = TableEncoder(kinds=list(dataset.kinds)).fit_transform(dataset.X)
        verdicts[name] = compare_with_logistic(X, np.unique(dataset.y, return_inverse=True)[1])
    for name, verdict in verdicts.items():
        assert verdict.gain >= -verdict.error, (name, verdict)
    assert sum(verdict.gain > 0 for verdict in verdicts.values()) >= 3
