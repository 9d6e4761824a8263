"""Linear models on standardised columns."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.extmath import softmax, squared_norm
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ensemblage._core import (
    DocLinkMixin,
    Interval,
    StrOptions,
    expect,
    expect_array,
    expect_fitted,
    fit_context,
    guarded_fit,
    half_binomial_loss,
    half_multinomial_loss,
    read_weights,
    refuse_dates,
    refuse_infinite,
    refuse_missing_targets,
    refuse_overflow,
    set_module,
    squares_are_finite,
    validate_numbers,
    warn_user,
)

Doubles = NDArray[np.float64]
Objective = Callable[[Doubles], tuple[float, Doubles]]

MAX_LINE_SEARCHES = 50
"""Line search steps per iteration, as in scikit-learn."""
MIN_GAIN = 64 * np.finfo(float).eps
"""Smallest relative gain of an iteration, as in scikit-learn."""
ALPHAS: Doubles = np.power(10.0, np.arange(-3.0, 4.0))
"""Candidate penalties of ridge regression."""


def solve_logistic(
    X: Doubles,
    codes: NDArray[np.intp],
    weights: Doubles | None = None,
    *,
    C: float = 1.0,
    fit_intercept: bool = True,
    tol: float = 1e-4,
    max_iter: int = 100,
) -> tuple[Doubles, Doubles, int]:
    r"""Minimise the mean logistic loss plus :math:`\|w\|^2 / (2 C \sum_i s_i)` by L-BFGS.

    Bit-identical to scikit-learn, without its checks: X is finite, C-contiguous and float64,
    classes are codes from zero. Gives coefficients, (n_classes, n_features) or one row for
    two classes, intercepts and the number of iterations.
    """
    n_classes = int(codes.max()) + 1
    total = len(X) if weights is None else np.sum(weights)
    penalty = 1.0 / (C * float(total))
    make = _two_classes if n_classes == 2 else _many_classes
    n_outputs = 1 if n_classes == 2 else n_classes
    found = minimize(
        make(X, codes, weights, fit_intercept, penalty, total),
        np.zeros(n_outputs * (X.shape[1] + fit_intercept)),
        method="L-BFGS-B",
        jac=True,
        options={"maxiter": max_iter, "maxls": MAX_LINE_SEARCHES, "gtol": tol, "ftol": MIN_GAIN},
    )
    n_iter = min(found.nit, max_iter)
    if found.status != 0:
        warn_user(
            f"lbfgs failed to converge after {n_iter} iterations: {found.message}. "
            f"Increase `max_iter` (now {max_iter}).",
            ConvergenceWarning,
        )
    coef = found.x.reshape((n_outputs, -1), order="F")
    if fit_intercept:
        return coef[:, :-1], coef[:, -1], n_iter
    return coef, np.zeros(n_outputs), n_iter


def _two_classes(
    X: Doubles, codes: Any, weights: Any, intercept: bool, penalty: float, total: Any
) -> Objective:
    loss, y, n_columns = half_binomial_loss(), codes.astype(np.float64), X.shape[1]

    def objective(coef: Doubles) -> tuple[float, Doubles]:
        slope = coef[:n_columns]
        raw = X @ slope + (coef[-1] if intercept else 0.0)
        losses, change = loss.loss_gradient(y, raw, weights)
        value = float(np.sum(losses) / total) + float(0.5 * penalty * (slope @ slope))
        change /= total
        gradient = np.empty_like(coef)
        gradient[:n_columns] = X.T @ change + penalty * slope
        if intercept:
            gradient[-1] = np.sum(change)
        return value, gradient

    return objective


def _many_classes(
    X: Doubles, codes: Any, weights: Any, intercept: bool, penalty: float, total: Any
) -> Objective:
    n_classes, y, n_columns = int(codes.max()) + 1, codes.astype(np.float64), X.shape[1]
    loss = half_multinomial_loss(n_classes=n_classes)

    def objective(coef: Doubles) -> tuple[float, Doubles]:
        both = coef.reshape((n_classes, -1), order="F")
        slope = both[:, :n_columns]
        raw = X @ slope.T + (both[:, -1] if intercept else 0.0)
        losses, change = loss.loss_gradient(y, raw, weights)
        value = float(np.sum(losses) / total) + float(0.5 * penalty * squared_norm(slope))
        change /= total
        gradient = np.empty(both.shape, order="F")
        gradient[:, :n_columns] = change.T @ X + penalty * slope
        if intercept:
            gradient[:, -1] = np.sum(change, axis=0)
        return value, gradient.ravel(order="F")

    return objective


def _is_plain(X: Any, y: Any = None, dtype: Any = None) -> bool:
    """Whether rows, and a target of a dtype, need no validation.

    Many small members are fitted; validation would take ten times as long as a matrix product.
    """
    if type(X) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2 or X.size == 0:
        return False
    known = y is None or (type(y) is np.ndarray and y.dtype == dtype and y.shape == X.shape[:1])
    return known and squares_are_finite(X)


def _column_moments(rows: Doubles, weights: Doubles | None) -> tuple[Doubles, Doubles]:
    """Mean and standard deviation of each column; 1 for constant columns."""
    mean = np.average(rows, axis=0, weights=weights)
    variance = np.average((rows - mean) ** 2, axis=0, weights=weights)
    # variance of a constant column after rounding
    rounding = len(rows) * np.finfo(float).eps * np.abs(mean)
    return mean, np.where(variance > rounding**2, np.sqrt(variance), 1.0)


@set_module("ensemblage.strata")
class ScaledLogisticRegression(ClassifierMixin, DocLinkMixin, BaseEstimator):
    r"""Logistic regression whose penalty does not depend on the columns' units.

    Columns are standardised for the fit. The coefficients are then converted to the original units,
    so that a prediction costs no more than that of logistic regression, and a coefficient is the
    change in log-odds per unit.

    Parameters
    ----------
    C : float, default=1.0
        Inverse of the L2 penalty on the coefficients of the standardised columns.
    fit_intercept : bool, default=True
        Whether to fit the log-odds at the column means; otherwise they are zero.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in :class:`~sklearn.linear_model.LogisticRegression`.
    tol : float, default=1e-4
        Tolerance of L-BFGS on the gradient.
    max_iter : int, default=100
        Maximum number of iterations of L-BFGS.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients in the original units.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Log-odds where all columns are zero.
    n_iter_ : ndarray of shape (1,)
        Number of iterations.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they all have one.

    See Also
    --------
    StrataEnsembleClassifier : Uses it as default member.

    Notes
    -----
    With mean :math:`m_j`, standard deviation :math:`s_j` (weighted, if rows have weights) and the
    coefficients :math:`w, b` of standardised columns, the log-odds are

    .. math:: b + \sum_j w_j \frac{x_j - m_j}{s_j}
              = \Big(b - \sum_j \frac{w_j}{s_j} m_j\Big) + \sum_j \frac{w_j}{s_j} x_j .

    With ``fit_intercept=False`` the log-odds are zero at the means, so ``intercept_`` is not zero.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ensemblage.strata import ScaledLogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ScaledLogisticRegression().fit(X, y)
    >>> in_thousands = ScaledLogisticRegression().fit(X / 1000, y)
    >>> bool((model.predict(X) == in_thousands.predict(X / 1000)).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: LogisticRegression._parameter_constraints[name]  # noqa: SLF001
        for name in ("C", "fit_intercept", "class_weight", "tol", "max_iter")
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-4,
        max_iter: int = 100,
    ) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    @guarded_fit
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None) -> Self:
        """Fit on standardised columns; convert the coefficients to the original units.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.

        Returns
        -------
        self : object
            Fitted classifier.
        """
        plain = self.class_weight is None and sample_weight is None
        if plain and _is_plain(X, y, np.intp) and self._fit_plain(X, y):
            return self
        self._validate_params()
        # double precision: cancellation of columns far from zero against the intercept
        refuse_dates(self, X)
        rows = check_array(X, dtype=np.float64, estimator=self, input_name="X")
        refuse_overflow(rows)
        refuse_missing_targets(y)
        if sample_weight is not None:
            sample_weight = read_weights(sample_weight, rows)
        mean, scale = _column_moments(rows, sample_weight)
        inner = LogisticRegression(**self.get_params())
        inner.fit((rows - mean) / scale, y, sample_weight)
        validate_data(self, X, skip_check_array=True)  # sets feature_names_in_
        self.classes_, self.n_iter_ = inner.classes_, inner.n_iter_
        self.coef_ = inner.coef_ / scale
        self.intercept_ = inner.intercept_ - self.coef_ @ mean
        return self

    def _fit_plain(self, X: Any, y: Any) -> bool:
        """Fit without validation, with bit-identical results; False where validation is needed."""
        settings: dict[str, Any] = {"C": self.C, "tol": self.tol, "max_iter": self.max_iter}
        if not (type(self.max_iter) is int and min(settings.values()) > 0 and np.inf > self.C):
            return False
        mean, scale = _column_moments(X, None)
        classes, codes = np.unique(y, return_inverse=True)
        rows = np.ascontiguousarray((X - mean) / scale)
        if len(classes) < 2 or not np.isfinite(rows).all():
            return False  # scikit-learn's validation raises the error
        coef, intercept, n_iter = solve_logistic(
            rows, codes, fit_intercept=self.fit_intercept, **settings
        )
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_, self.classes_ = X.shape[1], classes
        self.n_iter_ = np.array([n_iter], dtype=np.int32)
        self.coef_ = coef / scale
        self.intercept_ = intercept - self.coef_ @ mean
        return True

    def decision_function(self, X: Any) -> Doubles:
        """Log-odds; for more than two classes, one unnormalised log probability per class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive for the second of two classes.
        """
        check_is_fitted(self)
        named = hasattr(self, "feature_names_in_")
        if named or not _is_plain(X) or X.shape[1] != self.n_features_in_:
            refuse_dates(self, X)
            X = validate_data(self, X, reset=False)
        scores: Doubles = refuse_infinite(X @ self.coef_.T + self.intercept_)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels.
        """
        scores = self.decision_function(X)
        codes = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def predict_proba(self, X: Any) -> Doubles:
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        scores = self.decision_function(X)
        if scores.ndim == 2:
            return np.asarray(softmax(scores, copy=False))
        second = expit(scores)
        return np.stack([1 - second, second], axis=1)

    def predict_log_proba(self, X: Any) -> Doubles:
        """Predict logs of class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log probabilities, in the order of ``classes_``.
        """
        return np.log(self.predict_proba(X))

    def _check_fitted(self) -> None:
        """Reject coefficients that are not the result of a fit."""
        rows = 1 if len(self.classes_) == 2 else len(self.classes_)
        expect(len(self.classes_) > 1, "there is one class")
        expect_array(self, "coef_", (rows, self.n_features_in_))
        expect_array(self, "intercept_", (rows,))


@set_module("ensemblage.strata")
class ScaledRidge(RegressorMixin, DocLinkMixin, BaseEstimator):
    r"""Ridge regression whose penalty does not depend on the columns' units.

    Columns are standardised for the fit. The coefficients are then converted to the original units,
    so that a coefficient is the change of the target per unit.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        L2 penalty on the coefficients of the standardised columns; ``"auto"`` chooses from 0.001
        to 1000 by leave-one-out cross-validation.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients in the original units.
    intercept_ : float
        Prediction where all columns are zero.
    alpha_ : float
        The penalty used.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they all have one.

    See Also
    --------
    StrataEnsembleRegressor : Uses it as default member.
    ScaledLogisticRegression : Classification.

    Notes
    -----
    With standardised columns Z and the centred target it minimises :math:`\|y - Zw\|^2 + \alpha
    \|w\|^2`. The leave-one-out residual of row m is :math:`r_m / (1 - h_m)`, with
    :math:`h_m = 1/n + z_m^T (Z^T Z + \alpha I)^{-1} z_m`, so that one decomposition serves all
    penalties.

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
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None) -> Self:
        """Fit on standardised columns; convert the coefficients to the original units.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Numeric target.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.

        Returns
        -------
        self : object
            Fitted regressor.
        """
        plain = sample_weight is None and _is_plain(X, y, np.float64)
        if plain and np.size(y) > 1 and squares_are_finite(np.asarray(y)):
            rows, target, weights = np.ascontiguousarray(X), np.asarray(y), np.ones(np.shape(y))
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = rows.shape[1]
        else:
            rows, target = validate_numbers(
                self, X, y, dtype=np.float64, order="C", y_numeric=True, squares=True
            )
            weights = read_weights(sample_weight, rows)
            target = target.astype(np.float64)
            refuse_overflow(target, "y")
        alphas = ALPHAS if isinstance(self.alpha, str) else np.array([float(self.alpha)])
        self.alpha_, self.coef_, self.intercept_ = _solve_ridge(rows, target, weights, alphas)
        return self

    def predict(self, X: Any) -> Doubles:
        """Predict the target.

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
        plain = _is_plain(X) and X.shape[1] == self.n_features_in_
        if not plain or hasattr(self, "feature_names_in_"):
            X = validate_numbers(self, X, dtype=np.float64, reset=False, squares=True)
        return refuse_infinite(np.ascontiguousarray(X) @ self.coef_ + self.intercept_)

    def _check_fitted(self) -> None:
        """Reject coefficients that are not the result of a fit."""
        expect_fitted(self, {"alpha_": "number 0..", "intercept_": "number"})
        expect_array(self, "coef_", (self.n_features_in_,))


def _solve_ridge(
    X: Doubles, y: Doubles, weights: Doubles, alphas: Doubles
) -> tuple[float, Doubles, float]:
    """Choose the penalty by leave-one-out error, ties to the largest, and solve.

    One copy of a weighted row is left out. Gives the penalty, coefficients in the original units,
    and the intercept.
    """
    total = weights.sum()
    column_mean, mean = weights @ X / total, float(weights @ y / total)
    centred = X - column_mean
    variance = weights @ centred**2 / total
    # variance of a constant column after rounding
    rounding = len(X) * np.finfo(float).eps * np.abs(column_mean)
    scale = np.where(variance > rounding**2, np.sqrt(variance), 1.0)
    rows, y = centred / scale, y - mean
    eigenvalues, axes = np.linalg.eigh((rows * weights[:, None]).T @ rows)
    eigenvalues, rows = np.maximum(eigenvalues, 0.0), rows @ axes
    along_axes = (weights * y) @ rows
    alpha = float(alphas[0])
    if len(alphas) > 1:
        shrunk = 1 / (eigenvalues[:, None] + alphas)
        fitted = rows @ (along_axes[:, None] * shrunk)
        leverage = rows**2 @ shrunk + 1 / weights.sum()
        left_out = (y[:, None] - fitted) / np.maximum(1 - leverage, 1e-9)
        errors = weights @ left_out**2
        alpha = float(alphas[len(alphas) - 1 - int(np.argmin(errors[::-1]))])
    coef = axes @ (along_axes / (eigenvalues + alpha)) / scale
    return alpha, coef, mean - float(coef @ column_mean)
