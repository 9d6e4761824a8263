import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemblage.kernels import CompiledKernel, MaskedMember, StepRows, candidate_step, step_buffers
from ensemblage.kernels import _masked_softmax as kernels


def problem(seed, n_rows=30, n_features=5, n_classes=3, dtype=float):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_features, n_rows)).astype(dtype)
    labels = rng.integers(n_classes, size=n_rows)
    weights = (rng.uniform(0.1, 1, n_rows) / n_rows).astype(dtype)
    coef = rng.normal(size=(n_classes, n_features)).astype(dtype)
    mask = rng.random(n_features) < 0.6
    flipped = np.flatnonzero(rng.random(n_features) < 0.4)
    return features, labels, weights, coef, mask, flipped


def plainly(features, labels, weights, coef, mask, rate, decay):
    """One candidate, the long way: climb, then weigh the rows that are right."""
    logits = (coef * mask) @ features
    proba = np.exp(logits) / np.exp(logits).sum(axis=0)
    residual = weights * (np.eye(len(coef))[labels].T - proba)
    step = rate * (residual @ features.T - decay * coef) * mask
    shift = rate * residual.sum(axis=1)
    logits = ((coef + step) * mask) @ features + shift[:, None]
    return step, shift, logits, weights[logits.argmax(axis=0) == labels].sum()


def test_one_row_by_hand():
    # logits 0 and 0, so both probabilities are one half; the slope in the first class is
    # (1 - 1/2) * x = 1, and flipping the only feature away leaves the intercepts alone to move
    features, labels, weights = np.array([[2.0]]), np.array([0]), np.ones(1)
    coef, mask, flipped = np.zeros((2, 1)), np.array([True]), np.array([0])
    out = step_buffers(2, features)
    rows = StepRows(features, labels, weights)
    candidate_step(rows, MaskedMember(coef, mask, np.zeros((2, 1))), flipped, 0.1, 0.0, out)
    np.testing.assert_allclose(out.coef_step, [[0.1], [-0.1], [0], [0]])
    np.testing.assert_allclose(out.intercept_step, [0.05, -0.05, 0.05, -0.05])
    np.testing.assert_allclose(out.logits, [[0.25], [-0.25], [0.05], [-0.05]])
    np.testing.assert_array_equal(out.accuracy, [1, 1])


@settings(deadline=None)  # the first call compiles
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.floats(0.01, 2), st.sampled_from([0, 0.1]))
def test_both_candidates_equal_two_separate_steps(seed, n_classes, rate, decay):
    features, labels, weights, coef, mask, flipped = problem(seed, n_classes=n_classes)
    out = step_buffers(n_classes, features)
    member = MaskedMember(coef, mask, (coef * mask) @ features)
    candidate_step(StepRows(features, labels, weights), member, flipped, rate, decay, out)
    proposed = mask.copy()
    proposed[flipped] ^= True
    for i, candidate in enumerate([mask, proposed]):
        part = slice(i * n_classes, (i + 1) * n_classes)
        step, shift, moved, right = plainly(
            features, labels, weights, coef, candidate, rate, decay
        )  # fmt: skip
        np.testing.assert_allclose(out.coef_step[part], step, atol=1e-12)
        np.testing.assert_allclose(out.intercept_step[part], shift, atol=1e-12)
        np.testing.assert_allclose(out.logits[part], moved, atol=1e-10)
        assert out.accuracy[i] == pytest.approx(right)


@settings(deadline=None)  # the first call compiles
@given(st.integers(0, 2**32 - 1))
def test_no_flip_gives_the_same_candidate_twice(seed):
    features, labels, weights, coef, mask, _ = problem(seed)
    out = step_buffers(3, features)
    nothing = np.empty(0, dtype=np.intp)
    member = MaskedMember(coef, mask, (coef * mask) @ features)
    candidate_step(StepRows(features, labels, weights), member, nothing, 0.5, 0.0, out)
    np.testing.assert_array_equal(out.coef_step[:3], out.coef_step[3:])
    assert out.accuracy[0] == out.accuracy[1]


def test_single_precision_follows_double():
    wide = problem(0)
    narrow = [a.astype(np.float32) if a.dtype == float else a for a in wide]
    results = []
    for features, labels, weights, coef, mask, flipped in (wide, narrow):
        out = step_buffers(3, features)
        member = MaskedMember(coef, mask, (coef * mask) @ features)
        candidate_step(StepRows(features, labels, weights), member, flipped, 0.5, 0.01, out)
        results.append(out)
    assert results[1].logits.dtype == np.float32
    np.testing.assert_allclose(results[0].coef_step, results[1].coef_step, atol=1e-6)
    np.testing.assert_allclose(results[0].logits, results[1].logits, atol=1e-5)


def test_compiled_and_plain_agree(monkeypatch):
    features, labels, weights, coef, mask, flipped = problem(3, n_rows=6)
    member = MaskedMember(coef, mask, (coef * mask) @ features)
    compiled, plain = step_buffers(3, features), step_buffers(3, features)
    arguments = StepRows(features, labels, weights), member, flipped, 0.5, 0.1
    candidate_step(*arguments, compiled)
    for name, kernel in vars(kernels).copy().items():
        if isinstance(kernel, CompiledKernel):
            monkeypatch.setattr(kernels, name, kernel.python)
    candidate_step(*arguments, plain)
    for a, b in zip(compiled, plain, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
