"""Feature selection by jointly learned subsets."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ensemblage.messages import expect_fitted, with_shared
from ensemblage.parallel import draw_seeds, guarded_fit, with_callbacks
from ensemblage.subspace._base import SUBSPACE_DOCS, JointSubspaceBase
from ensemblage.subspace._co_selection import (
    binary_co_selection,
    coefficient_sizes,
    contribution_sizes,
    group_sizes,
    power_mean_scores,
)
from ensemblage.subspace._member import Array, Indices, Mask, Rows
from ensemblage.subspace._units import correlated_groups

# The curves of a basis have many ways to be strong by chance, so strength counts less there.
FITTED = {
    "frequencies_": "float (d) 0..1",
    "scores_": "float (d)",
    "ranking_": "integer (d) 1..",
    "support_": "truth (d)",
    "groups_": "integer (d) 0..<d",
}
POWERS = {"linear": 8.0, "quadratic": 2.0, "spline": 2.0}


def _ranks(scores: Array, reserve: Array, rng: np.random.Generator) -> NDArray[np.int_]:
    """Rank by score, then by reserve, then by lot: never by column order. 1 is best."""
    order = np.lexsort((rng.permutation(scores.size), -reserve, -scores))
    ranks = np.empty(scores.size, dtype=int)
    ranks[order] = np.arange(1, scores.size + 1)
    return ranks


@with_shared(SUBSPACE_DOCS)
class JointSubspaceSelector(SelectorMixin, JointSubspaceBase):
    r"""Select the features that jointly learned members use, often and strongly.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        How many to select; a float in (0, 1) is a share. None selects the features that more
        than half of the members use, and at least one.
    n_estimators : int, default=20
        Number of members.
    loss : {"log_loss", "squared_error"}, default="log_loss"
        "log_loss" for classes, "squared_error" for numbers.
    {solver, basis}
    group_correlation : float or None, default=0.95
        Features whose correlation is at least this, up to its sign, are a group: a mask flips
        them together at the price of one, and they share their score. None leaves each alone.
    flip_probability : float or "auto", default=0.1
        Probability of flipping a feature in a proposal.
    {size_penalty}
    C : float or "auto", default=1.0
        Inverse strength of the ridge penalty.
    {learning_rate, patience}
    max_iter : int, default=1000
        At most so many proposals per member.
    {tol}
    random_state : int, RandomState instance or None, default=None
        For the start, the proposals, and ties.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Frequency and size of the coefficients in one; see Notes.
    ranking_ : ndarray of shape (n_features,)
        1 is best. Equal scores are ranked by the coefficients of members that dropped the
        feature, then by lot, never by the order of the columns.
    frequencies_ : ndarray of shape (n_features,)
        Share of the members that use each feature.
    {co_selection_}
    groups_ : ndarray of shape (n_features,)
        Number of each feature's group; see ``group_correlation``.
    support_ : ndarray of bool of shape (n_features,)
        The selected features.
    {classes_, coefs_, intercepts_, supports_, accuracy_path_}
    y_mean_, y_scale_ : float
        What numbers are standardised with, in place of ``classes_``.
    {n_iter_, n_estimators_, basis_, C_, mean_, scale_, n_features_in_, feature_names_in_}

    See Also
    --------
    JointSubspaceClassifier : The same members, as a classifier.

    Notes
    -----
    The score of feature :math:`d` is the power mean over members

    .. math:: s_d = \left(\frac{1}{K} \sum_k \lambda_{kd} |\theta_{kd}|^r\right)^{1/r}, \quad r = 8.

    At :math:`r = 1` it is frequency times mean size. Later members learn the rows that the first
    ones miss, where features matter that the first ones drop; a larger power lets these count.
    With another basis than "linear", :math:`|\theta_{kd}|` is the spread over the rows of all that
    the feature adds to the member's output, and :math:`r = 2`. The size of a group is the sum over
    its features.

    References
    ----------
    R. Gupta, K. Audhkhasi and S. Narayanan, "Training Ensemble of Diverse Classifiers on Feature
    Subsets".

    Examples
    --------
    >>> from ensemblage.datasets import make_quarter_circle
    >>> from ensemblage.subspace import JointSubspaceSelector
    >>> X, y = make_quarter_circle(100, n_dummies=6, random_state=0)
    >>> selector = JointSubspaceSelector(2, n_estimators=10, random_state=0).fit(X, y)
    >>> selector.get_support(indices=True)
    array([0, 1])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **JointSubspaceBase._parameter_constraints,  # noqa: SLF001
        "n_features_to_select": [
            Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="neither"), None
        ],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "loss": [StrOptions({"log_loss", "squared_error"})],
        "group_correlation": [Interval(Real, 0, 1, closed="right"), None],
    }  # fmt: skip

    def __init__(
        self,
        n_features_to_select: float | None = None,
        *,
        n_estimators: int = 20,
        loss: str = "log_loss",
        solver: str = "lbfgs",
        basis: str = "linear",
        group_correlation: float | None = 0.95,
        flip_probability: Any = 0.1,
        size_penalty: Any = "auto",
        C: Any = 1.0,
        learning_rate: Any = "auto",
        patience: int = 50,
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_estimators = n_estimators
        self.loss = loss
        self.solver = solver
        self.basis = basis
        self.group_correlation = group_correlation
        self.flip_probability = flip_probability
        self.size_penalty = size_penalty
        self.C = C
        self.learning_rate = learning_rate
        self.patience = patience
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @guarded_fit
    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the members and rank the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        prepared = self._prepare(X, y, sample_weight)
        seeds = draw_seeds(prepared.random_state, self.n_estimators)
        members = self._fit_members(prepared.rows, prepared.settings, seeds)
        self._store(members)
        self.accuracy_path_ = [member.accuracy_path for member in members]
        self.frequencies_ = np.diag(self.co_selection_).copy()
        power = POWERS[self.basis]
        sizes = group_sizes(self._sizes(prepared.rows, masked=True), self.groups_)
        self.scores_ = power_mean_scores(sizes, self.supports_, power)
        dropped = self._sizes(prepared.rows, masked=False)
        reserve = power_mean_scores(dropped, np.ones_like(self.supports_), power)
        self.ranking_ = _ranks(self.scores_, reserve, prepared.rng)
        self.support_ = self.ranking_ <= self._n_selected()
        return self

    def _sizes(self, rows: Rows, *, masked: bool) -> Array:
        """How strongly each member uses each feature; unmasked, also those that it dropped."""
        owners = self.basis_.owners()
        if owners is None:
            return coefficient_sizes(self.coefs_)
        seen = self._column_supports().reshape(len(self.coefs_), *[1] * (self.coefs_.ndim - 2), -1)
        return contribution_sizes(self.coefs_ * seen if masked else self.coefs_, rows, owners)

    def _learns_numbers(self) -> bool:
        return bool(self.loss == "squared_error")

    def _group_features(self, rows: Rows) -> Indices | None:
        alone = np.arange(len(rows.features))
        self.groups_ = alone
        if self.group_correlation is not None:
            self.groups_ = correlated_groups(
                rows.features, rows.weights, float(self.group_correlation)
            )
        return None if (self.groups_ == alone).all() else self.groups_

    def _n_selected(self) -> int:
        wanted, n_features = self.n_features_to_select, self.n_features_in_
        if wanted is None:
            return max(1, int((self.frequencies_ > 0.5).sum()))
        if isinstance(wanted, Integral):
            if wanted > n_features:
                raise ValueError(
                    f"n_features_to_select={wanted}, but X has {n_features} features; give a "
                    "smaller number, or a share between 0 and 1."
                )
            return int(wanted)
        return max(1, int(wanted * n_features))

    def co_selection_binary(
        self,
        *,
        cross_threshold: float | None = None,
        individual_threshold: float | None = None,
        top_pairs: int | None = None,
        top_features: int | None = None,
    ) -> Mask:
        """Most frequent features and pairs (eq. 13).

        Parameters
        ----------
        cross_threshold : float, default=None
            A pair is marked above this share of members; one half if nothing is given.
        individual_threshold : float, default=None
            A feature is marked above this share of members; one half if nothing is given.
        top_pairs : int, default=None
            Instead of ``cross_threshold``: mark so many pairs, and their equals.
        top_features : int, default=None
            Instead of ``individual_threshold``: mark so many features, and their equals.

        Returns
        -------
        ndarray of bool of shape (n_features, n_features)
            Pairs off the diagonal, features on it.
        """
        check_is_fitted(self)
        return binary_co_selection(
            self.co_selection_, cross_threshold=cross_threshold,
            individual_threshold=individual_threshold, top_pairs=top_pairs,
            top_features=top_features,
        )  # fmt: skip

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        return np.asarray(self.support_)

    def __check_state__(self) -> None:
        """Refuse members and ranks that no fit makes."""
        super().__check_state__()
        expect_fitted(self, FITTED, d=self.n_features_in_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
