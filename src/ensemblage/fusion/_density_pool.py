"""A product of members' normal densities with learned importances."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ensemblage.fusion._base import NOTHING_KNOWN, Array, Fusion, FusionContext
from ensemblage.fusion._residual_spread import (
    as_normals,
    as_outputs,
    calibrated,
    spread_factors,
    squared_residuals,
)
from ensemblage.kernels import Normals, normal_product, product_loss
from ensemblage.messages import expect_array


class DensityPool(Fusion):
    r"""Product of members' normal densities, raised to learned importances.

    Parameters
    ----------
    ridge : float, default=10.0
        Pull of the importances towards equal ones, in units of log loss summed over rows.
    by_stratum : bool, default=False
        Learn the members' variances stratum by stratum, as far as rows suffice; it then needs to
        know the rows' strata.

    Attributes
    ----------
    factors_ : ndarray of shape (n_members, n_strata + 1) or (n_members, 1)
        What each member's variances are multiplied by, so that they agree with its residuals on
        the rows of each stratum; the last column is of all rows.
    weights_ : ndarray of shape (n_members,)
        Importances, not negative.
    shares_ : ndarray of shape (n_members,)
        Mean share of each member in the precision.

    See Also
    --------
    LogPool : The same of classes.

    Notes
    -----
    The joint-subset paper's eq. 10, :math:`p(y|x) \propto \prod_k p_k(y|x)^{i_k}`. Where member k
    says :math:`N(\mu_k, s_k^2)`, the product is normal too, with

    .. math:: \frac{1}{s^2} = \sum_k \frac{i_k}{s_k^2}, \qquad
        \mu = s^2 \sum_k \frac{i_k}{s_k^2} \mu_k .

    The importances minimise

    .. math:: -\sum_i \log p(y_i|x_i) + \lambda \sum_k (i_k - 1/K)^2, \quad i_k \ge 0

    on outputs for rows that the members have not seen. Variances are first multiplied by the mean
    of the squared residuals in units of them; that of a stratum is drawn towards that of all rows
    as by twenty rows.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.fusion import DensityPool
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=200)
    >>> said = np.stack([y + 0.1 * rng.normal(size=200), rng.normal(size=200)])
    >>> outputs = np.stack([said, np.ones((2, 200))], axis=2)  # mean and variance
    >>> pool = DensityPool().fit(outputs, y)
    >>> bool(pool.importance(2)[0] > 0.9)
    True
    """

    learns = True

    def __init__(self, ridge: float = 10.0, *, by_stratum: bool = False) -> None:
        self.ridge = ridge
        self.by_stratum = by_stratum

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]  # strata only where asked for
        """The rows' strata, if variances are learned by stratum."""
        return frozenset({"strata"} if self.by_stratum else ())

    def fit(
        self,
        outputs: Array | None,
        y: NDArray[Any],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Array | None = None,
    ) -> Self:
        members, truth = as_normals(outputs), np.asarray(y, dtype=float)
        weights = np.ones(len(truth)) if sample_weight is None else sample_weight
        strata = context.strata if self.by_stratum else None
        self.factors_ = spread_factors(squared_residuals(members, truth), weights, strata)
        own = calibrated(members, self.factors_, context)
        self.weights_ = _importances(own, truth, weights, self.ridge)
        self.shares_ = np.average(_precision_shares(own, self.weights_), axis=0, weights=weights)
        return self

    def _calibrated(self, outputs: Array, context: FusionContext) -> Normals:
        return calibrated(as_normals(outputs), self.factors_, context)

    def combine(self, outputs: Array, context: FusionContext = NOTHING_KNOWN) -> Array:
        return as_outputs(normal_product(self._calibrated(outputs, context), self.weights_))

    def row_weights(self, outputs: Array, context: FusionContext = NOTHING_KNOWN) -> Array:
        return _precision_shares(self._calibrated(outputs, context), self.weights_)

    def importance(self, n_members: int) -> Array:
        """Mean share of each member in the precision.

        Parameters
        ----------
        n_members : int
            Number of members.

        Returns
        -------
        ndarray of shape (n_members,)
            Adds up to one.
        """
        return self.shares_

    def only(self, members: NDArray[np.intp]) -> DensityPool:
        """Give the same pool without the members that are not named.

        Parameters
        ----------
        members : ndarray of int
            Numbers of those to keep.

        Returns
        -------
        DensityPool
            Fitted. Where the others have importance 0, it says the same.
        """
        kept = copy(self)
        for name in ("factors_", "weights_", "shares_"):
            setattr(kept, name, getattr(self, name)[members])
        return kept

    def __check_state__(self) -> None:
        """Refuse arrays that do not belong together."""
        n_members = len(self.weights_)
        expect_array(self, "weights_", [n_members], low=0)
        expect_array(self, "shares_", [n_members], low=0)
        expect_array(self, "factors_", [n_members, None], low=0)


def _precision_shares(members: Normals, importances: Array) -> Array:
    """Share of each member in the precision of each row, (n_rows, n_members)."""
    parts = importances[:, None] / members.variance
    return np.asarray((parts / parts.sum(axis=0)).T)


def _importances(members: Normals, y: Array, weights: Array, ridge: float) -> Array:
    """Minimise the class's Notes' loss, given calibrated members."""
    equal = np.full(len(members.mean), 1 / len(members.mean))

    def loss(values: Array) -> tuple[float, Array]:
        # not all zero: there the product has no density
        given = values if values.any() else 1e-6 * equal
        return product_loss(members, y, weights, given, ridge)

    bounds = [(0, None)] * len(equal)
    best = np.asarray(minimize(loss, equal, jac=True, bounds=bounds, method="L-BFGS-B").x)
    return best if best.sum() > 0 else equal
