"""The default member: logistic regression on standardised columns, read in their own units."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_array, validate_data

from ensemblage.messages import DocLinkMixin, expect, expect_array
from ensemblage.parallel import guarded_fit, read_weights
from ensemblage.strata._plain_logistic import PlainRows, Settings, solve_plain
from ensemblage.tables import are_usual, refuse_dates, refuse_infinite, refuse_overflow

Doubles = NDArray[np.float64]


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
        if self._is_plain() and _are_plain(X, y, sample_weight) and self._fit_plain(X, y):
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

    def __check_state__(self) -> None:
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


def _are_plain(X: Any, y: Any, sample_weight: Any) -> bool:
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
