"""The default member of regressors: ridge regression on standardised columns, in their units."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ensemblage.messages import DocLinkMixin, expect_array, expect_fitted
from ensemblage.parallel import guarded_fit, read_weights
from ensemblage.tables import are_usual, refuse_infinite, refuse_overflow, validate_numbers

Doubles = NDArray[np.float64]

ALPHAS: Doubles = np.power(10.0, np.arange(-3.0, 4.0))
"""To choose from."""


class ScaledRidge(RegressorMixin, DocLinkMixin, BaseEstimator):
    r"""Ridge regression whose penalty does not depend on the columns' units.

    Columns are standardised while it learns. The coefficients are then put back into the columns'
    own units, so that a coefficient reads as the change of the target per unit.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Penalty on the coefficients of the standardised columns; ``"auto"`` takes the one of
        0.001 to 1000 with the least squared error on rows left out one at a time.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        In the columns' units.
    intercept_ : float
        The target where all columns are zero.
    alpha_ : float
        The penalty in use.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they all have one.

    See Also
    --------
    StrataEnsembleRegressor : Has such members if not told otherwise.
    ScaledLogisticRegression : The same of classes.

    Notes
    -----
    With standardised columns Z and the centred target it minimises :math:`\|y - Zw\|^2 + \alpha
    \|w\|^2`. A row m that is left out has the residual :math:`r_m / (1 - h_m)`, with
    :math:`h_m = 1/n + z_m^T (Z^T Z + \alpha I)^{-1} z_m`, so that all penalties are judged by one
    decomposition.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.strata import ScaledRidge
    >>> X = np.array([[0.0, 5.0], [1.0, 4.0], [2.0, 7.0], [3.0, 5.0]])
    >>> model = ScaledRidge(alpha=1e-9).fit(X, 2 * X[:, 0] + 1)
    >>> model.coef_.round(3), round(model.intercept_, 3)
    (array([2., 0.]), 1.0)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
    }

    def __init__(self, alpha: Any = "auto") -> None:
        self.alpha = alpha

    @guarded_fit
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None) -> Self:
        """Standardise the columns, learn, and put the coefficients into the columns' units.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Numbers to predict.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.

        Returns
        -------
        self : object
            Fitted regressor.
        """
        if _are_plain(X, y, sample_weight):
            rows, truth, weights = np.ascontiguousarray(X), np.asarray(y), np.ones(np.shape(y))
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = rows.shape[1]
        else:
            rows, truth = validate_numbers(
                self, X, y, dtype=np.float64, order="C", y_numeric=True, squares=True
            )
            weights = read_weights(sample_weight, rows)
            truth = truth.astype(np.float64)
            refuse_overflow(truth, "y")
        rotated = _Rotated.of(rows, truth, weights)
        alphas = ALPHAS if isinstance(self.alpha, str) else np.array([float(self.alpha)])
        self.alpha_ = float(alphas[rotated.best(alphas)])
        self.coef_, self.intercept_ = rotated.solve(self.alpha_)
        return self

    def predict(self, X: Any) -> Doubles:
        """Predict numbers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        check_is_fitted(self)
        plain = _is_plain_table(X) and X.shape[1] == self.n_features_in_
        if not plain or hasattr(self, "feature_names_in_"):
            X = validate_numbers(self, X, dtype=np.float64, reset=False, squares=True)
        return refuse_infinite(np.ascontiguousarray(X) @ self.coef_ + self.intercept_)

    def __check_state__(self) -> None:
        """Refuse coefficients that no fit makes."""
        expect_fitted(self, {"alpha_": "number 0..", "intercept_": "number"})
        expect_array(self, "coef_", (self.n_features_in_,))


class _Rotated(NamedTuple):
    """Standardised rows along the axes of their correlations, and the centred target."""

    rows: Doubles
    y: Doubles
    weights: Doubles
    axes: Doubles
    """In columns, of length one."""
    sizes: Doubles
    """Sums of squares along the axes."""
    column_mean: Doubles
    column_scale: Doubles
    mean: float

    @classmethod
    def of(cls, X: Doubles, y: Doubles, weights: Doubles) -> _Rotated:
        total = weights.sum()
        column_mean, mean = weights @ X / total, float(weights @ y / total)
        centred = X - column_mean
        variance = weights @ centred**2 / total
        # as far as rounding lets a constant column vary
        rounding = len(X) * np.finfo(float).eps * np.abs(column_mean)
        scale = np.where(variance > rounding**2, np.sqrt(variance), 1.0)
        rows = centred / scale
        sizes, axes = np.linalg.eigh((rows * weights[:, None]).T @ rows)
        return cls(
            rows @ axes, y - mean, weights, axes, np.maximum(sizes, 0.0), column_mean, scale, mean
        )

    def along_axes(self) -> Doubles:
        """Products of the axes with the target."""
        return np.asarray((self.weights * self.y) @ self.rows)

    def best(self, alphas: Doubles) -> int:
        """Choose the penalty with the least squared error on rows left out; of equals the last.

        Of a row with a weight one copy is left out.
        """
        if len(alphas) == 1:
            return 0
        shrunk = 1 / (self.sizes[:, None] + alphas)
        fitted = self.rows @ (self.along_axes()[:, None] * shrunk)
        leverage = self.rows**2 @ shrunk + 1 / self.weights.sum()
        left_out = (self.y[:, None] - fitted) / np.maximum(1 - leverage, 1e-9)
        errors = self.weights @ left_out**2
        return len(alphas) - 1 - int(np.argmin(errors[::-1]))

    def solve(self, alpha: float) -> tuple[Doubles, float]:
        """Give coefficients in the columns' units, and the intercept."""
        standard = self.axes @ (self.along_axes() / (self.sizes + alpha))
        coef = standard / self.column_scale
        return coef, self.mean - float(coef @ self.column_mean)


def _is_plain_table(X: Any) -> bool:
    """Tell usual doubles, as ensembles have them, from what has to be looked at closer."""
    return (
        type(X) is np.ndarray
        and X.dtype == np.float64
        and X.ndim == 2
        and X.size > 0
        and are_usual(X)
    )


def _are_plain(X: Any, y: Any, sample_weight: Any) -> bool:
    return (
        sample_weight is None
        and _is_plain_table(X)
        and type(y) is np.ndarray
        and y.dtype == np.float64
        and y.shape == X.shape[:1]
        and len(y) > 1
        and are_usual(y)
    )
