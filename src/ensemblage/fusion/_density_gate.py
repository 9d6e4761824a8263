"""A gate over members that say normal densities."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import clone

from ensemblage.fusion._affinity_gate import TEMPERATURES
from ensemblage.fusion._base import NOTHING_KNOWN, Array, Fusion, FusionContext
from ensemblage.fusion._residual_spread import (
    BORROWED,
    SMALLEST,
    as_normals,
    as_outputs,
    squared_residuals,
)
from ensemblage.kernels import Normals, normal_log_density, normal_mixture
from ensemblage.messages import expect, expect_array, expect_fitted


class DensityGate(Fusion):
    r"""Mixture of members' normal densities, by how close a row is to their strata.

    Parameters
    ----------
    temperature : float or "auto", default="auto"
        Softness :math:`T` of the gate; ``"auto"`` takes the one with the least log loss on outputs
        for rows that the members have not seen.

    Attributes
    ----------
    temperature_ : float
        The temperature in use.
    factors_ : ndarray of shape (n_members,)
        What each member's variances are multiplied by, so that they agree with its residuals on
        the rows that listen to it.

    See Also
    --------
    Gate : The same of classes.

    Notes
    -----
    With :math:`g(x) = \mathrm{softmax}(a(x) / T)` of the log affinities, and members that say
    :math:`N(\mu_k, s_k^2)`, it gives mean and variance of the mixture,

    .. math:: \mu = \sum_k g_k \mu_k, \qquad s^2 = \sum_k g_k \big( s_k^2 + (\mu_k - \mu)^2 \big).

    Each :math:`s_k^2` is the mean of the squared residuals weighted by :math:`g_k`, drawn towards
    that of all members as by twenty rows.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.fusion import DensityGate, FusionContext
    >>> outputs = np.array([[[0.0, 1.0]] * 2, [[2.0, 1.0]] * 2])  # mean and variance
    >>> near = FusionContext(affinity=np.log([[0.5, 0.5]] * 2))
    >>> gate = DensityGate(temperature=1.0).fit(outputs, np.array([0.0, 2.0]), near)
    >>> gate.combine(outputs, near)
    array([[1., 3.],
           [1., 3.]])
    """

    learns = True
    needs = frozenset({"affinity"})

    def __init__(self, temperature: Any = "auto") -> None:
        self.temperature = temperature

    def fit(
        self,
        outputs: Array | None,
        y: NDArray[Any],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Array | None = None,
    ) -> Self:
        every = np.arange(len(y))
        found = self._fit_parts([every], np.asarray(outputs), y, context, sample_weight)
        self.temperature_, self.factors_ = found[0]
        return self

    def fit_parts(
        self,
        parts: list[NDArray[np.intp]],
        outputs: Array,
        y: NDArray[Any],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Array | None = None,
    ) -> list[Self]:
        gates: list[Self] = [clone(self) for _ in parts]
        found = self._fit_parts(parts, outputs, y, context, sample_weight)
        for gate, (temperature, factors) in zip(gates, found, strict=True):
            gate.temperature_, gate.factors_ = temperature, factors
        return gates

    def _fit_parts(
        self,
        parts: list[NDArray[np.intp]],
        outputs: Array,
        y: Array,
        context: FusionContext,
        sample_weight: Array | None,
    ) -> list[tuple[float, Array]]:
        """Give the best temperature of each part and the members' factors at it."""
        fixed = isinstance(self.temperature, Real)
        temperatures = [float(self.temperature)] if fixed else TEMPERATURES.tolist()
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        members, inside = as_normals(outputs), np.zeros((len(parts), len(y)))
        for own, part in zip(inside, parts, strict=True):
            own[part] = weights[part]
        rows = _Rows.of(members, np.asarray(y, dtype=float), inside)
        tried = [rows.judge(np.asarray(context.affinity), each) for each in temperatures]
        best = np.argmin([losses for losses, _ in tried], axis=0)
        return [(temperatures[t], tried[t][1][k]) for k, t in enumerate(best.tolist())]

    def combine(self, outputs: Array, context: FusionContext = NOTHING_KNOWN) -> Array:
        members = as_normals(outputs)
        own = members._replace(variance=members.variance * self.factors_[:, None])
        return as_outputs(normal_mixture(own, self.row_weights(outputs, context)))

    def row_weights(self, outputs: Array, context: FusionContext = NOTHING_KNOWN) -> Array:
        return np.asarray(softmax(np.asarray(context.affinity) / self.temperature_, axis=1))

    def importance(self, n_members: int) -> None:
        return None

    def __check_state__(self) -> None:
        """Refuse variances that no fit makes."""
        expect_fitted(self, {"temperature_": "number"})
        expect(self.temperature_ > 0, "the temperature is not above zero")
        expect_array(self, "factors_", [len(self.factors_)], low=0)


class _Rows(NamedTuple):
    """What members said of rows and what is true, rows first, and the rows' weights in parts.

    A part learns from its rows alone, but what does not depend on that is worked out once.
    """

    mean: Array
    variance: Array
    squares: Array
    y: Array
    inside: Array
    """Of shape (n_parts, n_rows), zero for rows that are not in the part."""

    @classmethod
    def of(cls, members: Normals, y: Array, inside: Array) -> _Rows:
        mean, variance = (np.ascontiguousarray(each.T) for each in members)
        return cls(mean, variance, squared_residuals(members, y).T.copy(), y, inside)

    def judge(self, affinity: Array, temperature: float) -> tuple[Array, Array]:
        """Give each part's log loss, and its members' factors, (n_parts, n_members)."""
        shares = softmax(affinity / temperature, axis=1)
        mean = np.einsum("nk,nk->n", shares, self.mean)
        apart = np.einsum("nk,nk->n", shares, (self.mean - mean[:, None]) ** 2)
        factors = self._factors(shares)
        shares *= self.variance
        told = Normals(mean, apart + factors @ shares.T)
        return -np.einsum("pn,pn->p", self.inside, normal_log_density(told, self.y)), factors

    def _factors(self, shares: Array) -> Array:
        """Mean of the squared residuals of each member by its shares, drawn to that of all."""
        unit = self.inside.sum(axis=1, keepdims=True) / (self.inside > 0).sum(axis=1, keepdims=True)
        sums, sizes = self.inside @ (shares * self.squares), self.inside @ shares
        whole = sums.sum(axis=1, keepdims=True) / sizes.sum(axis=1, keepdims=True)
        own = (sums / unit + BORROWED * whole) / (sizes / unit + BORROWED)
        return np.asarray(np.maximum(own, SMALLEST))
