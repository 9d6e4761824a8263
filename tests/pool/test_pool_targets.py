import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.dummy import DummyRegressor

from ensemblage.pool._pool_targets import PoolClasses, PoolNumbers, log_loss, mean_loss

CLASSES = PoolClasses(np.arange(3))
NUMBERS = PoolNumbers(2.0)


def test_what_is_said_where_nothing_is_known():
    y = np.array([0, 0, 1, 2])
    np.testing.assert_array_equal(CLASSES.prior(y, None), [0.5, 0.25, 0.25])
    np.testing.assert_array_equal(CLASSES.prior(y, np.array([0.0, 1.0, 3.0, 0.0])), [0.25, 0.75, 0])
    prior = NUMBERS.prior(np.array([1.0, 3.0]), np.array([3.0, 1.0]))
    np.testing.assert_array_equal(prior, [1.5, 4.0])


def test_a_row_that_every_tree_knows_has_no_answer_out_of_bag():
    said = np.array([[np.nan, np.nan, np.nan], [0.2, 0.3, 0.5]])
    prior = np.array([0.1, 0.1, 0.8])
    np.testing.assert_array_equal(CLASSES.out_of_bag(said, prior), [prior, said[1]])
    outputs = NUMBERS.out_of_bag(np.array([5.0, 6.0]), np.array([5.0, 4.0]))
    np.testing.assert_array_equal(outputs, [[5, 4], [6, 4]])


def test_stages_have_all_classes_and_a_variance():
    staged = CLASSES.staged(np.full((2, 4, 2), 0.5), np.array([0, 2]))
    np.testing.assert_array_equal(staged[1, 3], [0.5, 0, 0.5])
    np.testing.assert_array_equal(NUMBERS.staged(np.ones((2, 4)), np.ones(1))[1, 3], [1, 4])


def test_losses_and_scores_by_hand():
    outputs, y = np.array([[1.0, 4.0], [3.0, 1.0]]), np.array([2.0, 3.0])
    expected = -norm.logpdf(y, [1, 3], [2, 1])
    np.testing.assert_allclose(NUMBERS.row_losses(outputs, y), expected)
    np.testing.assert_array_equal(NUMBERS.plain_losses(outputs, y), [1, 0])
    assert NUMBERS.score(outputs, y, None) == pytest.approx(np.sqrt(0.5))
    assert NUMBERS.score(outputs, y, np.array([3.0, 1.0])) == pytest.approx(np.sqrt(0.75))
    proba = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]])
    assert log_loss(proba, np.array([0, 1])) == pytest.approx(np.log(2) / 2)
    assert CLASSES.score(proba, np.array([0, 2]), None) == 0.5
    assert mean_loss(np.array([1.0, 3.0]), np.array([3.0, 1.0])) == 1.5


def test_a_constant_member_has_no_spread_of_its_own():
    constant = NUMBERS.constant_member(np.array([3.0, 3.0]))
    assert isinstance(constant, DummyRegressor)
    np.testing.assert_array_equal(NUMBERS.ask(constant, np.zeros((1, 2)), "predict_std"), [[3, 4]])


@given(seed=st.integers(0, 1000), shift=st.floats(-10, 10), scale=st.floats(0.1, 10))
def test_a_member_alone_is_calibrated_whatever_the_units(seed, shift, scale):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=30)
    said = y + rng.normal(size=30)
    losses = []
    for a, b in ((0.0, 1.0), (shift, scale)):
        outputs = np.stack([a + b * said, np.full(30, 7.0)], axis=1)[None]
        fused = NUMBERS.alone().fit(outputs, a + b * y).combine(outputs)
        np.testing.assert_allclose(fused[:, 0], a + b * said)
        np.testing.assert_allclose(fused[:, 1], np.mean((b * (y - said)) ** 2), rtol=1e-6)
        losses.append(mean_loss(NUMBERS.row_losses(fused, a + b * y)))
    assert losses[1] - losses[0] == pytest.approx(np.log(scale), abs=1e-6)
