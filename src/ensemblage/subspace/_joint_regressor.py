"""The ensemble of jointly learned feature subsets, for numbers."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from ensemblage.kernels import Normals, normal_product
from ensemblage.messages import expect_array, expect_fitted, with_shared
from ensemblage.parallel import Fold, draw_seeds, guarded_fit, run_tasks, with_callbacks
from ensemblage.subspace._base import SUBSPACE_DOCS, JointSubspaceBase, Prepared
from ensemblage.subspace._development import development_folds
from ensemblage.subspace._member import Array, Floats, Indices, Rows, member_logits
from ensemblage.subspace._sequence import fit_sequence
from ensemblage.subspace._settings import Settings
from ensemblage.tables import ENCODE_CONSTRAINT, ENCODE_DOCS

# Share of the numbers' variance that a member leaves at least, so that no density is a spike.
LEAST_VARIANCE = 1e-9


def _squares_elsewhere(rows: Rows, fold: Fold, seeds: list[int], settings: Settings) -> Array:
    """Fit members to the rows of a fold; give their mean squared errors on the others."""
    held = rows.take(fold.test)
    members = fit_sequence(rows.take(fold.train), seeds, settings)
    errors = [held.targets - member_logits(held.features, member)[0] for member in members]
    return np.array([float(held.weights @ error**2) for error in errors])


def _distinct_rows(rows: Rows) -> Indices:
    """Give equal rows one number, from 0 on, and rows without weight -1.

    Copies of a row must not be on both sides of a split, and weights are numbers of copies.
    """
    told = rows.weights > 0
    table = np.column_stack([rows.features.T[told], rows.targets[told]])
    numbers = np.full(told.size, -1, dtype=np.intp)
    numbers[told] = np.unique(table, axis=0, return_inverse=True)[1].ravel()
    return numbers


@with_shared(SUBSPACE_DOCS + ENCODE_DOCS)
class JointSubspaceRegressor(RegressorMixin, JointSubspaceBase):
    r"""Ensemble of linear regressors, each on features chosen while it learns.

    As :class:`JointSubspaceClassifier`, with squared loss. Each member speaks a normal density, and
    the ensemble speaks their product.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of members.
    {solver, basis}
    flip_probability : float or "auto", default="auto"
        Probability of flipping a feature in a proposal, in [0, 1]. At 0 every member uses all
        features. "auto" is 0.05, and 0.01 with ``solver="paper"``.
    size_penalty : float or "auto", default="auto"
        Mean log-likelihood that a feature must add to be kept, per unit of mean row weight. "auto"
        is four over the number of rows, four times the price of Akaike's criterion. Not used by
        ``solver="paper"``.
    C : float or "auto", default=1.0
        Inverse strength of the ridge penalty, on standardised features and numbers: scikit-learn's
        ``Ridge`` has ``alpha=1/C``. "auto" takes the best power of ten for a single regressor on
        all features, by cross-validation. ``solver="paper"`` fits members without a penalty.
    importance : array-like of shape (n_estimators,), default=None
        Importance of each member in the product; equal if not given.
    {learning_rate, patience}
    max_iter : int, default=500
        At most so many proposals per member.
    {tol}
    {encode}
    n_jobs : int, default=None
        Development splits in parallel; the members themselves are sequential.
    random_state : int, RandomState instance or None, default=None
        For the start, the proposals and the splits.

    Attributes
    ----------
    coefs_ : ndarray of shape (n_estimators_, n_columns)
        Coefficients on standardised columns, in units of the numbers. Those outside the mask are
        not used.
    intercepts_ : ndarray of shape (n_estimators_,)
        Intercepts, which no mask touches.
    variances_ : ndarray of shape (n_estimators_,)
        Variance of each member's density: the mean squared error of the member of its number in
        ensembles fitted without some of the rows, on those rows.
    importance_ : ndarray of shape (n_estimators_,)
        Importance of each member.
    {supports_, co_selection_}
    score_path_ : list of ndarray
        Per member, the weighted log-likelihood at the start and after each iteration, but for
        constants.
    {n_iter_, n_estimators_}
    y_mean_, y_scale_ : float
        What the numbers are standardised with while members learn.
    {encoder_, basis_, C_, mean_, scale_, n_features_in_, feature_names_in_}

    See Also
    --------
    JointSubspaceClassifier : For classes.
    JointSubspaceSelector : With ``loss="squared_error"`` the same members, as a feature selector.

    Notes
    -----
    Member :math:`k` climbs in coefficients and mask on the log-likelihood of its weighted rows,
    :math:`-\frac12 \bar w \log \bigl(\sum_m w_{km} r_{km}^2 / \bar w\bigr)` of residuals
    :math:`r_{km}` and :math:`\bar w = \sum_m w_{km}`, with weights as in eq. 8,

    .. math:: w_{km} = 1 - \frac{1}{k-1} \sum_{k' < k} e^{-r_{k'm}^2 / 2 s_{k'}^2},

    where a density over its mode stands for the probability of the true class. The product (eq. 10)
    of normal densities with importances :math:`i_k` is normal: its precision is
    :math:`\sum_k i_k / s_k^2`, and its mean is weighted by :math:`i_k / s_k^2`. Members are linear,
    and so is their product, as a ridge regression is.

    References
    ----------
    R. Gupta, K. Audhkhasi and S. Narayanan, "Training Ensemble of Diverse Classifiers on Feature
    Subsets".

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from ensemblage.subspace import JointSubspaceRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ensemble = JointSubspaceRegressor(n_estimators=3, random_state=0).fit(X, y)
    >>> mean, deviation = ensemble.predict(X[:2], return_std=True)
    >>> mean.shape, bool((deviation > 40).all())
    ((2,), True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **JointSubspaceBase._parameter_constraints,  # noqa: SLF001
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "importance": ["array-like", None],
        "encode": ENCODE_CONSTRAINT,
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        solver: str = "lbfgs",
        basis: str = "linear",
        flip_probability: Any = "auto",
        size_penalty: Any = "auto",
        C: Any = 1.0,
        importance: Any = None,
        learning_rate: Any = "auto",
        patience: int = 50,
        max_iter: int = 500,
        tol: float = 1e-4,
        encode: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.solver = solver
        self.basis = basis
        self.flip_probability = flip_probability
        self.size_penalty = size_penalty
        self.C = C
        self.importance = importance
        self.learning_rate = learning_rate
        self.patience = patience
        self.max_iter = max_iter
        self.tol = tol
        self.encode = encode
        self.n_jobs = n_jobs
        self.random_state = random_state

    @guarded_fit
    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the members, and measure their errors on rows held back.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_features)
            Rows: numbers, and with ``encode`` also words, dates and gaps.
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        importance = self._read_importance()
        prepared = self._prepare(X, y, sample_weight)
        seeds = draw_seeds(prepared.random_state, self.n_estimators)
        members = self._fit_members(prepared.rows, prepared.settings, seeds)
        self._store(members)
        self.score_path_ = [member.accuracy_path for member in members]
        self.importance_ = importance[: self.n_estimators_]
        self.variances_ = self._held_out_variances(prepared, seeds[: self.n_estimators_])
        return self

    def _read_importance(self) -> Array:
        if self.importance is None:
            return np.full(self.n_estimators, 1.0 / self.n_estimators)
        importance = np.asarray(self.importance, dtype=float)
        if importance.shape != (self.n_estimators,):
            raise ValueError(
                f"importance has shape {importance.shape}; expected ({self.n_estimators},), one "
                "per member."
            )
        if not np.isfinite(importance).all() or (importance < 0).any() or not importance.any():
            raise ValueError(
                f"importance={self.importance!r}; expected finite numbers, none below zero and at "
                "least one above."
            )
        return importance

    def _held_out_variances(self, prepared: Prepared, seeds: list[int]) -> Array:
        """Mean squared errors of members of the same numbers on development splits."""
        rows = prepared.rows
        numbers = _distinct_rows(rows)
        if numbers.max() == 0:
            return np.full(len(seeds), self.y_scale_**2)
        folds = development_folds(np.zeros(numbers.max() + 1, dtype=np.intp), prepared.rng)
        parts = [Fold(*(np.flatnonzero(np.isin(numbers, part)) for part in fold)) for fold in folds]
        tasks = [(rows, fold, seeds, prepared.settings) for fold in parts]
        squares = np.mean(run_tasks(_squares_elsewhere, tasks, self.n_jobs), axis=0)
        return np.asarray(np.maximum(squares, LEAST_VARIANCE) * self.y_scale_**2)

    def _learns_numbers(self) -> bool:
        return True

    def _member_outputs(self, columns: Floats) -> Array:
        means = (self.coefs_ * self._column_supports()) @ columns + self.intercepts_[:, None]
        variances = np.broadcast_to(self.variances_[:, None], means.shape)
        return np.stack([means.astype(float), variances], axis=2)

    def member_outputs(self, X: Any) -> Array:
        """Density of each member.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_members, n_samples, 2)
            Mean and variance, before fusion.
        """
        check_is_fitted(self)
        return self._member_outputs(self._columns(X))

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Mean of the product of the members' densities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        return_std : bool, default=False
            Whether to give the product's standard deviation too.

        Returns
        -------
        y_mean : ndarray of shape (n_samples,)
            Predictions.
        y_std : ndarray of shape (n_samples,)
            Standard deviations; only if asked for.
        """
        members = Normals(*np.moveaxis(self.member_outputs(X), 2, 0))
        mean, variance = normal_product(members, self.importance_)
        return (mean, np.sqrt(variance)) if return_std else mean

    def __check_state__(self) -> None:
        """Refuse members that no fit makes."""
        super().__check_state__()
        expect_fitted(self, {"y_mean_": "number", "y_scale_": "number 0.."})
        expect_array(self, "variances_", (self.n_estimators_,), low=np.finfo(float).tiny)
        expect_array(self, "importance_", (self.n_estimators_,), low=0)
