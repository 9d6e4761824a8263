import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemblage.evaluation import _calibration, source_thresholds, weighted_threshold
from reference.conformal import slow_source_threshold


def made(seed, n_rows=80, n_sources=4):
    rng = np.random.default_rng(seed)
    sources = rng.integers(0, n_sources, n_rows)
    scores = np.clip(rng.beta(1, 3, n_rows) + 0.1 * sources, 0, 1).round(2)
    return scores, sources, rng.uniform(0.5, 2.0, n_rows)


def test_a_threshold_by_hand():
    scores, ones = np.array([0.4, 0.1, 0.2, 0.3]), np.ones(4)
    # of five rows, one of them to come, 60 % are three: the third smallest score
    assert weighted_threshold(scores, ones, 0.6, 1.0) == 0.3
    assert weighted_threshold(scores, ones, 0.75, 0.0) == 0.3
    # 90 % of five rows are more than the four there are
    assert weighted_threshold(scores, ones, 0.9, 1.0) == np.inf
    assert weighted_threshold(scores, np.array([3.0, 1.0, 1.0, 1.0]), 0.5, 0.0) == 0.3


def test_sources_by_hand(monkeypatch):
    monkeypatch.setattr(_calibration, "PRIOR_ROWS", 2.0)
    scores = np.array([0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8])
    rows = scores, np.array([0, 0, 0, 1, 1, 1, 1]), np.ones(7)
    # source 0: weights 1, 1, 1 and four of a half; the row to come has their mean by weight, .8,
    # and 60 % of 5.8 are 3.48
    # source 1: weights 2/3 three times and four of one; the row to come has 8/9: 60 % are 4.13
    np.testing.assert_array_equal(source_thresholds(*rows, 2, 0.6), [0.5, 0.7])


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_the_slow_twin_agrees(coverage):
    rows = made(0)
    slow = [slow_source_threshold(*rows, source, coverage) for source in range(4)]
    np.testing.assert_array_equal(source_thresholds(*rows, 4, coverage), slow)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_thresholds_increase_with_coverage(seed):
    scores, sources, weights = made(seed)
    lower, higher = (source_thresholds(scores, sources, weights, 5, c) for c in (0.6, 0.8))
    assert (lower <= higher).all()
    # a source without rows has the threshold of all
    alone = source_thresholds(scores, np.zeros(80, dtype=int), weights, 1, 0.6)
    assert lower[4] <= alone[0] + 0.1
    scaled = source_thresholds(scores, sources, 7 * weights, 5, 0.6)
    np.testing.assert_array_equal(scaled, lower)


def test_rows_like_those_of_training_are_covered():
    rng = np.random.default_rng(0)
    covered, n_runs, n_rows = 0.0, 400, 60
    for _ in range(n_runs):
        scores, sources = rng.uniform(size=n_rows + 20), rng.integers(0, 3, n_rows + 20)
        limits = source_thresholds(scores[:n_rows], sources[:n_rows], np.ones(n_rows), 3, 0.9)
        covered += (scores[n_rows:] <= limits[sources[n_rows:]]).mean()
    error = math.sqrt(0.9 * 0.1 / (n_runs * 20))
    assert covered / n_runs >= 0.9 - 3 * error


def test_thresholds_of_small_sources_are_shrunk():
    rng = np.random.default_rng(1)
    scores = np.concatenate([rng.uniform(0, 0.4, 500), rng.uniform(0, 1, 500), [0.9, 0.9]])
    rows = scores, np.repeat([0, 1, 2], [500, 500, 2]), np.ones(1002)
    many, wide, few = source_thresholds(*rows, 3, 0.9)
    assert many == pytest.approx(0.37, abs=0.03)
    assert wide == pytest.approx(0.9, abs=0.03)
    assert 0.7 < few <= 0.95
