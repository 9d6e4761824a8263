"""Members and a softmax gate, refitted together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize

from ensemblage.fusion import FusionContext, SoftmaxGate
from ensemblage.kernels import MixtureParameters, mixture_loss
from ensemblage.subspace._member import Array, Floats, Mask, Member, Rows, outputs_of

GATE_ITERATIONS = 300
# Spread of the gate's logits at the start: enough that each member begins with rows of its own.
GATE_START = 4.0


def loosely_gated(members: Sequence[Member], seed: int) -> MixtureParameters:
    """Mixture of the members under a random gate, from which a refit starts.

    Members of one ensemble can be near copies of each other. Under an even gate they would move
    together; a random one gives each a region of its own to begin with.
    """
    coef = np.array([member.coef * member.support for member in members])
    intercept = np.array([member.intercept for member in members])
    n_members, _, n_features = coef.shape
    drawn = np.random.default_rng([seed, n_members]).normal(size=(n_members, n_features))
    gate_coef = (GATE_START / np.sqrt(n_features) * drawn).astype(coef.dtype)
    return MixtureParameters(coef, intercept, gate_coef, np.zeros(n_members, coef.dtype))


def _pack(parameters: MixtureParameters) -> Array:
    return np.concatenate([part.ravel() for part in parameters]).astype(float, copy=False)


def _unpack(flat: Array, like: MixtureParameters) -> MixtureParameters:
    ends = np.cumsum([part.size for part in like])[:-1]
    parts = np.split(flat.astype(like.coef.dtype, copy=False), ends)
    return MixtureParameters(
        *(part.reshape(old.shape) for part, old in zip(parts, like, strict=True))
    )


def refit_with_gate(
    rows: Rows, start: MixtureParameters, supports: Mask, decay: float, tol: float = 1e-5
) -> MixtureParameters:
    """Climb together in all members and the gate, by L-BFGS, to a slope of ``tol``.

    The members keep their masks, (n_members, n_features); the gate sees every feature. ``decay``
    is the strength of the ridge penalty on all coefficients.
    """
    seen = supports[:, None, :]

    def loss(flat: Array) -> tuple[float, Array]:
        value, slope = mixture_loss(
            rows.features, rows.targets, rows.weights, _unpack(flat, start), decay
        )
        return value, _pack(slope._replace(coef=slope.coef * seen))

    found = minimize(
        loss, _pack(start._replace(coef=start.coef * seen)), jac=True, method="L-BFGS-B",
        options={"maxiter": GATE_ITERATIONS, "gtol": tol},
    )  # fmt: skip
    return MixtureParameters(*(part.copy() for part in _unpack(found.x, start)))


def gate_of(mixture: MixtureParameters) -> SoftmaxGate:
    """Give the gate of a mixture, which learned it together with the members."""
    return SoftmaxGate(mixture.gate_coef, mixture.gate_intercept)


def gated_proba(features: Floats, mixture: MixtureParameters) -> Array:
    """Probabilities of a mixture, (n_rows, n_classes)."""
    outputs = outputs_of(features, mixture.coef, mixture.intercept)
    return gate_of(mixture).combine(outputs, FusionContext(X=features.T))
