"""The statistical bars of the joint feature subsets on generated data, with fixed seeds."""

import numpy as np
import pytest

from ensemblage.experiments._joint_synthetic import (
    _rankings,
    figure_2,
    gate_gains,
    selection_precision,
)


def test_figure_2_in_a_few_runs():
    count = figure_2(100, runs=3, n_estimators=5)
    assert count.runs == 3
    assert count.both >= 2


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "least"), [(20, 90), (100, 95)])
def test_true_pair_is_found_whatever_the_column_order(n_rows, least):
    count = figure_2(n_rows, runs=100, first_seed=1000)
    assert count.both >= least
    assert count.by_score >= least


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
    for name, ranks in _rankings(X, y, 2, seed=0).items():
        assert np.argmin(ranks) == 3, name
