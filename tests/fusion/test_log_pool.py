import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax

from ensemblage.fusion import LogPool
from made_outputs import random_outputs


def test_a_log_pool_of_equal_members_is_that_member():
    outputs = random_outputs(3)[:1]
    y = outputs[0].argmax(axis=1)
    twice = np.concatenate([outputs, outputs])
    pool = LogPool(ridge=1e6).fit(twice, y)
    np.testing.assert_allclose(pool.weights_, 0.5, atol=1e-3)
    np.testing.assert_allclose(pool.temperatures_[0], pool.temperatures_[1])
    np.testing.assert_allclose(pool.importance(2), 0.5, atol=1e-3)


def test_a_log_pool_finds_who_knows_and_mixes_decisions_with_probabilities():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 600)
    decisions = 2 * np.eye(3)[y] + rng.normal(size=(600, 3))
    guesses = rng.dirichlet(np.ones(3), 600)
    pool = LogPool().fit(np.stack([decisions, guesses]), y)
    fused = pool.combine(np.stack([decisions, guesses]))
    assert pool.probable_.tolist() == [False, True]
    assert pool.importance(2)[0] > 0.9
    np.testing.assert_allclose(fused.sum(axis=1), 1)
    assert (fused.argmax(axis=1) == y).mean() > 0.8
    assert pool.gives_probabilities(False)


def test_votes_are_calibrated_with_a_bonus_for_the_first():
    # votes 5, 4, ..., 0: the first is right in 90 of 100 rows, the others equally often
    rng = np.random.default_rng(5)
    y = rng.integers(0, 6, 2000)
    first = np.where(rng.uniform(size=2000) < 0.88, y, rng.integers(0, 6, 2000))
    votes = rng.permuted(np.tile(np.arange(5.0), (2000, 1)), axis=1)
    votes = np.stack([np.insert(row, at, 5.0) for row, at in zip(votes, first, strict=True)])
    pool = LogPool(ridge=1e9).fit(votes[None], y)
    proba = pool.combine(votes[None])
    assert pool.bonuses_[0] > 1
    np.testing.assert_allclose(proba.max(axis=1), (first == y).mean(), atol=0.01)


def test_probabilities_and_two_classes_need_no_bonus():
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, 100)
    decisions = np.stack([-1.0 * y, y], axis=1) + rng.normal(size=(100, 2))
    assert LogPool().fit(decisions[None], y).bonuses_.tolist() == [0]
    assert (
        LogPool().fit(random_outputs(7), np.arange(len(random_outputs(7)[0])) % 3).bonuses_.any()
        == 0
    )


@given(st.integers(0, 200))
def test_importances_are_never_negative_and_no_worse_than_equal_ones(seed):
    outputs = random_outputs(seed, n_samples=60)
    y = np.random.default_rng(seed).integers(0, 3, 60)
    pool = LogPool(ridge=1.0).fit(outputs, y)
    assert (pool.weights_ >= 0).all()

    def loss(weights):
        log_p = log_softmax(np.tensordot(weights, pool._scores(outputs), 1), axis=1)
        return -log_p[np.arange(60), y].sum() + ((weights - 1 / 3) ** 2).sum()

    assert loss(pool.weights_) <= loss(np.full(3, 1 / 3)) + 1e-9


def test_row_weights_reach_the_pool():
    outputs = np.stack([np.tile([0.9, 0.1], (40, 1)), np.tile([0.1, 0.9], (40, 1))])
    y = np.arange(40) % 2
    heavy = LogPool(ridge=0.1).fit(outputs, y, sample_weight=np.where(y == 0, 9.0, 1.0))
    assert heavy.combine(outputs)[0, 0] > 0.7
