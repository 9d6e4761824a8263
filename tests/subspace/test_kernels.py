import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, check_grad

from ensemblage._core._compile import CompiledKernel
from ensemblage.subspace import _kernels as kernels
from ensemblage.subspace._kernels import (
    MixtureParameters,
    brier_rows,
    candidate_step,
    focal_rows,
    hinge_rows,
    linear_loss,
    log_softmax,
    member_log_proba,
    mixture_loss,
    softmax_loss,
    squared_loss,
    squared_optimum,
    squared_score,
    squared_step,
    step_buffers,
)
from ensemblage.subspace._objectives import CLASS_LOSSES, Rows, step_length
from ensemblage.subspace._search import _pack, _unpack


def test_softmax_loss_by_hand():
    # zero parameters: both classes at one half, so the loss is log 2 and the gradient half the row
    loss, gradient = softmax_loss(
        np.array([[2.0]]), np.array([1]), np.ones(1), np.zeros((2, 2)), decay=3.0
    )  # fmt: skip
    assert loss == pytest.approx(np.log(2))
    np.testing.assert_allclose(gradient, [[1.0, 0.5], [-1.0, -0.5]])


@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_gradient_of_the_softmax_loss(seed, decay):
    rng = np.random.default_rng(seed)
    features, labels = rng.normal(size=(4, 9)), rng.integers(3, size=9)
    weights, start = rng.uniform(size=9), rng.normal(size=15)

    def part(which):
        return lambda flat: np.ravel(
            softmax_loss(features, labels, weights, flat.reshape(3, 5), decay)[which]
        ).squeeze()[()]  # fmt: skip

    assert check_grad(part(0), part(1), start) < 1e-5


def test_huge_logits_stay_finite():
    loss, gradient = softmax_loss(
        np.array([[1e8, -1e8]]), np.array([1, 0]), np.ones(2), np.array([[1.0, 0], [0, 0]]), 0.0
    )  # fmt: skip
    assert np.isfinite(loss)
    assert np.isfinite(gradient).all()


def problem(seed, n_rows=30, n_features=5, n_classes=3, dtype=float):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_features, n_rows)).astype(dtype)
    labels = rng.integers(n_classes, size=n_rows)
    weights = (rng.uniform(0.1, 1, n_rows) / n_rows).astype(dtype)
    coef = rng.normal(size=(n_classes, n_features)).astype(dtype)
    mask = rng.random(n_features) < 0.6
    flipped = np.flatnonzero(rng.random(n_features) < 0.4)
    return features, labels, weights, coef, mask, flipped


def row_by_row(features, labels, weights, coef, mask, rate, decay):
    """One candidate without vectorisation: gradient step, then weighted accuracy."""
    logits = (coef * mask) @ features
    proba = np.exp(logits) / np.exp(logits).sum(axis=0)
    residual = weights * (np.eye(len(coef))[labels].T - proba)
    step = rate * (residual @ features.T - decay * coef) * mask
    shift = rate * residual.sum(axis=1)
    logits = ((coef + step) * mask) @ features + shift[:, None]
    return step, shift, logits, weights[logits.argmax(axis=0) == labels].sum()


def test_one_row_by_hand():
    # logits 0 and 0, so both probabilities are one half; the gradient of the first class is
    # (1 - 1/2) * x = 1; without the only feature just the intercepts change
    features, labels, weights = np.array([[2.0]]), np.array([0]), np.ones(1)
    coef, mask, flipped = np.zeros((2, 1)), np.array([True]), np.array([0])
    out = step_buffers(2, features)
    candidate_step(
        features, labels, weights, coef, mask, np.zeros((2, 1)), flipped, 0.1, 0.0, out
    )  # fmt: skip
    np.testing.assert_allclose(out.coef_step, [[0.1], [-0.1], [0], [0]])
    np.testing.assert_allclose(out.intercept_step, [0.05, -0.05, 0.05, -0.05])
    np.testing.assert_allclose(out.logits, [[0.25], [-0.25], [0.05], [-0.05]])
    np.testing.assert_array_equal(out.scores, [1, 1])


@settings(deadline=None)  # the first call compiles
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.floats(0.01, 2), st.sampled_from([0, 0.1]))
def test_both_candidates_equal_two_separate_steps(seed, n_classes, rate, decay):
    features, labels, weights, coef, mask, flipped = problem(seed, n_classes=n_classes)
    out = step_buffers(n_classes, features)
    start = coef, mask, (coef * mask) @ features
    candidate_step(features, labels, weights, *start, flipped, rate, decay, out)
    proposed = mask.copy()
    proposed[flipped] ^= True
    for i, candidate in enumerate([mask, proposed]):
        part = slice(i * n_classes, (i + 1) * n_classes)
        step, shift, moved, correct = row_by_row(
            features, labels, weights, coef, candidate, rate, decay
        )  # fmt: skip
        np.testing.assert_allclose(out.coef_step[part], step, atol=1e-12)
        np.testing.assert_allclose(out.intercept_step[part], shift, atol=1e-12)
        np.testing.assert_allclose(out.logits[part], moved, atol=1e-10)
        assert out.scores[i] == pytest.approx(correct)


@settings(deadline=None)  # the first call compiles
@given(st.integers(0, 2**32 - 1))
def test_no_flip_gives_the_same_candidate_twice(seed):
    features, labels, weights, coef, mask, _ = problem(seed)
    out = step_buffers(3, features)
    nothing = np.empty(0, dtype=np.intp)
    start = coef, mask, (coef * mask) @ features
    candidate_step(features, labels, weights, *start, nothing, 0.5, 0.0, out)
    np.testing.assert_array_equal(out.coef_step[:3], out.coef_step[3:])
    assert out.scores[0] == out.scores[1]


def test_single_precision_follows_double():
    wide = problem(0)
    narrow = [a.astype(np.float32) if a.dtype == float else a for a in wide]
    results = []
    for features, labels, weights, coef, mask, flipped in (wide, narrow):
        out = step_buffers(3, features)
        start = coef, mask, (coef * mask) @ features
        candidate_step(features, labels, weights, *start, flipped, 0.5, 0.01, out)
        results.append(out)
    assert results[1].logits.dtype == np.float32
    np.testing.assert_allclose(results[0].coef_step, results[1].coef_step, atol=1e-6)
    np.testing.assert_allclose(results[0].logits, results[1].logits, atol=1e-5)


def test_the_compiled_kernels_equal_the_python_ones(monkeypatch):
    features, labels, weights, coef, mask, flipped = problem(3, n_rows=6)
    compiled, plain = step_buffers(3, features), step_buffers(3, features)
    start = coef, mask, (coef * mask) @ features
    arguments = features, labels, weights, *start, flipped, 0.5, 0.1
    monkeypatch.setattr(kernels, "MAX_NUMPY_ROWS", 0)
    candidate_step(*arguments, compiled)
    for name, kernel in vars(kernels).copy().items():
        if isinstance(kernel, CompiledKernel):
            monkeypatch.setattr(kernels, name, kernel.python)
    candidate_step(*arguments, plain)
    for name in ("logits", "residuals", "change", "coef_step", "intercept_step", "scores"):
        np.testing.assert_allclose(getattr(compiled, name), getattr(plain, name), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_and_many_rows_give_the_same_bits(dtype, monkeypatch):
    features, labels, weights, coef, mask, flipped = problem(5, 700, n_classes=4, dtype=dtype)
    start = coef, mask, (coef * mask) @ features
    found = []
    for few in (700, 699):
        monkeypatch.setattr(kernels, "MAX_NUMPY_ROWS", few)
        out = step_buffers(4, features)
        candidate_step(features, labels, weights, *start, flipped, 0.5, 0.1, out)
        found.append(out)
    for name in ("logits", "residuals", "coef_step", "intercept_step", "scores"):
        np.testing.assert_array_equal(*(getattr(each, name) for each in found))


ROW_LOSSES = {"hinge": hinge_rows, "squared": brier_rows, "focal": focal_rows}


def literal_loss(name, logits, label):
    """Loss of one row as the documentation states it."""
    others = range(len(logits))
    proba = np.exp(logits) / np.exp(logits).sum()
    if name == "hinge":
        margins = [logits[j] - logits[label] + (j != label) for j in others]
        return 0.25 * np.log(sum(np.exp(margin / 0.25) for margin in margins))
    if name == "squared":
        return 0.5 * sum((proba[j] - (j == label)) ** 2 for j in others)
    return -((1 - proba[label]) ** 2) * np.log(proba[label])


@pytest.mark.parametrize(("name", "loss", "slope"), [
    ("hinge", 0.25 * np.log(1 + np.exp(4)), 1 / (1 + np.exp(-4))),
    ("squared", 0.25, 0.25),
    ("focal", 0.25 * np.log(2), 0.125 + 0.25 * np.log(2)),
])  # fmt: skip
def test_row_losses_of_equal_logits_by_hand(name, loss, slope):
    losses, slopes = ROW_LOSSES[name](np.zeros((2, 1)), np.array([1]))
    assert losses == pytest.approx(loss)
    np.testing.assert_allclose(slopes, [[slope], [-slope]])


def drawn_logits(seed, n_classes=4, n_rows=12):
    rng = np.random.default_rng(seed)
    logits = rng.normal(scale=rng.choice([0.1, 1, 5]), size=(n_classes, n_rows))
    return logits, rng.integers(n_classes, size=n_rows)


@pytest.mark.parametrize("name", ROW_LOSSES)
@given(seed=st.integers(0, 2**32 - 1), shift=st.floats(-50, 50))
def test_row_losses_equal_their_definitions(name, seed, shift):
    logits, labels = drawn_logits(seed)
    losses, slopes = ROW_LOSSES[name](logits, labels)
    literal = [literal_loss(name, logits[:, m], labels[m]) for m in range(labels.size)]
    np.testing.assert_allclose(losses, literal, rtol=1e-8, atol=1e-12)
    # nothing but differences of logits counts, nor does the order of the classes
    np.testing.assert_allclose(slopes.sum(axis=0), 0, atol=1e-12)
    moved, same = ROW_LOSSES[name](logits + shift, labels)
    np.testing.assert_allclose(moved, losses, atol=1e-9)
    np.testing.assert_allclose(same, slopes, atol=1e-9)
    np.testing.assert_allclose(ROW_LOSSES[name](logits[::-1], 3 - labels)[0], losses, atol=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_bounds_of_the_row_losses(seed):
    logits, labels = drawn_logits(seed)
    rows = np.arange(labels.size)
    margins = logits - logits[labels, rows] + 1
    margins[labels, rows] = 0
    above = hinge_rows(logits, labels)[0] - margins.max(axis=0)
    assert above.min() >= -1e-12
    assert above.max() <= 0.25 * np.log(4) + 1e-12
    log_loss = -log_softmax(logits, axis=0)[labels, rows]
    focal, brier = focal_rows(logits, labels)[0], brier_rows(logits, labels)[0]
    assert ((focal >= 0) & (focal <= log_loss)).all()
    assert ((brier >= 0) & (brier <= 1)).all()


@pytest.mark.parametrize("name", ROW_LOSSES)
@given(seed=st.integers(0, 2**32 - 1), decay=st.floats(0, 1))
def test_gradients_of_the_row_losses(name, seed, decay):
    rng = np.random.default_rng(seed)
    features, labels = rng.normal(size=(4, 9)), rng.integers(3, size=9)
    weights, start = rng.uniform(size=9), rng.normal(size=15)

    def part(which):
        return lambda flat: np.ravel(
            linear_loss(
                features, labels, weights, flat.reshape(3, 5), decay, row_loss=ROW_LOSSES[name]
            )[which]
        ).squeeze()[()]

    assert check_grad(part(0), part(1), start) < 1e-5


@pytest.mark.parametrize("name", ROW_LOSSES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_row_losses_of_huge_logits_are_finite(name, dtype):
    logits = np.array([[1e8, -1e8, 0], [0, 0, 0]], dtype=dtype)
    for values in ROW_LOSSES[name](logits, np.array([1, 0, 0])):
        assert np.isfinite(values).all()
        assert values.dtype == dtype


@pytest.mark.parametrize("name", ROW_LOSSES)
@settings(deadline=None)  # the first call compiles
@given(seed=st.integers(0, 2**32 - 1), rate=st.floats(0.01, 2), decay=st.sampled_from([0, 0.1]))
def test_both_candidates_of_the_row_losses_equal_two_separate_steps(name, seed, rate, decay):
    features, labels, weights, coef, mask, flipped = problem(seed)
    out = step_buffers(3, features)
    start = coef, mask, (coef * mask) @ features
    CLASS_LOSSES[name].step(features, labels, weights, *start, flipped, rate, decay, out)
    proposed = mask.copy()
    proposed[flipped] ^= True
    for i, candidate in enumerate([mask, proposed]):
        part = slice(3 * i, 3 * i + 3)
        parameters = np.column_stack([coef * candidate, np.zeros(3)])
        _, gradient = CLASS_LOSSES[name].loss(features, labels, weights, parameters, decay)
        step = -rate * gradient[:, :-1] * candidate
        logits = ((coef + step) * candidate) @ features - rate * gradient[:, -1:]
        np.testing.assert_allclose(out.coef_step[part], step, atol=1e-12)
        np.testing.assert_allclose(out.intercept_step[part], -rate * gradient[:, -1], atol=1e-12)
        np.testing.assert_allclose(out.logits[part], logits, atol=1e-10)
        assert out.scores[i] == pytest.approx(weights[logits.argmax(axis=0) == labels].sum())


@pytest.mark.parametrize("name", CLASS_LOSSES)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_step_of_the_automatic_length_does_not_increase_the_loss(name, seed):
    features, labels, _, coef, _, _ = problem(seed)
    weights = np.full(labels.size, 1 / labels.size)
    rows = Rows(features, labels, weights, 3, labels.size, CLASS_LOSSES[name])
    parameters = np.column_stack([coef, np.zeros(3)])
    before, gradient = rows.objective.loss(features, labels, weights, parameters, 0.0)
    gradient[:, -1] = 0
    parameters -= step_length(rows) * gradient
    after, _ = rows.objective.loss(features, labels, weights, parameters, 0.0)
    assert after <= before + 1e-12


def squared_problem(seed, n_rows=20, n_features=5, dtype=float):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_features, n_rows)).astype(dtype)
    target = rng.normal(size=n_rows)
    weights = (rng.uniform(0.1, 1, n_rows) / n_rows).astype(dtype)
    coef = rng.normal(size=(1, n_features)).astype(dtype)
    mask = rng.random(n_features) < 0.6
    flipped = np.flatnonzero(rng.random(n_features) < 0.4)
    return features, target, weights, coef, mask, flipped


def squared_row_by_row(features, target, weights, coef, mask, rate, decay):
    """One candidate, row by row: gradient step, then score."""
    n_features, n_rows = features.shape
    step, shift = np.zeros(n_features), 0.0
    for m in range(n_rows):
        left = target[m] - sum(coef[0, d] * features[d, m] for d in range(n_features) if mask[d])
        step += weights[m] * left * features[:, m]
        shift += weights[m] * left
    step = rate * np.where(mask, step - decay * coef[0], 0.0)
    shift *= rate
    moved = ((coef[0] + step) * mask) @ features + shift
    variance = (weights * (target - moved) ** 2).sum() / weights.sum()
    return step, shift, moved, -0.5 * weights.sum() * np.log(variance)


def test_one_row_of_squared_loss_by_hand():
    # the residual is 3: with the feature the step is .1 * 3 * 2, and the prediction becomes
    # .6 * 2 + .3 = 1.5; without it only the intercept changes, to .3
    features, target, weights = np.array([[2.0]]), np.array([3.0]), np.ones(1)
    out = step_buffers(1, features)
    zero, mask = np.zeros((1, 1)), np.array([True])
    squared_step(features, target, weights, zero, mask, zero, np.array([0]), 0.1, 0.0, out)
    np.testing.assert_allclose(out.coef_step, [[0.6], [0]])
    np.testing.assert_allclose(out.intercept_step, [0.3, 0.3])
    np.testing.assert_allclose(out.logits, [[1.5], [0.3]])
    np.testing.assert_allclose(out.scores, [-np.log(1.5), -np.log(2.7)])


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 2), st.sampled_from([0, 0.1]))
def test_both_candidates_of_squared_loss_equal_two_separate_steps(seed, rate, decay):
    features, target, weights, coef, mask, flipped = squared_problem(seed)
    out = step_buffers(1, features)
    start = coef, mask, (coef * mask) @ features
    squared_step(features, target, weights, *start, flipped, rate, decay, out)
    proposed = mask.copy()
    proposed[flipped] ^= True
    for i, candidate in enumerate([mask, proposed]):
        step, shift, moved, score = squared_row_by_row(
            features, target, weights, coef, candidate, rate, decay
        )  # fmt: skip
        np.testing.assert_allclose(out.coef_step[i], step, atol=1e-12)
        np.testing.assert_allclose(out.intercept_step[i], shift, atol=1e-12)
        np.testing.assert_allclose(out.logits[i], moved, atol=1e-10)
        assert out.scores[i] == pytest.approx(score)


@given(st.integers(0, 999), st.sampled_from([0.0, 0.3]))
def test_gradient_of_the_squared_loss(seed, decay):
    features, target, weights, coef, _, _ = squared_problem(seed)
    start = np.append(coef[0], 0.3)

    def loss(flat):
        return squared_loss(features, target, weights, flat[None], decay)[0]

    gradient = squared_loss(features, target, weights, start[None], decay)[1][0]
    np.testing.assert_allclose(gradient, approx_fprime(start, loss, 1e-7), atol=1e-5)


@given(st.integers(0, 999), st.sampled_from([1e-6, 0.3]))
def test_gradient_at_the_optimum_is_zero(seed, decay):
    features, target, weights, _, _, _ = squared_problem(seed)
    top = squared_optimum(features, target, weights, decay)
    np.testing.assert_allclose(squared_loss(features, target, weights, top, decay)[1], 0, atol=1e-9)


def test_copies_without_a_penalty_share_their_coefficient():
    features = np.tile(np.random.default_rng(0).normal(size=20), (3, 1))
    top = squared_optimum(features, 6 * features[0] + 1, np.full(20, 0.05), 0.0)
    np.testing.assert_allclose(top, [[2, 2, 2, 1]], atol=1e-4)


def test_squared_loss_by_hand():
    # residuals 1 and -2: half of .5 * 1 + .25 * 4, and half of .1 * 9 as penalty
    features, target = np.array([[1.0, 0.0]]), np.array([5.0, -1.0])
    parameters = np.array([[3.0, 1.0]])
    loss, _ = squared_loss(features, target, np.array([0.5, 0.25]), parameters, 0.1)
    assert loss == pytest.approx(0.75 + 0.45)


@given(st.integers(0, 999), st.floats(0.01, 100))
def test_score_is_proportional_to_the_weights(seed, factor):
    rng = np.random.default_rng(seed)
    predicted, target, weights = rng.normal(size=(1, 9)), rng.normal(size=9), rng.uniform(size=9)
    score = squared_score(predicted, target, weights)
    assert squared_score(predicted, target, factor * weights) == pytest.approx(factor * score)


def test_squared_step_stays_in_single_precision():
    features, target, weights, coef, mask, flipped = squared_problem(1, dtype=np.float32)
    out = step_buffers(1, features)
    start = coef, mask, (coef * mask) @ features
    squared_step(features, target, weights, *start, flipped, 0.5, 0.1, out)
    step, _, moved, _ = squared_row_by_row(features, target, weights, coef, mask, 0.5, 0.1)
    np.testing.assert_allclose(out.coef_step[0], step, atol=1e-5)
    np.testing.assert_allclose(out.logits[0], moved, atol=1e-5)
    assert out.logits.dtype == np.float32


def mixture(rng, n_members=3, n_classes=3, n_features=2):
    return MixtureParameters(
        rng.normal(size=(n_members, n_classes, n_features)),
        rng.normal(size=(n_members, n_classes)),
        rng.normal(size=(n_members, n_features)),
        rng.normal(size=n_members),
    )  # fmt: skip


def mixture_loss_row_by_row(features, labels, weights, parameters):
    """The mixture's loss, one row at a time."""
    loss = 0.0
    for x, y, w in zip(features.T, labels, weights, strict=True):
        gate = np.exp(parameters.gate_coef @ x + parameters.gate_intercept)
        members = np.exp(parameters.coef @ x + parameters.intercept)
        proba = members / members.sum(axis=1, keepdims=True)
        loss -= w * np.log(gate / gate.sum() @ proba[:, y])
    return loss


@given(st.integers(0, 2**32 - 1))
def test_mixture_loss_row_by_row_and_its_gradient(seed):
    rng = np.random.default_rng(seed)
    features, labels, weights = (
        rng.normal(size=(2, 7)),
        rng.integers(3, size=7),
        rng.uniform(size=7),
    )
    start = mixture(rng)
    assert mixture_loss(features, labels, weights, start, 0.0)[0] == pytest.approx(
        mixture_loss_row_by_row(features, labels, weights, start)
    )
    error = check_grad(
        lambda flat: mixture_loss(features, labels, weights, _unpack(flat, start), 0.3)[0],
        lambda flat: _pack(mixture_loss(features, labels, weights, _unpack(flat, start), 0.3)[1]),
        _pack(start),
    )
    assert error < 1e-5


def test_one_member_is_a_softmax_classifier():
    rng = np.random.default_rng(0)
    features, labels, weights = (
        rng.normal(size=(2, 7)),
        rng.integers(3, size=7),
        rng.uniform(size=7),
    )
    one = mixture(rng, n_members=1)
    plain = np.column_stack([one.coef[0], one.intercept[0]])
    loss, gradient = softmax_loss(features, labels, weights, plain, 0.0)
    mixed, gradients = mixture_loss(features, labels, weights, one, 0.0)
    assert mixed == pytest.approx(loss)
    np.testing.assert_allclose(gradients.coef[0], gradient[:, :-1])
    np.testing.assert_allclose(gradients.gate_coef, 0, atol=1e-15)


def test_log_softmax_by_hand():
    logs = log_softmax(np.array([[0.0, 1e4], [np.log(3), 0.0]]), axis=0)
    np.testing.assert_allclose(np.exp(logs), [[0.25, 1], [0.75, 0]])


def test_member_probabilities_sum_to_one():
    rng = np.random.default_rng(0)
    members = mixture(rng)
    logs = member_log_proba(rng.normal(size=(2, 5)), members.coef, members.intercept)
    assert logs.shape == (3, 3, 5)
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1)
