import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemblage.parallel import deal_folds
from ensemblage.pool._source_offsets import Spoken, choose_ridge, fit_offsets, spoken
from reference.source_offsets import offsets_by_source


def made(seed, n_rows=60, n_classes=3, n_sources=4, shift=0.0):
    """Rows whose first class is more frequent in later sources than probabilities say."""
    rng = np.random.default_rng(seed)
    sources = rng.integers(0, n_sources, n_rows)
    proba = rng.dirichlet(np.ones(n_classes), n_rows)
    tilt = np.zeros((n_rows, n_classes))
    tilt[:, 0] = shift * sources
    true = proba * np.exp(tilt)
    true /= true.sum(axis=1, keepdims=True)
    y = np.array([rng.choice(n_classes, p=each) for each in true])
    return spoken(proba, y, sources, rng.uniform(0.5, 2.0, n_rows))


def test_by_hand():
    # four rows of class 1 that were even: a = n p(0) / 2 nu, at a = log(3) / 2 and p(0) = 1/4
    rows = spoken(np.full((4, 2), 0.5), np.ones(4, dtype=int), np.zeros(4, dtype=int), None)
    offsets = fit_offsets(rows, 1, 1 / np.log(3))
    np.testing.assert_allclose(offsets, [[-np.log(3) / 2, np.log(3) / 2]], atol=1e-7)
    np.testing.assert_allclose(np.exp(rows.shifted(offsets))[0], [0.25, 0.75], atol=1e-7)


@pytest.mark.parametrize("ridge", [0.5, 4.0])
def test_the_slow_twin_agrees(ridge):
    rows = made(0)
    slow = offsets_by_source(rows.log_proba, rows.y, rows.sources, rows.weights, ridge)
    np.testing.assert_allclose(fit_offsets(rows, 4, ridge), slow, atol=1e-4)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 16.0]))
def test_offsets_add_up_to_zero_never_lose_and_shrink(seed, ridge):
    rows = made(seed)
    none, some = np.zeros((5, 3)), fit_offsets(rows, 5, ridge)
    np.testing.assert_allclose(some.sum(axis=1), 0, atol=1e-6)
    assert rows.loss(some) <= rows.loss(none) + 1e-9
    assert (some[4] == 0).all()  # no row is of this source
    assert np.abs(fit_offsets(rows, 5, 10 * ridge)).sum() <= np.abs(some).sum() + 1e-6


def test_an_infinite_pull_leaves_no_offsets():
    assert (fit_offsets(made(1), 4, np.inf) == 0).all()


@pytest.mark.parametrize(("shift", "expected"), [(0.0, {16.0, np.inf}), (2.0, {1.0})])
def test_the_pull_is_chosen_by_what_helps_elsewhere(shift, expected):
    rows = made(3, n_rows=400, shift=shift)
    folds = deal_folds(rows.y, 5, np.random.default_rng(0))
    assert choose_ridge(rows, 4, folds) in expected


def test_rows_are_taken_with_all_that_is_known_of_them():
    rows = made(4)
    some = rows.take(np.array([5, 1]))
    assert isinstance(some, Spoken)
    assert some.y.tolist() == rows.y[[5, 1]].tolist()
    np.testing.assert_array_equal(some.log_proba, rows.log_proba[[5, 1]])
