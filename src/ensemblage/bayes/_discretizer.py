"""Discretisation of numeric columns by minimum description length."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import (
    DocLinkMixin,
    expect,
    expect_array,
    expect_values,
    guarded_fit,
    read_weights,
    run_tasks,
    set_module,
    validate_numbers,
)
from ensemblage.bayes._coding import bin_labels, bin_of, cut_column


@set_module("ensemblage.bayes")
class MDLPDiscretizer(OneToOneFeatureMixin, TransformerMixin, DocLinkMixin, BaseEstimator):
    r"""Discretise numeric columns into bins that separate the classes.

    Each column is split where the entropy of the classes decreases most, and both sides are split
    again, as long as a split shortens the description length of the classes (Fayyad and Irani). A
    column that is independent of the classes has a single bin.

    Parameters
    ----------
    n_jobs : int, default=None
        Number of columns discretised in parallel.

    Attributes
    ----------
    cut_points_ : list of ndarray
        Cut points of each column, in ascending order.
    n_bins_ : ndarray of shape (n_features,)
        Number of bins of each column.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if they have any.

    See Also
    --------
    sklearn.preprocessing.KBinsDiscretizer : Bins that do not depend on the classes.
    BayesNetClassifier : Uses these bins.

    Notes
    -----
    Candidate cut points are the midpoints between neighbouring values; a value equal to a cut point
    is in the left bin. A cut of :math:`n` rows is accepted if the information gain exceeds
    :math:`(\log_2(n - 1) + \log_2(3^k - 2) - k H + k_1 H_1 + k_2 H_2) / n`, where :math:`k` is
    the number of classes present, :math:`H` their entropy, and the indices denote the sides.
    Missing values are ignored in the fit and stay missing.

    References
    ----------
    U. Fayyad, K. Irani. Multi-interval discretization of continuous-valued attributes for
    classification learning. IJCAI 1993.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemblage.bayes import MDLPDiscretizer
    >>> X, y = load_iris(return_X_y=True)
    >>> bins = MDLPDiscretizer().fit(X, y)
    >>> bins.cut_points_[3]
    array([0.8 , 1.75])
    >>> bins.transform(X[:1])
    array([[0., 2., 0., 0.]])
    >>> bins.inverse_transform(bins.transform(X[:1]))[0, 3]
    '(-inf, 0.8]'
    """

    def __init__(self, *, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    @guarded_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MDLPDiscretizer:
        """Find the cut points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numeric columns; NaN is a missing value.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            A row of weight two counts as two rows. Weights with a mean below one, or above a
            million, are scaled to a mean of one.

        Returns
        -------
        MDLPDiscretizer
            Fitted transformer.
        """
        X, y = validate_numbers(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        weights = read_weights(sample_weight, X)
        classes, labels = np.unique(y, return_inverse=True)
        tasks = [(column, labels, weights, len(classes)) for column in X.T]
        self.cut_points_ = run_tasks(cut_column, tasks, self.n_jobs)
        self.n_bins_ = np.array([len(cuts) + 1 for cuts in self.cut_points_])
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Replace each value by the index of its bin.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numeric columns; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Indices of bins, from zero; NaN for missing values.
        """
        check_is_fitted(self)
        X = validate_numbers(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        bins = [bin_of(column, cuts) for column, cuts in zip(X.T, self.cut_points_, strict=True)]
        return np.where(np.isnan(X), np.nan, np.column_stack(bins))

    def inverse_transform(self, X: Any) -> NDArray[np.object_]:
        """Replace the index of each bin by its range.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Indices of bins, as returned by ``transform``.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Ranges such as ``"(0.8, 1.75]"``; None for missing values.
        """
        check_is_fitted(self)
        X = np.asarray(X, dtype=np.float64)
        self._check_bins(X)
        out = np.empty(X.shape, dtype=object)
        for j, cuts in enumerate(self.cut_points_):
            labels = np.array([*bin_labels(cuts), None], dtype=object)
            out[:, j] = labels[np.where(np.isnan(X[:, j]), -1, X[:, j]).astype(int)]
        return out

    def _check_bins(self, X: NDArray[np.float64]) -> None:
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has shape {X.shape}; expected bins of {self.n_features_in_} columns, as "
                "returned by transform."
            )
        known = X[~np.isnan(X)]
        beyond = (np.nan_to_num(X) >= self.n_bins_).any()
        if beyond or (known < 0).any() or (known % 1 != 0).any():
            raise ValueError(
                "X has values that are not bins; expected integers from 0 to n_bins_ - 1, as "
                "returned by transform."
            )

    def _check_fitted(self) -> None:
        """Reject cut points that no fit produces."""
        cuts = self.cut_points_
        expect(isinstance(cuts, list), "cut_points_ is not a list")
        for each in cuts:
            expect_values(each, "cut_points_")
            expect(bool((np.diff(each) > 0).all()), "cut_points_ are not sorted")
        expect_array(self, "n_bins_", (self.n_features_in_,), "integer")
        n_bins = [len(each) + 1 for each in cuts]
        expect(self.n_bins_.tolist() == n_bins, "n_bins_ do not match cut_points_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags
