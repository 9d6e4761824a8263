import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad

from ensemblage.kernels import (
    MixtureParameters,
    log_softmax,
    member_log_proba,
    mixture_loss,
    softmax_loss,
)
from ensemblage.subspace._gated_refit import _pack, _unpack


def mixture(rng, n_members=3, n_classes=3, n_features=2):
    return MixtureParameters(
        rng.normal(size=(n_members, n_classes, n_features)),
        rng.normal(size=(n_members, n_classes)),
        rng.normal(size=(n_members, n_features)),
        rng.normal(size=n_members),
    )  # fmt: skip


def plainly(features, labels, weights, parameters):
    """The mixture's loss, one row at a time."""
    loss = 0.0
    for x, y, w in zip(features.T, labels, weights, strict=True):
        gate = np.exp(parameters.gate_coef @ x + parameters.gate_intercept)
        members = np.exp(parameters.coef @ x + parameters.intercept)
        proba = members / members.sum(axis=1, keepdims=True)
        loss -= w * np.log(gate / gate.sum() @ proba[:, y])
    return loss


@given(st.integers(0, 2**32 - 1))
def test_equals_the_loss_row_by_row_and_its_slope(seed):
    rng = np.random.default_rng(seed)
    features, labels, weights = (
        rng.normal(size=(2, 7)),
        rng.integers(3, size=7),
        rng.uniform(size=7),
    )
    start = mixture(rng)
    assert mixture_loss(features, labels, weights, start, 0.0)[0] == pytest.approx(
        plainly(features, labels, weights, start)
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
    loss, slope = softmax_loss(features, labels, weights, plain, 0.0)
    mixed, slopes = mixture_loss(features, labels, weights, one, 0.0)
    assert mixed == pytest.approx(loss)
    np.testing.assert_allclose(slopes.coef[0], slope[:, :-1])
    np.testing.assert_allclose(slopes.gate_coef, 0, atol=1e-15)


def test_log_softmax_by_hand():
    logs = log_softmax(np.array([[0.0, 1e4], [np.log(3), 0.0]]), axis=0)
    np.testing.assert_allclose(np.exp(logs), [[0.25, 1], [0.75, 0]])


def test_member_probabilities_add_up_to_one():
    rng = np.random.default_rng(0)
    members = mixture(rng)
    logs = member_log_proba(rng.normal(size=(2, 5)), members.coef, members.intercept)
    assert logs.shape == (3, 3, 5)
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1)
