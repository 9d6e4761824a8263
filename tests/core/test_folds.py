import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import (
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_score,
)

from ensemblage._core import deal_folds, make_folds

Y = np.repeat([0, 1, 2], [12, 9, 3])


def assert_same(ours, theirs):
    theirs = list(theirs)
    assert len(ours) == len(theirs)
    for fold, (train, test) in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(fold.train, train)
        np.testing.assert_array_equal(fold.test, test)


def test_folds_are_scikit_learns():
    theirs = StratifiedKFold(3, shuffle=True, random_state=5).split(Y, Y)
    assert_same(make_folds(Y, 3, 5), theirs)


def test_folds_from_one_stream_are_repeated_folds():
    rng = np.random.RandomState(7)
    ours = make_folds(Y, 3, rng) + make_folds(Y, 3, rng)
    theirs = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=7).split(Y, Y)
    assert_same(ours, theirs)


def test_groups_stay_on_one_side():
    groups = np.arange(len(Y)) % 3
    ours = make_folds(Y, 10, 1, groups)
    assert_same(ours, StratifiedGroupKFold(3, shuffle=True, random_state=1).split(Y, Y, groups))
    assert all(not set(groups[fold.train]) & set(groups[fold.test]) for fold in ours)


def test_one_group_is_refused():
    with pytest.raises(ValueError, match="groups has 1 group; at least two are required"):
        make_folds(Y, 3, 0, np.zeros(len(Y)))


def test_a_small_class_gives_no_warning():
    folds = make_folds(Y, 5, 0)
    assert sum(2 in Y[fold.test] for fold in folds) == 3


def test_scikit_learn_takes_folds_for_cv():
    assert len(cross_val_score(DummyClassifier(), Y[:, None], Y, cv=make_folds(Y, 3, 0))) == 3


def test_dealt_folds_are_stratified():
    folds = deal_folds(Y, 5, np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(np.concatenate([fold.test for fold in folds])), range(24))
    assert sorted(len(fold.test) for fold in folds) == [4, 5, 5, 5, 5]
    for fold in folds:
        assert np.ptp(np.bincount(Y[fold.train], minlength=3) - [9, 7, 2]) <= 1
        assert not set(fold.train) & set(fold.test)


def test_there_are_no_more_dealt_folds_than_rows():
    assert len(deal_folds(np.array([0, 1]), 5, np.random.default_rng(0))) == 2
