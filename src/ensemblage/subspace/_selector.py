"""Feature selection by jointly fitted members."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import Interval, StrOptions, expect_fitted, set_module, with_shared
from ensemblage.subspace._co_selection import (
    coefficient_sizes,
    contribution_sizes,
    group_sizes,
    power_mean_scores,
)
from ensemblage.subspace._joint import POSITIVE_INTEGER, SUBSPACE_DOCS, BaseJointSubspace
from ensemblage.subspace._objectives import (
    SOFTMAX,
    SQUARED,
    Objective,
    Rows,
    Settings,
    correlated_groups,
)
from ensemblage.subspace._search import Plan

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]
Rng = np.random.Generator
Seeds = list[int]

# Exponent of the selector's power mean. A nonlinear basis has more chance effects, so it is lower.
POWERS = {"linear": 8.0, "quadratic": 2.0, "spline": 2.0}


def _ranks(scores: Doubles, reserve: Doubles, rng: Rng) -> NDArray[np.int_]:
    """Rank by score, ties by reserve, then at random, not by column order; 1 is best."""
    order = np.lexsort((rng.permutation(scores.size), -reserve, -scores))
    ranks = np.empty(scores.size, dtype=int)
    ranks[order] = np.arange(1, scores.size + 1)
    return ranks


@set_module("ensemblage.subspace")
@with_shared(SUBSPACE_DOCS)
class JointSubspaceSelector(SelectorMixin, BaseJointSubspace):
    r"""Select features by how often and how strongly jointly fitted members use them.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to select; a float in (0, 1) is a fraction. None selects the features
        that more than half of the members use, and at least one.
    n_estimators : int, default=20
        Number of members.
    loss : {"log_loss", "squared_error"}, default="log_loss"
        "log_loss" for classification, "squared_error" for a numeric target.
    group_correlation : float or None, default=0.95
        Features with at least this absolute correlation form a group: a mask flips them together
        at the penalty of one feature, and they share their score. None forms no groups.
    C : float or "auto", default=1.0
        Inverse strength of the ridge penalty.
    {basis, solver}
    flip_probability : float or "auto", default=0.1
        Probability of flipping a feature in a proposal.
    {size_penalty, learning_rate, patience}
    max_iter : int, default=1000
        Most proposals per member.
    {tol}
    random_state : int, RandomState instance or None, default=None
        Determines initial coefficients, proposals and ties.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Scores that combine frequency and size of the coefficients; see Notes.
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature, 1 is best. Ties are broken by the coefficients of members that
        excluded the feature, then at random, not by the order of the columns.
    frequencies_ : ndarray of shape (n_features,)
        Fraction of the members that use each feature.
    {co_selection_}
    groups_ : ndarray of shape (n_features,)
        Group index of each feature; see ``group_correlation``.
    support_ : ndarray of bool of shape (n_features,)
        Mask of selected features.
    {classes_, target_mean_, coefs_, intercepts_, supports_, score_path_}
    {n_iter_, n_estimators_, basis_, C_, mean_, scale_, n_features_in_, feature_names_in_}

    See Also
    --------
    JointSubspaceClassifier : The same members, as a classifier.

    Notes
    -----
    The score of feature :math:`d` is the power mean over members

    .. math:: s_d = \left(\frac{1}{K} \sum_k \lambda_{kd} |\theta_{kd}|^r\right)^{1/r}, \quad r = 8.

    At :math:`r = 1` it is frequency times mean size. Later members fit the rows that earlier ones
    misclassify, with features that earlier ones exclude; a larger exponent gives these more weight.
    With a basis other than "linear", :math:`|\theta_{kd}|` is the standard deviation over the rows
    of the feature's total contribution to the member's output, and :math:`r = 2`. The size of a
    group is the sum over its features.

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
        **BaseJointSubspace._parameter_constraints,  # noqa: SLF001
        "n_features_to_select": [POSITIVE_INTEGER, Interval(Real, 0, 1, closed="neither"), None],
        "loss": [StrOptions({"log_loss", "squared_error"})],
        "group_correlation": [Interval(Real, 0, 1, closed="right"), None],
    }

    def __init__(
        self,
        n_features_to_select: float | None = None,
        *,
        n_estimators: int = 20,
        loss: str = "log_loss",
        group_correlation: float | None = 0.95,
        C: Any = 1.0,
        basis: str = "linear",
        solver: str = "lbfgs",
        flip_probability: Any = 0.1,
        size_penalty: Any = "auto",
        learning_rate: Any = "auto",
        patience: int = 50,
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_estimators = n_estimators
        self.loss = loss
        self.group_correlation = group_correlation
        self.C = C
        self.basis = basis
        self.solver = solver
        self.flip_probability = flip_probability
        self.size_penalty = size_penalty
        self.learning_rate = learning_rate
        self.patience = patience
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _objective(self) -> Objective:
        return SQUARED if self.loss == "squared_error" else SOFTMAX

    def _group_features(self, rows: Rows) -> Indices | None:
        single = self.groups_ = np.arange(len(rows.features))
        if self.group_correlation is not None:
            least = float(self.group_correlation)
            self.groups_ = correlated_groups(rows.features, rows.weights, least)
        return None if (self.groups_ == single).all() else self.groups_

    def _combine(self, plan: Plan, rows: Rows, settings: Settings, seeds: Seeds, rng: Rng) -> None:
        """Score and rank the features, and select the best."""
        self.frequencies_ = np.diag(self.co_selection_).copy()
        # size of each feature in each member; ``dropped`` includes the features it excluded
        owners = self.basis_.owners()
        if owners is None:
            sizes = dropped = coefficient_sizes(self.coefs_)
        else:
            shape = len(self.coefs_), *[1] * (self.coefs_.ndim - 2), -1
            seen = self._column_supports().reshape(shape)
            sizes = contribution_sizes(self.coefs_ * seen, rows, owners)
            dropped = contribution_sizes(self.coefs_, rows, owners)
        power = POWERS[self.basis]
        grouped = group_sizes(sizes, self.groups_)
        self.scores_ = power_mean_scores(grouped, self.supports_, power)
        reserve = power_mean_scores(dropped, np.ones_like(self.supports_), power)
        self.ranking_ = _ranks(self.scores_, reserve, rng)
        self.support_ = self.ranking_ <= self._n_selected()

    def _n_selected(self) -> int:
        wanted, n_features = self.n_features_to_select, self.n_features_in_
        if wanted is None:
            return max(1, int((self.frequencies_ > 0.5).sum()))
        if isinstance(wanted, Integral):
            if wanted > n_features:
                raise ValueError(
                    f"n_features_to_select={wanted}, but X has {n_features} features; use a "
                    "smaller number, or a fraction between 0 and 1."
                )
            return int(wanted)
        return max(1, int(wanted * n_features))

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        return np.asarray(self.support_)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        expect_fitted(
            self,
            {
                "frequencies_": "float (d) 0..1",
                "scores_": "float (d)",
                "ranking_": "integer (d) 1..",
                "support_": "truth (d)",
                "groups_": "integer (d) 0..<d",
            },
            d=self.n_features_in_,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
