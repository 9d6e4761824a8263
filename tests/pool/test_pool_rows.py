import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold

from ensemblage.parallel import Fold
from ensemblage.pool._pool_rows import PoolRows, shared_folds, thin
from ensemblage.pool._pool_targets import PoolClasses


def test_folds_hold_each_row_out_once():
    y = np.arange(30) % 3
    folds = shared_folds(y, 5, 0)
    assert len(folds) == 5
    np.testing.assert_array_equal(np.sort(np.concatenate([f.test for f in folds])), np.arange(30))


def test_a_class_of_two_rows_does_not_cost_folds():
    y = np.array([0] * 20 + [1] * 20 + [2] * 2)
    assert len(shared_folds(y, 5, 0)) == 5


def test_few_rows_have_few_folds():
    assert len(shared_folds(np.array([0, 0, 1]), 5, 0)) == 2


def test_groups_stay_together():
    groups = np.arange(40) // 4
    for train, test in shared_folds(np.arange(40) % 2, 5, 0, groups):
        assert not set(groups[train]) & set(groups[test])


def test_a_splitter_is_asked():
    folds = shared_folds(np.arange(12) % 2, KFold(4), 0)
    assert [fold.test.tolist() for fold in folds] == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]


@pytest.mark.parametrize(
    ("tests", "whole"),
    [([[0, 1], [2, 3]], True), ([[0, 1, 2, 3]], False), ([[0, 1], [2]], False)],
)
def test_only_folds_that_test_every_row_once_let_an_ensemble_judge_itself(tests, whole):
    folds = [Fold(np.array([0]), np.array(test)) for test in tests]
    rows = PoolRows(np.eye(4), np.array([0, 1, 0, 1]), PoolClasses(np.arange(2)), None, folds)
    assert rows.all_held_out is whole
    assert rows.held_out.tolist() == sorted({row for test in tests for row in test})


def test_rows_are_thinned_with_the_shares_of_the_classes():
    y = np.repeat([0, 1, 2], [600, 300, 3])
    drawn = thin(np.arange(903), y, 90, seed=0)
    assert np.bincount(y[drawn]).tolist() == [59, 29, 2]
    assert thin(drawn, y, None, seed=0) is drawn
    assert thin(drawn, y, 90, seed=0) is drawn


@given(st.integers(6, 60), st.integers(0, 50))
def test_a_thinned_sample_is_one(limit, seed):
    y = np.random.default_rng(seed).integers(0, 3, 60)
    rows = np.arange(0, 60, 1)
    drawn = thin(rows, y, limit, seed)
    assert len(drawn) == limit
    assert (np.diff(drawn) > 0).all()
    few = np.bincount(y, minlength=3) >= 2
    assert (np.bincount(y[drawn], minlength=3)[few] >= 2).all()
    np.testing.assert_array_equal(drawn, thin(rows, y, limit, seed))
