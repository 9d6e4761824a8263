"""Linear members that scale their own columns."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.extmath import squared_norm
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ensemblage._core import (
    DocLinkMixin,
    Interval,
    StrOptions,
    are_usual,
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
    refuse_overflow,
    set_module,
    validate_numbers,
    warn_user,
)

Doubles = NDArray[np.float64]

Objective = Callable[[Doubles], tuple[float, Doubles]]

# scikit-learn's own: tests of the line search per step, and the least gain that counts
LINE_SEARCHES, LEAST_GAIN = 50, 64 * np.finfo(float).eps


class PlainRows(NamedTuple):
    """What is learned from: finite, C-contiguous doubles, and classes numbered from zero."""

    X: Doubles
    codes: NDArray[np.intp]
    weights: Doubles | None


class Settings(NamedTuple):
    """scikit-learn's parameters of the same names."""

    C: float
    fit_intercept: bool
    tol: float
    max_iter: int


class Solution(NamedTuple):
    """Coefficients, (n_classes, n_features) or one row for two classes; intercepts; steps."""

    coef: Doubles
    intercept: Doubles
    n_iter: int


def solve_plain(rows: PlainRows, settings: Settings) -> Solution:
    r"""Minimise the mean logistic loss plus :math:`\|w\|^2 / (2 C \sum_i s_i)` by L-BFGS."""
    n_classes, n_columns = int(rows.codes.max()) + 1, rows.X.shape[1]
    total = len(rows.X) if rows.weights is None else np.sum(rows.weights)
    penalty = 1.0 / (settings.C * float(total))
    make = _two_classes if n_classes == 2 else _many_classes
    outputs = 1 if n_classes == 2 else n_classes
    found = minimize(
        make(rows, settings.fit_intercept, penalty, total),
        np.zeros(outputs * (n_columns + settings.fit_intercept)),
        method="L-BFGS-B",
        jac=True,
        options={
            "maxiter": settings.max_iter, "maxls": LINE_SEARCHES,
            "gtol": settings.tol, "ftol": LEAST_GAIN,
        },
    )  # fmt: skip
    n_iter = min(found.nit, settings.max_iter)
    if found.status != 0:
        warn_user(
            f"lbfgs failed to converge after {n_iter} iterations: {found.message}. Raise "
            f"`max_iter` (now {settings.max_iter}).",
            ConvergenceWarning,
        )
    coef = found.x.reshape((outputs, -1), order="F")
    if settings.fit_intercept:
        return Solution(coef[:, :-1], coef[:, -1], n_iter)
    return Solution(coef, np.zeros(outputs), n_iter)


def _two_classes(rows: PlainRows, intercept: bool, penalty: float, total: Any) -> Objective:
    X, truth, weights = rows.X, rows.codes.astype(np.float64), rows.weights
    loss, n_columns = half_binomial_loss(), X.shape[1]

    def objective(coef: Doubles) -> tuple[float, Doubles]:
        slope = coef[:n_columns]
        raw = X @ slope + (coef[-1] if intercept else 0.0)
        losses, change = loss.loss_gradient(truth, raw, weights)
        value = float(np.sum(losses) / total) + float(0.5 * penalty * (slope @ slope))
        change /= total
        gradient = np.empty_like(coef)
        gradient[:n_columns] = X.T @ change + penalty * slope
        if intercept:
            gradient[-1] = np.sum(change)
        return value, gradient

    return objective


def _many_classes(rows: PlainRows, intercept: bool, penalty: float, total: Any) -> Objective:
    X, truth, weights = rows.X, rows.codes.astype(np.float64), rows.weights
    n_classes, n_columns = int(rows.codes.max()) + 1, X.shape[1]
    loss = half_multinomial_loss(n_classes=n_classes)

    def objective(coef: Doubles) -> tuple[float, Doubles]:
        both = coef.reshape((n_classes, -1), order="F")
        slope = both[:, :n_columns]
        raw = X @ slope.T + (both[:, -1] if intercept else 0.0)
        losses, change = loss.loss_gradient(truth, raw, weights)
        value = float(np.sum(losses) / total) + float(0.5 * penalty * squared_norm(slope))
        change /= total
        gradient = np.empty(both.shape, order="F")
        gradient[:, :n_columns] = change.T @ X + penalty * slope
        if intercept:
            gradient[:, -1] = np.sum(change, axis=0)
        return value, gradient.ravel(order="F")

    return objective


@set_module("ensemblage.strata")
class ScaledLogisticRegression(DocLinkMixin, LogisticRegression):
    r"""Logistic regression whose penalty does not depend on the columns' units.

    Columns are standardised while it learns. The coefficients are then put back into the columns'
    own units, so that a prediction costs no more than that of a plain logistic regression, and a
    coefficient reads as the change in log odds per unit.

    Parameters
    ----------
    penalty, C, l1_ratio : as in :class:`~sklearn.linear_model.LogisticRegression`
        The penalty on the coefficients of the standardised columns.
    dual, tol : as in :class:`~sklearn.linear_model.LogisticRegression`
        How the problem is put, and when it is solved.
    fit_intercept, intercept_scaling : as in :class:`~sklearn.linear_model.LogisticRegression`
        The log odds at the means of the columns.
    class_weight : as in :class:`~sklearn.linear_model.LogisticRegression`
        Weights of the classes.
    random_state, solver, max_iter : as in :class:`~sklearn.linear_model.LogisticRegression`
        How the coefficients are found.
    verbose, warm_start, n_jobs : as in :class:`~sklearn.linear_model.LogisticRegression`
        What is told, reused and done at the same time.

    See Also
    --------
    StrataEnsembleClassifier : Has such members if not told otherwise.

    Notes
    -----
    With mean :math:`m_j`, deviation :math:`s_j` (weighted, if rows have weights) and the learned
    :math:`w, b` of standardised columns, the log odds are

    .. math:: b + \sum_j w_j \frac{x_j - m_j}{s_j}
              = \Big(b - \sum_j \frac{w_j}{s_j} m_j\Big) + \sum_j \frac{w_j}{s_j} x_j .

    ``fit_intercept=False`` lets the log odds be zero at the means, so that ``intercept_`` is not
    zero.

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

    coef_: Doubles
    intercept_: Doubles

    @guarded_fit
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None) -> Self:
        """Standardise the columns, learn, and put the coefficients into the columns' units.

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
        if (
            self._is_plain()
            and _is_plain_classification(X, y, sample_weight)
            and self._fit_plain(X, y)
        ):
            return self
        # double precision: columns far from zero cancel against the intercept
        refuse_dates(self, X)
        rows = check_array(X, dtype=np.float64, estimator=self, input_name="X")
        refuse_overflow(rows)
        if sample_weight is not None:
            sample_weight = read_weights(sample_weight, rows)
        mean, scale = _moments(rows, sample_weight)
        super().fit((rows - mean) / scale, y, sample_weight)
        validate_data(self, X, skip_check_array=True)  # notes the names of a frame's columns
        self.coef_ = self.coef_ / scale
        self.intercept_ = self.intercept_ - self.coef_ @ mean
        return self

    def _is_plain(self) -> bool:
        """Whether all settings but those that :func:`solve_plain` takes are the usual ones."""
        return (
            (self.solver, self.penalty, self.l1_ratio, self.dual)
            == ("lbfgs", "deprecated", 0, False)
            and (self.class_weight, self.n_jobs, self.verbose) == (None, None, 0)
            and not (self.warm_start or hasattr(self, "_skl_callbacks"))
            and type(self.max_iter) is int
            and min(self.C, self.tol, self.max_iter) > 0
            and np.inf > self.C
        )

    def _fit_plain(self, X: Any, y: Any) -> bool:
        """Learn what needs no check, to the bit as otherwise; False if that is not possible."""
        mean, scale = _moments(X, None)
        classes, codes = np.unique(y, return_inverse=True)
        rows = np.ascontiguousarray((X - mean) / scale)
        if len(classes) < 2 or not np.isfinite(rows).all():
            return False  # refused by the checks, in scikit-learn's words
        settings = Settings(self.C, self.fit_intercept, self.tol, self.max_iter)
        coef, intercept, n_iter = solve_plain(PlainRows(rows, codes, None), settings)
        self.n_features_in_, self.classes_ = X.shape[1], classes
        self.n_iter_ = np.array([n_iter], dtype=np.int32)
        self.coef_ = coef / scale
        self.intercept_ = intercept - self.coef_ @ mean
        return True

    def decision_function(self, X: Any) -> Doubles:
        """Log odds; for more than two classes, one unnormalised log probability per class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive for the second of two classes.
        """
        if not self._needs_no_check(X):
            refuse_dates(self, X)
            checked: Doubles = super().decision_function(X)
            return refuse_infinite(checked)
        scores: Doubles = refuse_infinite(X @ self.coef_.T + self.intercept_)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def _needs_no_check(self, X: Any) -> bool:
        """Tell whether these are plain rows, which ensembles ask many small members about.

        scikit-learn's check of any kind of input takes ten times as long as their product.
        """
        return (
            type(X) is np.ndarray
            and X.dtype == np.float64
            and X.shape[1:] == (getattr(self, "n_features_in_", None),)
            and len(X) > 0
            and not hasattr(self, "feature_names_in_")
            and type(self.coef_) is np.ndarray
            and bool(np.isfinite(X).all())
        )

    def _check_fitted(self) -> None:
        """Refuse coefficients that no fit makes."""
        rows = 1 if len(self.classes_) == 2 else len(self.classes_)
        expect(len(self.classes_) > 1, "there is one class")
        expect_array(self, "coef_", (rows, self.n_features_in_))
        expect_array(self, "intercept_", (rows,))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.array_api_support = False
        return tags


def _is_plain_classification(X: Any, y: Any, sample_weight: Any) -> bool:
    """Tell finite doubles and numbered classes, as ensembles have them, from anything else."""
    return (
        sample_weight is None
        and type(X) is np.ndarray
        and X.dtype == np.float64
        and X.ndim == 2
        and X.size > 0
        and type(y) is np.ndarray
        and y.dtype == np.intp
        and y.shape == X.shape[:1]
        and are_usual(X)
    )


def _moments(rows: Doubles, weights: Doubles | None) -> tuple[Doubles, Doubles]:
    """Mean and standard deviation of each column; one for columns that do not vary."""
    mean = np.average(rows, axis=0, weights=weights)
    variance = np.average((rows - mean) ** 2, axis=0, weights=weights)
    # as far as rounding lets a constant column vary
    rounding = len(rows) * np.finfo(float).eps * np.abs(mean)
    return mean, np.where(variance > rounding**2, np.sqrt(variance), 1.0)


ALPHAS: Doubles = np.power(10.0, np.arange(-3.0, 4.0))
"""To choose from."""


@set_module("ensemblage.strata")
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
    @fit_context(prefer_skip_nested_validation=True)
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
        if _is_plain_regression(X, y, sample_weight):
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

    def _check_fitted(self) -> None:
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


def _is_plain_regression(X: Any, y: Any, sample_weight: Any) -> bool:
    return (
        sample_weight is None
        and _is_plain_table(X)
        and type(y) is np.ndarray
        and y.dtype == np.float64
        and y.shape == X.shape[:1]
        and len(y) > 1
        and are_usual(y)
    )
