"""Loss of masked softmax members under a softmax gate, and its slope."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.floating[Any]]


def log_softmax(logits: Floats, axis: int) -> Floats:
    """Logarithm of the softmax along one axis, without overflow."""
    shifted = logits - logits.max(axis=axis, keepdims=True)
    result: Floats = shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    return result


class MixtureParameters(NamedTuple):
    """Members and gate; masked entries of ``coef`` are zero."""

    coef: Floats  # (n_members, n_classes, n_features)
    intercept: Floats  # (n_members, n_classes)
    gate_coef: Floats  # (n_members, n_features)
    gate_intercept: Floats  # (n_members,)


def member_log_proba(features: Floats, coef: Floats, intercept: Floats) -> Floats:
    """Log probabilities of every member (eq. 5), of shape (n_members, n_classes, n_rows).

    Features are of shape (n_features, n_rows); coefficients are zero where masked.
    """
    n_members, n_classes, n_features = coef.shape
    logits = coef.reshape(-1, n_features) @ features + intercept.reshape(-1, 1)
    return log_softmax(logits.reshape(n_members, n_classes, -1), axis=1)


def mixture_loss(
    features: Floats,
    labels: NDArray[np.intp],
    weights: Floats,
    parameters: MixtureParameters,
    decay: float,
) -> tuple[float, MixtureParameters]:
    r"""Loss of the gated mixture and its slope in every parameter, masked ones included.

    The loss is :math:`-\sum_m w_m \log \sum_k g_k(x_m)\, p_k(y_m \mid x_m) + \frac{\rho}{2}
    \|\cdot\|^2`, with weights that add up to one and a decay :math:`\rho` on all coefficients; the
    intercepts go free. Features are of shape (n_features, n_rows).
    """
    coef, intercept, gate_coef, gate_intercept = parameters
    log_proba = member_log_proba(features, coef, intercept)
    log_gate = log_softmax(gate_coef @ features + gate_intercept[:, None], axis=0)
    joint = log_gate + np.take_along_axis(log_proba, labels[None, None, :], axis=1)[:, 0]
    share = log_softmax(joint, axis=0)
    loss = -float(weights @ (joint[0] - share[0]))
    loss += 0.5 * decay * float((coef**2).sum() + (gate_coef**2).sum())

    np.exp(share, out=share)
    share *= weights
    residual = np.exp(log_proba) * share[:, None, :]
    residual[:, labels, np.arange(labels.size)] -= share
    gate_residual = np.exp(log_gate) * weights - share
    stacked = np.concatenate([residual.reshape(-1, labels.size), gate_residual]) @ features.T
    split = intercept.size
    slope = MixtureParameters(
        stacked[:split].reshape(coef.shape) + decay * coef,
        residual.sum(axis=2),
        stacked[split:] + decay * gate_coef,
        gate_residual.sum(axis=1),
    )
    return loss, slope
