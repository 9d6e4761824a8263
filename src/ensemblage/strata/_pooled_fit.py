"""Coefficients that sources share, and each source's deviations from them, at given penalties."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ensemblage.kernels import SourceRows, add_source_losses

Doubles = NDArray[np.float64]

# an upper bound on the curvature of a row's loss, for steps of about equal length
CURVATURE = 0.25
# the prior variance of a source's own intercept is one
INTERCEPT_PENALTY = 1.0


class Penalties(NamedTuple):
    r"""On shared coefficients, :math:`\lambda_0`, and on deviations, :math:`\lambda_1`.

    Infinity leaves them out.
    """

    shared: float
    own: float


class Pooled(NamedTuple):
    """Shared coefficients (n_logits, n_features + 1) and deviations (n_sources, ...) from them."""

    shared: Doubles
    own: Doubles

    @classmethod
    def nothing(cls, n_sources: int, n_logits: int, width: int) -> Pooled:
        """Give the coefficients of a model that knows nothing."""
        return cls(np.zeros((n_logits, width)), np.zeros((n_sources, n_logits, width)))

    @property
    def coefs(self) -> Doubles:
        """What is used for the rows of each source."""
        return self.shared + self.own

    @property
    def typical(self) -> Doubles:
        """The mean over the sources; used where the source is not known."""
        return np.asarray(self.shared + self.own.mean(axis=0))


class _Entries(NamedTuple):
    """Penalty of every coefficient, shared ones first, and which of them are free."""

    penalty: Pooled
    free: NDArray[np.bool_]

    @classmethod
    def of(cls, start: Pooled, penalties: Penalties) -> _Entries:
        shared = np.full_like(start.shared, penalties.shared)
        shared[:, -1] = 0.0
        own = np.full_like(start.own, penalties.own)
        own[..., -1] = INTERCEPT_PENALTY
        ridge = np.concatenate([shared.ravel(), own.ravel()])
        return cls(Pooled(shared, own), np.isfinite(ridge))


def fit_pooled(
    data: SourceRows, penalties: Penalties, start: Pooled, *, tol: float = 1e-4, max_iter: int = 500
) -> tuple[Pooled, int]:
    r"""Minimise the penalised loss, from a start of the right shapes.

    .. math:: -\sum_m w_m \log p(y_m \mid x_m; B + D_{s(m)}) + \tfrac{\lambda_0}{2} \|B\|^2 +
        \tfrac{\lambda_1}{2} \sum_s \|D_s\|^2 + \tfrac12 \sum_s \|d_s\|^2

    with deviations d of the intercepts; ``tol`` bounds the slope per unit of weight. Also gives the
    number of steps.
    """
    entries = _Entries.of(start, penalties)
    free, split = entries.free, start.shared.size
    ridge = np.where(free, np.concatenate([part.ravel() for part in entries.penalty]), 0.0)
    scale = 1 / np.sqrt(_masses(data, start) * CURVATURE + ridge)
    full = np.zeros(len(free))

    def unpack(values: Doubles) -> Pooled:
        full[free] = values * scale[free]
        return Pooled(
            full[:split].reshape(start.shared.shape), full[split:].reshape(start.own.shape)
        )

    def loss(values: Doubles) -> tuple[float, Doubles]:
        found = unpack(values)
        slopes = np.zeros_like(found.own)
        total = add_source_losses(data, found.coefs, slopes)
        slope = np.concatenate([slopes.sum(axis=0).ravel(), slopes.ravel()]) + ridge * full
        return total + 0.5 * float(ridge @ full**2), (slope * scale)[free]

    first = np.concatenate([part.ravel() for part in start])[free] / scale[free]
    options: Any = {"maxiter": max_iter, "gtol": tol * np.sqrt(data.weights.sum()), "ftol": 1e-12}
    best = minimize(loss, first, jac=True, method="L-BFGS-B", options=options)
    shared, own = unpack(best.x)
    return Pooled(shared.copy(), own.copy()), max(int(best.nit), 1)


def _masses(data: SourceRows, start: Pooled) -> Doubles:
    """Weight of the rows that each coefficient is used for; at least that of one mean row."""
    weights = np.array([data.weights[a:b].sum() for a, b in pairwise(data.starts)])
    least = data.weights.mean()
    shared = np.full(start.shared.size, weights.sum())
    per_source = start.own[0].size
    return np.concatenate([shared, np.repeat(np.maximum(weights, least), per_source)])


def held_out_loss(data: SourceRows, coefs: Doubles) -> float:
    """Log loss of rows, per unit of weight."""
    total: float = add_source_losses(data, coefs, np.zeros_like(coefs))
    return total / float(data.weights.sum())
