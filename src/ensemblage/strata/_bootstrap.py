"""Strata drawn by the bootstrap."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import (
    DocLinkMixin,
    Interval,
    expect_array,
    expect_fitted,
    fit_context,
    guarded_fit,
    read_weights,
    set_module,
    validate_numbers,
)

Floats = NDArray[np.floating[Any]]


@set_module("ensemblage.strata")
class BootstrapStrata(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, DocLinkMixin, BaseEstimator
):
    r"""Random subsets of the rows, as in bagging, with the interface of a stratifier.

    Parameters
    ----------
    n_strata : int, default=20
        Number of subsets.
    stratum_size : float, default=1.0
        Number of draws per subset as a share of the rows, in (0, 1].
    replace : bool, default=True
        Draw with replacement. A row drawn more than once has membership 1.
    random_state : int, RandomState instance or None, default=None
        For the draws.

    Attributes
    ----------
    memberships_ : ndarray of shape (n_samples, n_strata)
        1 where the row was drawn, else 0.
    inclusion_ : float
        Mean membership: the share of the rows in a subset.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they all have one.

    See Also
    --------
    HISS : Strata of similar rows.

    Notes
    -----
    With replacement and full size a subset holds a share of about :math:`1 - e^{-1}` of the rows.
    Rows are drawn with probability proportional to their weight. ``transform`` gives all new rows
    the membership ``inclusion_``, and ``log_affinity`` is zero.

    Draws are by position: another order of rows, or copies of rows instead of weights, gives other
    samples.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.strata import BootstrapStrata
    >>> X = np.arange(200.0).reshape(100, 2)
    >>> strata = BootstrapStrata(n_strata=5, stratum_size=0.5, replace=False, random_state=0)
    >>> strata.fit(X).memberships_.sum(axis=0)
    array([50., 50., 50., 50., 50.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_strata": [Interval(Integral, 1, None, closed="left")],
        "stratum_size": [Interval(Real, 0, 1, closed="right")],
        "replace": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_strata: int = 20,
        stratum_size: float = 1.0,
        *,
        replace: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_strata = n_strata
        self.stratum_size = stratum_size
        self.replace = replace
        self.random_state = random_state

    @guarded_fit
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Draw the subsets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Rows are drawn with probability proportional to it.

        Returns
        -------
        self : object
            Fitted stratifier.
        """
        rows = validate_numbers(self, X, dtype=[np.float64, np.float32])
        weights = read_weights(sample_weight, rows)
        n_samples = len(rows)
        n_draws = round(self.stratum_size * n_samples)
        n_eligible = n_samples if self.replace else np.count_nonzero(weights)
        if not 1 <= n_draws <= n_eligible:
            raise ValueError(
                f"stratum_size={self.stratum_size} of n_samples={n_samples} rows means {n_draws} "
                f"draws; expected 1 to {n_eligible}. Change stratum_size or set replace=True."
            )
        rng = check_random_state(self.random_state)
        share = weights / weights.sum()
        self.memberships_ = np.zeros((n_samples, self.n_strata), dtype=rows.dtype)
        for j in range(self.n_strata):
            self.memberships_[rng.choice(n_samples, n_draws, self.replace, share), j] = 1
        self.inclusion_ = float(self.memberships_.mean())
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Return the mean membership for all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_strata)
            ``inclusion_`` everywhere.
        """
        return self.log_affinity(X) + np.float32(self.inclusion_)

    def log_affinity(self, X: ArrayLike) -> Floats:
        """Return zeros: affinities to all subsets are equal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_strata)
            Zeros.
        """
        check_is_fitted(self)
        rows = validate_numbers(self, X, dtype=[np.float64, np.float32], reset=False)
        return np.zeros((len(rows), self._n_features_out), dtype=rows.dtype)

    def _check_fitted(self) -> None:
        """Reject memberships that are not the result of a fit."""
        expect_array(self, "memberships_", (None, self.n_strata), low=0, high=1)
        expect_fitted(self, {"inclusion_": "number 0..1"})

    @property
    def _n_features_out(self) -> int:
        return int(self.memberships_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
