import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_wine

from ensemblage.subspace._development import (
    Plan,
    Search,
    best_plan,
    development_fold,
    development_folds,
    mean_scores,
    plan_scores,
)
from ensemblage.subspace._member import as_rows, standardise
from ensemblage.subspace._settings import Settings

SETTINGS = Settings("lbfgs", 0.1, "auto", "auto", 1.0, 10, 1e-3, 50)


def wine():
    X, y = load_wine(return_X_y=True)
    return as_rows(X, y, 3, standardise(X))


@given(arrays(int, st.integers(1, 60), elements=st.integers(0, 4)), st.integers(0, 99))
def test_every_class_keeps_a_row_for_training(labels, seed):
    train, held = development_fold(labels, np.random.default_rng(seed))
    assert sorted([*train, *held]) == list(range(len(labels)))
    assert set(labels[train]) == set(labels)
    for label in set(labels):
        count = (labels == label).sum()
        assert (labels[held] == label).sum() == min(np.ceil(0.1 * count), count - 1)


def test_few_rows_are_split_more_often():
    rng = np.random.default_rng(0)
    assert len(development_folds(np.zeros(100, int), rng)) == 5
    assert len(development_folds(np.zeros(1000, int), rng)) == 2
    assert len(development_folds(np.zeros(5000, int), rng)) == 1


def test_plans_of_one_split():
    rows = wine()
    fold = development_fold(rows.targets, np.random.default_rng(0))
    scores = plan_scores(rows, fold, [1, 2, 3], SETTINGS, Search(False, True, (1.0,)))
    assert set(scores) == {Plan(3, None), Plan(3, 1.0)}


def test_search_for_a_size_stops_when_nothing_improves():
    rows = wine()
    fold = development_fold(rows.targets, np.random.default_rng(0))
    scores = plan_scores(rows, fold, list(range(50)), SETTINGS, Search(True, True, ()))
    assert Plan(1, None) in scores
    assert len(scores) < 50


def test_of_equals_the_plainest_and_smallest_wins():
    means = {Plan(3, 1.0): 0.9, Plan(5, None): 0.9, Plan(3, None): 0.9, Plan(1, None): 0.8}
    assert best_plan(means) == Plan(3, None)


def test_means_are_over_plans_that_every_split_tried():
    splits = [{Plan(1, None): 0.5, Plan(2, None): 0.9}, {Plan(1, None): 0.7}]
    assert mean_scores(splits) == {Plan(1, None): pytest.approx(0.6)}


def test_plans_have_names():
    assert Plan(3, None).name() == "product, 3 members"
    assert Plan(3, 0.3).name() == "gate with C=0.3, 3 members"


def test_what_is_settled_need_not_be_tried():
    assert Search(False, True, ()).only_plan(7) == Plan(7, None)
    assert Search(False, False, (3.0,)).only_plan(7) == Plan(7, 3.0)
    assert Search(False, True, (3.0,)).only_plan(7) is None
    assert Search(True, True, ()).only_plan(7) is None
