"""Fusions of members' predictions of numbers: their mean, and a regressor on them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import RidgeCV

from ensemblage.fusion._base import NOTHING_KNOWN, Array, Fusion, FusionContext
from ensemblage.messages import expect
from ensemblage.parallel import deal_folds, fit_parameter

N_FOLDS = 5


class DensityMean(Fusion):
    """Mean of members' predictions, with the variance of its residuals.

    Attributes
    ----------
    variance_ : float
        Mean squared residual on rows that the members have not seen.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.fusion import DensityMean
    >>> outputs = np.array([[[1.0, 1.0], [2.0, 1.0]], [[3.0, 1.0], [4.0, 1.0]]])
    >>> DensityMean().fit(outputs, np.array([1.0, 3.0])).combine(outputs)
    array([[2. , 0.5],
           [3. , 0.5]])
    """

    learns = True

    def fit(
        self,
        outputs: Array | None,
        y: NDArray[Any],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Array | None = None,
    ) -> Self:
        fused = np.asarray(outputs)[:, :, 0].mean(axis=0)
        self.variance_ = _mean_square(fused - y, sample_weight)
        return self

    def combine(self, outputs: Array, context: FusionContext = NOTHING_KNOWN) -> Array:
        return _with_variance(np.asarray(outputs)[:, :, 0].mean(axis=0), self.variance_)

    def __check_state__(self) -> None:
        """Refuse a variance that no fit makes."""
        expect(bool(0 < self.variance_ < np.inf), "the variance is not above zero")


class DensityStacking(Fusion):
    """A regressor on the members' predictions, with the variance of its residuals.

    Parameters
    ----------
    final_estimator : regressor, default=None
        Learns from the members' predictions; :class:`~sklearn.linear_model.RidgeCV` if not given.

    Attributes
    ----------
    final_estimator_ : regressor
        Fitted.
    variance_ : float
        Mean squared residual on rows that neither members nor regressor have seen, by five folds.

    See Also
    --------
    Stacking : The same of classes.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.fusion import DensityStacking
    >>> y = np.arange(20.0)
    >>> outputs = np.stack([np.column_stack([y / 2, np.ones(20)])])
    >>> DensityStacking().fit(outputs, y).combine(outputs)[:3, 0].round(1)
    array([0., 1., 2.])
    """

    learns = True

    def __init__(self, final_estimator: Any = None) -> None:
        self.final_estimator = final_estimator

    def fit(
        self,
        outputs: Array | None,
        y: NDArray[Any],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Array | None = None,
    ) -> Self:
        said = np.asarray(outputs)[:, :, 0].T
        fused = np.empty(len(y))
        for train, test in deal_folds(np.zeros(len(y), dtype=int), N_FOLDS, _generator()):
            few = None if sample_weight is None else sample_weight[train]
            fused[test] = self._fitted(said[train], y[train], few).predict(said[test])
        self.variance_ = _mean_square(fused - y, sample_weight)
        self.final_estimator_ = self._fitted(said, y, sample_weight)
        return self

    def _fitted(self, said: Array, y: Array, weights: Array | None) -> Any:
        unfitted = RidgeCV() if self.final_estimator is None else self.final_estimator
        name = fit_parameter(unfitted, "sample_weight")
        passed = {} if weights is None or name is None else {name: weights}
        return clone(unfitted).fit(said, y, **passed)

    def combine(self, outputs: Array, context: FusionContext = NOTHING_KNOWN) -> Array:
        fused = self.final_estimator_.predict(np.asarray(outputs)[:, :, 0].T)
        return _with_variance(fused, self.variance_)

    def importance(self, n_members: int) -> Array | None:
        """Share of the absolute coefficients, where the regressor is linear.

        Parameters
        ----------
        n_members : int
            Number of members.

        Returns
        -------
        ndarray of shape (n_members,) or None
            None if the regressor has no coefficients.
        """
        coefficients = getattr(self.final_estimator_, "coef_", None)
        if coefficients is None:
            return None
        size = np.abs(np.ravel(coefficients))
        return np.asarray(size / max(size.sum(), np.finfo(float).tiny))

    def __check_state__(self) -> None:
        """Refuse a variance that no fit makes."""
        expect(bool(0 < self.variance_ < np.inf), "the variance is not above zero")


def _generator() -> np.random.Generator:
    return np.random.default_rng(0)


def _mean_square(residuals: Array, weights: Array | None) -> float:
    """Mean squared residual, above zero."""
    found = float(np.average(residuals**2, weights=weights))
    return max(found, np.finfo(float).tiny)


def _with_variance(means: Array, variance: float) -> Array:
    return np.column_stack([means, np.full(len(means), variance)])
