"""Expectation maximisation, one step by hand and the loop's end."""

import numpy as np
import pytest

from ensemblage.blocks import MemoryBlocks
from ensemblage.kernels import make_gaussians
from ensemblage.strata._densities import StrataModel
from ensemblage.strata._em import EMSettings, Rule, column_spread, pick_rows, run_em

X = np.array([[0.0], [1.0], [4.0], [5.0]])


def start(means=(0.5, 4.5)):
    gaussians = make_gaussians(np.array(means)[:, None], np.ones((2, 1)), "diag")
    return StrataModel(np.zeros(1), gaussians, "diag")


def same_rule(source, moments, rule):
    return rule


def test_mean_and_variance_over_blocks():
    weights = np.array([1.0, 2.0, 1.0, 0.0])
    mean, variance = column_spread(MemoryBlocks(X, weights, block_rows=3))
    np.testing.assert_allclose(mean, [1.5])
    np.testing.assert_allclose(variance, [(2.25 + 2 * 0.25 + 6.25) / 4])


def test_rows_by_number_over_blocks():
    picked = pick_rows(MemoryBlocks(X, block_rows=3), np.array([0, 2, 3]))
    np.testing.assert_array_equal(picked, [[0], [4], [5]])


def test_one_iteration_by_hand():
    # responsibilities under equal weights: a logistic of the difference of the log densities
    settings = EMSettings(weight=4.0, floor=1e-6, max_iter=1, tol=0.0)
    rule = Rule(np.log(np.full((2, 1), 0.5)))
    state = run_em(MemoryBlocks(X, block_rows=3), start(), rule, same_rule, settings, lambda: False)
    share = 1 / (1 + np.exp(((X[:, 0] - 0.5) ** 2 - (X[:, 0] - 4.5) ** 2) / 2))
    mean = share @ X[:, 0] / share.sum()
    variance = share @ (X[:, 0] - mean) ** 2 / share.sum()
    assert state.model.gaussians.means[0, 0] == pytest.approx(mean, rel=1e-12)
    assert state.model.gaussians.covariances[0, 0] == pytest.approx(variance, rel=1e-9)
    assert len(state.path) == 2
    assert state.path[1] > state.path[0]
    assert not state.converged


def test_the_loop_ends_when_nothing_is_gained():
    settings = EMSettings(weight=4.0, floor=1e-6, max_iter=500, tol=1e-9)
    rule = Rule(np.log(np.full((2, 1), 0.5)))
    state = run_em(MemoryBlocks(X), start(), rule, same_rule, settings, lambda: False)
    assert state.converged
    assert len(state.path) < 500
    assert np.diff(state.path).min() >= -1e-12


def test_a_callback_may_end_the_loop():
    settings = EMSettings(weight=4.0, floor=1e-6, max_iter=500, tol=0.0)
    rule = Rule(np.log(np.full((2, 1), 0.5)))
    state = run_em(MemoryBlocks(X), start(), rule, same_rule, settings, lambda: True)
    assert len(state.path) == 2
    assert not state.converged
