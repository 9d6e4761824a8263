import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_wine

from ensemblage.subspace._development import (
    Plan,
    best_plan,
    development_rows,
    development_splits,
    mean_scores,
    plan_name,
    plan_scores,
    take_rows,
)
from ensemblage.subspace._member import as_rows, standardise
from ensemblage.subspace._sequence import Settings
from ensemblage.subspace._strength import STRENGTHS, choose_strength, fold_numbers

SETTINGS = Settings("lbfgs", 0.1, "auto", "auto", 1.0, 10, 1e-3, 50)


def wine():
    X, y = load_wine(return_X_y=True)
    return as_rows(X, y, 3, *standardise(X))


@given(arrays(int, st.integers(1, 60), elements=st.integers(0, 4)), st.integers(0, 99))
def test_every_class_keeps_a_row_for_training(labels, seed):
    held = development_rows(labels, np.random.default_rng(seed))
    assert set(labels[~held]) == set(labels)
    for label in set(labels):
        count = (labels == label).sum()
        assert held[labels == label].sum() == min(np.ceil(0.1 * count), count - 1)


def test_few_rows_are_split_more_often():
    rng = np.random.default_rng(0)
    assert len(development_splits(np.zeros(100, int), rng)) == 5
    assert len(development_splits(np.zeros(1000, int), rng)) == 2
    assert len(development_splits(np.zeros(5000, int), rng)) == 1


@settings(deadline=None)
@given(arrays(int, st.integers(5, 60), elements=st.integers(0, 3)))
def test_folds_are_of_equal_size_and_share_the_classes(labels):
    folds = fold_numbers(labels, 5, np.random.default_rng(0))
    sizes = np.bincount(folds, minlength=5)
    assert sizes.max() - sizes.min() <= 1
    for label in set(labels):
        each = np.bincount(folds[labels == label], minlength=5)
        assert each.max() - each.min() <= 1


def test_parts_of_weighted_rows_add_up():
    rows = wine()
    held = development_rows(rows.labels, np.random.default_rng(0))
    train, rest = take_rows(rows, ~held), take_rows(rows, held)
    assert train.total + rest.total == pytest.approx(rows.total)
    assert train.weights.sum() == pytest.approx(1)


def test_plans_of_one_split():
    rows = wine()
    held = development_rows(rows.labels, np.random.default_rng(0))
    scores = plan_scores(
        take_rows(rows, ~held), take_rows(rows, held), [1, 2, 3], SETTINGS, auto_size=False,
        product=True, gates=[1.0],
    )  # fmt: skip
    assert set(scores) == {Plan(3, None), Plan(3, 1.0)}


def test_search_for_a_size_stops_when_nothing_improves():
    rows = wine()
    held = development_rows(rows.labels, np.random.default_rng(0))
    scores = plan_scores(
        take_rows(rows, ~held), take_rows(rows, held), list(range(50)), SETTINGS, auto_size=True,
        product=True, gates=[],
    )  # fmt: skip
    assert Plan(1, None) in scores
    assert len(scores) < 50


def test_of_equals_the_plainest_and_smallest_wins():
    means = {Plan(3, 1.0): 0.9, Plan(5, None): 0.9, Plan(3, None): 0.9, Plan(1, None): 0.8}
    assert best_plan(means) == Plan(3, None)


def test_means_are_over_plans_that_every_split_tried():
    splits = [{Plan(1, None): 0.5, Plan(2, None): 0.9}, {Plan(1, None): 0.7}]
    assert mean_scores(splits) == {Plan(1, None): pytest.approx(0.6)}


def test_plans_have_names():
    assert plan_name(Plan(3, None)) == "product, 3 members"
    assert plan_name(Plan(3, 0.3)) == "gate with C=0.3, 3 members"


def test_noise_wants_a_strong_penalty_and_clean_data_a_weak_one():
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(150, 20)), rng.integers(2, size=150)
    means, clean = standardise(X), (X[:, 0] > 0).astype(int)
    weak = choose_strength(as_rows(X, clean, 2, *means), np.random.default_rng(0))
    strong = choose_strength(as_rows(X, noise, 2, *means), np.random.default_rng(0))
    assert {weak, strong} <= set(STRENGTHS)
    assert weak > strong
