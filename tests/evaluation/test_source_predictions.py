import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from ensemblage.evaluation._source_predictions import (
    HeldOut,
    held_out,
    ordinary_folds,
    source_folds,
    without_sources,
)

LABELS = np.array([0, 1, 0, 1, 2, 2] * 10)
SOURCES = np.repeat(np.arange(6), 10)
X = np.eye(3)[LABELS] + np.random.default_rng(0).normal(size=(60, 3)) / 3


def test_errors_and_losses_by_hand():
    held = HeldOut(np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]]))
    assert held.errors(np.array([0, 2])).tolist() == [False, True]
    np.testing.assert_allclose(held.losses(np.array([1, 2])), [np.log(4), 12 * np.log(10)])


def test_ordinary_folds_have_every_source_in_training():
    for train, test in ordinary_folds(LABELS, SOURCES, 5, 0):
        assert set(SOURCES[train]) == set(range(6))
        assert not set(train) & set(test)


@pytest.mark.parametrize(("most", "n_folds"), [(10, 6), (3, 3)])
def test_sources_are_left_out_whole(most, n_folds):
    folds = source_folds(SOURCES, most)
    assert len(folds) == n_folds
    for train, test in folds:
        assert not set(SOURCES[train]) & set(SOURCES[test])
    assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(60))


def test_same_figures_for_frames_and_for_two_processes():
    folds = ordinary_folds(LABELS, SOURCES, 3, 0)
    found = held_out(LogisticRegression(), X, LABELS, folds)
    frame = held_out(LogisticRegression(), pd.DataFrame(X), LABELS, folds, n_jobs=2)
    np.testing.assert_array_equal(found.shares, frame.shares)
    assert found.errors(LABELS).mean() < 0.2


def test_classes_that_training_lacks_have_no_chance():
    only_new = np.where(SOURCES == 0, 2, LABELS % 2)
    found = held_out(LogisticRegression(), X, only_new, source_folds(SOURCES, 10))
    assert (found.shares[SOURCES == 0, 2] == 0).all()
    one = np.where(SOURCES == 0, 1, 0)
    alone = held_out(LogisticRegression(), X, one, source_folds(SOURCES, 10))
    assert (alone.shares[SOURCES == 0] == [1, 0]).all()


def test_sources_are_left_out_of_training_but_not_of_what_is_tested():
    folds = source_folds(SOURCES, 10)
    found = without_sources(folds, SOURCES, [2])
    assert [set(SOURCES[fold.test]) for fold in found] == [{s} for s in range(6)]
    assert all(2 not in SOURCES[fold.train] for fold in found)
    two = source_folds(SOURCES[:20], 10)
    assert [len(fold.train) for fold in without_sources(two, SOURCES[:20], [0])] == [10, 10]
