from dataclasses import replace

import numpy as np
import pytest

from ensemblage.kernels import Scored
from ensemblage.pool import HeldOutRecord
from ensemblage.pool._conformal import held_out_scores, in_set, new_source_threshold, reach
from reference.conformal import slow_new_threshold


def test_scores_are_what_is_left_to_other_classes():
    said = np.array([[0.7, 0.3], [0.2, 0.8]])
    np.testing.assert_allclose(held_out_scores(said, np.array([0, 0])), [0.3, 0.8])


def test_each_source_weighs_one_for_a_new_one():
    scores = np.array([0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8])
    rows = Scored(scores, np.array([0, 0, 0, 1, 1, 1, 1]), np.ones(7))
    # together two: 60 % are 1.2
    assert new_source_threshold(rows, 0.6) == 0.5


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_the_slow_twin_agrees(coverage):
    rng = np.random.default_rng(0)
    sources = rng.integers(0, 4, 80)
    scores = np.clip(rng.beta(1, 3, 80) + 0.1 * sources, 0, 1).round(2)
    rows = Scored(scores, sources, rng.uniform(0.5, 2.0, 80))
    assert new_source_threshold(rows, coverage) == slow_new_threshold(*rows, coverage)


def test_sets_hold_the_most_probable_class():
    said = np.array([[0.5, 0.3, 0.2], [0.9, 0.05, 0.05]])
    inside = in_set(said, np.array([0.75, 0.05]))
    assert inside.tolist() == [[True, True, False], [True, False, False]]
    assert in_set(said, np.array([np.inf, np.inf])).all()


def test_how_far_an_interval_reaches_by_hand():
    y, pooled = np.arange(9.0), np.zeros((9, 2))
    pooled[:, 1] = 4.0
    record = HeldOutRecord((), (), np.zeros((0, 9, 2)), pooled, y, np.arange(9), None)
    # scores are 0 to 4 by halves; half of nine rows and the one to come are five of them
    assert reach(record, 0.5) == 2.0
    assert reach(record, 0.99) == 4.0  # too few rows: the largest
    doubled = replace(record, weights=np.where(y < 5, 0.0, 1.0))
    assert reach(doubled, 0.5) == 3.5
