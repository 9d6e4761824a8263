import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from ensemblage.kernels import (
    MaskedMember,
    StepRows,
    squared_loss,
    squared_optimum,
    squared_score,
    squared_step,
    step_buffers,
)


def problem(seed, n_rows=20, n_features=5, dtype=float):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_features, n_rows)).astype(dtype)
    numbers = rng.normal(size=n_rows)
    weights = (rng.uniform(0.1, 1, n_rows) / n_rows).astype(dtype)
    coef = rng.normal(size=(1, n_features)).astype(dtype)
    mask = rng.random(n_features) < 0.6
    flipped = np.flatnonzero(rng.random(n_features) < 0.4)
    return features, numbers, weights, coef, mask, flipped


def plainly(features, numbers, weights, coef, mask, rate, decay):
    """One candidate, row by row: climb, then score."""
    n_features, n_rows = features.shape
    step, shift = np.zeros(n_features), 0.0
    for m in range(n_rows):
        left = numbers[m] - sum(coef[0, d] * features[d, m] for d in range(n_features) if mask[d])
        step += weights[m] * left * features[:, m]
        shift += weights[m] * left
    step = rate * np.where(mask, step - decay * coef[0], 0.0)
    shift *= rate
    moved = ((coef[0] + step) * mask) @ features + shift
    variance = (weights * (numbers - moved) ** 2).sum() / weights.sum()
    return step, shift, moved, -0.5 * weights.sum() * np.log(variance)


def test_one_row_by_hand():
    # the residual is 3: with the feature the step is .1 * 3 * 2, and the prediction becomes
    # .6 * 2 + .3 = 1.5; without it the intercept alone moves, to .3
    features, numbers, weights = np.array([[2.0]]), np.array([3.0]), np.ones(1)
    out = step_buffers(1, features)
    member = MaskedMember(np.zeros((1, 1)), np.array([True]), np.zeros((1, 1)))
    squared_step(StepRows(features, numbers, weights), member, np.array([0]), 0.1, 0.0, out)
    np.testing.assert_allclose(out.coef_step, [[0.6], [0]])
    np.testing.assert_allclose(out.intercept_step, [0.3, 0.3])
    np.testing.assert_allclose(out.logits, [[1.5], [0.3]])
    np.testing.assert_allclose(out.accuracy, [-np.log(1.5), -np.log(2.7)])


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 2), st.sampled_from([0, 0.1]))
def test_both_candidates_equal_two_separate_steps(seed, rate, decay):
    features, numbers, weights, coef, mask, flipped = problem(seed)
    out = step_buffers(1, features)
    member = MaskedMember(coef, mask, (coef * mask) @ features)
    squared_step(StepRows(features, numbers, weights), member, flipped, rate, decay, out)
    proposed = mask.copy()
    proposed[flipped] ^= True
    for i, candidate in enumerate([mask, proposed]):
        step, shift, moved, score = plainly(
            features, numbers, weights, coef, candidate, rate, decay
        )  # fmt: skip
        np.testing.assert_allclose(out.coef_step[i], step, atol=1e-12)
        np.testing.assert_allclose(out.intercept_step[i], shift, atol=1e-12)
        np.testing.assert_allclose(out.logits[i], moved, atol=1e-10)
        assert out.accuracy[i] == pytest.approx(score)


@given(st.integers(0, 999), st.sampled_from([0.0, 0.3]))
def test_slope_of_the_loss(seed, decay):
    features, numbers, weights, coef, _, _ = problem(seed)
    start = np.append(coef[0], 0.3)

    def loss(flat):
        return squared_loss(features, numbers, weights, flat[None], decay)[0]

    slope = squared_loss(features, numbers, weights, start[None], decay)[1][0]
    np.testing.assert_allclose(slope, approx_fprime(start, loss, 1e-7), atol=1e-5)


@given(st.integers(0, 999), st.sampled_from([1e-6, 0.3]))
def test_slope_at_the_optimum_is_nothing(seed, decay):
    features, numbers, weights, _, _, _ = problem(seed)
    top = squared_optimum(features, numbers, weights, decay)
    np.testing.assert_allclose(
        squared_loss(features, numbers, weights, top, decay)[1], 0, atol=1e-9
    )


def test_copies_without_a_penalty_share_their_coefficient():
    features = np.tile(np.random.default_rng(0).normal(size=20), (3, 1))
    top = squared_optimum(features, 6 * features[0] + 1, np.full(20, 0.05), 0.0)
    np.testing.assert_allclose(top, [[2, 2, 2, 1]], atol=1e-4)


def test_loss_by_hand():
    # residuals 1 and -2: half of .5 * 1 + .25 * 4, and half of .1 * 9 as penalty
    features, numbers = np.array([[1.0, 0.0]]), np.array([5.0, -1.0])
    parameters = np.array([[3.0, 1.0]])
    loss, _ = squared_loss(features, numbers, np.array([0.5, 0.25]), parameters, 0.1)
    assert loss == pytest.approx(0.75 + 0.45)


@given(st.integers(0, 999), st.floats(0.01, 100))
def test_score_grows_by_the_weights_alone(seed, factor):
    rng = np.random.default_rng(seed)
    predicted, numbers, weights = rng.normal(size=(1, 9)), rng.normal(size=9), rng.uniform(size=9)
    score = squared_score(predicted, numbers, weights)
    assert squared_score(predicted, numbers, factor * weights) == pytest.approx(factor * score)


def test_single_precision_stays_single():
    features, numbers, weights, coef, mask, flipped = problem(1, dtype=np.float32)
    out = step_buffers(1, features)
    member = MaskedMember(coef, mask, (coef * mask) @ features)
    squared_step(StepRows(features, numbers, weights), member, flipped, 0.5, 0.1, out)
    step, _, moved, _ = plainly(features, numbers, weights, coef, mask, 0.5, 0.1)
    np.testing.assert_allclose(out.coef_step[0], step, atol=1e-5)
    np.testing.assert_allclose(out.logits[0], moved, atol=1e-5)
    assert out.logits.dtype == np.float32
