import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemblage.kernels import Normals, normal_log_density
from ensemblage.strata._last_word import AS_FUSED, SHARES, LastWord, learn_last_word


def made(seed, n_rows=400):
    """Rows whose spread is told rightly: fused means and variances, and what is true."""
    rng = np.random.default_rng(seed)
    variance = rng.uniform(0.1, 4.0, n_rows)
    mean = rng.normal(size=n_rows)
    return np.column_stack([mean, variance]), mean + np.sqrt(variance) * rng.normal(size=n_rows)


def test_a_correction_by_hand():
    fused, anchored = np.array([[1.0, 4.0]]), np.array([[9.0], [3.0]])
    assert AS_FUSED.say(fused, anchored).tolist() == [[1.0, 4.0]]
    assert LastWord(1, 0.5, 2.0, 1.0).say(fused, anchored).tolist() == [[2.0, 9.0]]


def test_a_spread_that_is_right_stays():
    fused, y = made(0, n_rows=20_000)
    word = learn_last_word(fused, np.empty((0, 20_000)), y, np.ones(20_000))
    assert word.share == 0
    assert word.factor == pytest.approx(1.0, abs=0.15)
    assert word.floor < 0.25


def test_a_spread_that_tells_nothing_gives_way_to_one_for_all():
    fused, _ = made(1, n_rows=20_000)
    y = fused[:, 0] + 3 * np.random.default_rng(1).normal(size=20_000)
    word = learn_last_word(fused, np.empty((0, 20_000)), y, np.ones(20_000))
    assert word.factor < 0.5
    assert word.floor == pytest.approx(9.0, rel=0.1)


def test_an_anchor_that_is_right_has_the_answer():
    fused, y = made(2)
    anchored = np.stack([fused[:, 0] + 1, y])
    word = learn_last_word(fused, anchored, y, np.ones(400))
    assert (word.anchor, word.share) == (1, 1.0)
    np.testing.assert_allclose(word.say(fused, anchored)[:, 0], y)
    assert word.say(fused, anchored)[:, 1].min() > 0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_neither_error_nor_log_score_is_worse_than_without(seed):
    fused, y = made(seed)
    rng = np.random.default_rng(seed)
    anchored = y + rng.uniform(0.1, 3.0) * rng.normal(size=(1, 400))
    word = learn_last_word(fused, anchored, y, np.ones(400))
    mean, variance = word.say(fused, anchored).T
    errors = [np.mean((each - y) ** 2) for each in (mean, fused[:, 0], anchored[0])]
    assert errors[0] <= min(errors[1:]) + 1e-12
    one = Normals(mean, np.full(400, errors[0]))
    told = normal_log_density(Normals(mean, variance), y).sum()
    assert told >= normal_log_density(one, y).sum() - 1e-9
    assert word.share in SHARES
