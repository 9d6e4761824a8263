"""Members and a softmax gate, refitted together."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from ensemblage.kernels import MixtureParameters, log_softmax, member_log_proba, mixture_loss
from ensemblage.subspace._member import Rows

GATE_ITERATIONS = 300
# Spread of the gate's logits at the start: enough that each member begins with rows of its own.
GATE_START = 4.0


def ungated(members):
    """Mixture of the members under a gate that does not yet tell them apart.

    Parameters
    ----------
    members : sequence of Member
        As the sequential pass left them.

    Returns
    -------
    MixtureParameters
    """
    coef = np.array([member.coef * member.support for member in members])
    intercept = np.array([member.intercept for member in members])
    gate_coef = np.zeros((len(members), coef.shape[2]), coef.dtype)
    return MixtureParameters(coef, intercept, gate_coef, np.zeros(len(members), coef.dtype))


def loosely_gated(members, seed):
    """Mixture of the members under a random gate, from which a refit starts.

    Members of one ensemble can be near copies of each other. Under an even gate they would move
    together; a random one gives each a region of its own to begin with.

    Parameters
    ----------
    members : sequence of Member
        As the sequential pass left them.
    seed : int
        Draws the gate.

    Returns
    -------
    MixtureParameters
    """
    mixture = ungated(members)
    shape, dtype = mixture.gate_coef.shape, mixture.gate_coef.dtype
    drawn = np.random.default_rng([seed, shape[0]]).normal(size=shape)
    return mixture._replace(gate_coef=(GATE_START / np.sqrt(shape[1]) * drawn).astype(dtype))


def random_mixture(n_members, n_classes, n_features, rng):
    """Members and gate drawn at random: the control of a refit of the same size.

    Parameters
    ----------
    n_members, n_classes, n_features : int
        The size.
    rng : numpy.random.Generator
        Draws from the standard normal distribution.

    Returns
    -------
    MixtureParameters
    """
    return MixtureParameters(
        rng.normal(size=(n_members, n_classes, n_features)), np.zeros((n_members, n_classes)),
        rng.normal(size=(n_members, n_features)), np.zeros(n_members),
    )  # fmt: skip


def _pack(parameters):
    return np.concatenate([part.ravel() for part in parameters]).astype(float, copy=False)


def _unpack(flat, like):
    ends = np.cumsum([part.size for part in like])[:-1]
    parts = np.split(flat.astype(like.coef.dtype, copy=False), ends)
    return MixtureParameters(
        *(part.reshape(old.shape) for part, old in zip(parts, like, strict=True))
    )  # fmt: skip


def refit_with_gate(rows: Rows, start: MixtureParameters, supports, decay, tol=1e-5):
    """Climb together in all members and the gate, by L-BFGS.

    Parameters
    ----------
    rows : Rows
        Training rows.
    start : MixtureParameters
        Where to start.
    supports : ndarray of shape (n_members, n_features)
        Masks of the members, which stay; the gate sees every feature.
    decay : float
        Strength of the ridge penalty on all coefficients.
    tol : float, default=1e-5
        Largest slope at which to stop.

    Returns
    -------
    MixtureParameters
    """
    seen = supports[:, None, :]

    def loss(flat):
        value, slope = mixture_loss(
            rows.features, rows.labels, rows.weights, _unpack(flat, start), decay
        )  # fmt: skip
        return value, _pack(slope._replace(coef=slope.coef * seen))

    found = minimize(
        loss, _pack(start._replace(coef=start.coef * seen)), jac=True, method="L-BFGS-B",
        options={"maxiter": GATE_ITERATIONS, "gtol": tol},
    )  # fmt: skip
    return MixtureParameters(*(part.copy() for part in _unpack(found.x, start)))


def gated_proba(features, parameters: MixtureParameters):
    r"""Probabilities of the mixture.

    Parameters
    ----------
    features : ndarray of shape (n_features, n_rows)
        Standardised features.
    parameters : MixtureParameters
        Members and gate.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        :math:`\sum_k g_k(x)\, p_k(c_j \mid x)`.
    """
    gate = parameters.gate_coef @ features + parameters.gate_intercept[:, None]
    log_gate = log_softmax(gate, axis=0)
    log_proba = member_log_proba(features, parameters.coef, parameters.intercept)
    proba = np.exp(log_gate[:, None] + log_proba).sum(axis=0, dtype=float).T
    return proba / proba.sum(axis=1, keepdims=True)
