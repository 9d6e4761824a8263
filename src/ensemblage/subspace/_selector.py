"""Feature selection by jointly fitted members."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import (
    Fold,
    Interval,
    StrOptions,
    deal_folds,
    expect_fitted,
    run_tasks,
    set_module,
    with_shared,
)
from ensemblage.subspace._co_selection import (
    coefficient_sizes,
    contribution_sizes,
    group_sizes,
    power_mean_scores,
)
from ensemblage.subspace._joint import POSITIVE_INTEGER, SUBSPACE_DOCS, BaseJointSubspace
from ensemblage.subspace._kernels import log_softmax
from ensemblage.subspace._objectives import (
    SOFTMAX,
    SQUARED,
    FeatureBasis,
    Objective,
    Rows,
    Settings,
    columns_of,
    correlated_groups,
    expand_basis,
    member_logits,
)
from ensemblage.subspace._search import (
    N_FOLDS,
    Plan,
    choose_strength,
    converge,
    first_member,
    fit_sequence,
    row_codes,
    rows_with_codes,
)

Doubles = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]
Rng = np.random.Generator
Seeds = list[int]

# Exponent of the selector's power mean. A nonlinear basis has more chance effects, so it is lower.
POWERS = {"linear": 8.0, "quadratic": 2.0, "spline": 2.0}
# C of a basis chosen by cross-validation, relative to the parameter: more columns, more penalty.
STRENGTHS = {"linear": 1.0, "quadratic": 0.1, "spline": 0.1}
# Most columns of a basis that basis="auto" tries.
AUTO_COLUMNS = 2000
# Members that select features in a fold.
FOLD_MEMBERS = 5


def score_features(
    coefs: Floats, supports: Mask, basis: FeatureBasis, rows: Rows, groups: Indices
) -> tuple[Doubles, Doubles]:
    """Score of each feature's group, and the feature's own as if no member had excluded it."""
    owners = basis.owners()
    if owners is None:
        sizes = dropped = coefficient_sizes(coefs)
    else:
        shape = len(coefs), *[1] * (coefs.ndim - 2), -1
        seen = basis.seen_columns(supports).reshape(shape)
        sizes = contribution_sizes(coefs * seen, rows, owners)
        dropped = contribution_sizes(coefs, rows, owners)
    power = POWERS[basis.kind]
    scores = power_mean_scores(group_sizes(sizes, groups), supports, power)
    return scores, power_mean_scores(dropped, np.ones_like(supports), power)


def rank_features(
    scores: Doubles, reserve: Doubles, groups: Indices | None, rng: Rng
) -> NDArray[np.int_]:
    """Rank by score, ties by reserve, then at random, not by column order; 1 is best.

    With groups, the best feature of each group precedes all others.
    """
    order = np.lexsort((rng.permutation(scores.size), -reserve, -scores))
    if groups is not None:
        copies = np.ones(scores.size, dtype=bool)
        copies[np.unique(groups[order], return_index=True)[1]] = False
        order = np.concatenate([order[~copies], order[copies]])
    ranks = np.empty(scores.size, dtype=int)
    ranks[order] = np.arange(1, scores.size + 1)
    return ranks


def row_losses(rows: Rows, outputs: Floats) -> Doubles:
    """Log loss or squared error of each row; outputs are (n_outputs, n_rows)."""
    if rows.n_outputs == 1:
        return np.asarray((rows.targets - outputs[0]) ** 2, dtype=float)
    log_proba = log_softmax(outputs, axis=0)
    return np.asarray(-log_proba[rows.targets, np.arange(rows.targets.size)], dtype=float)


class Selection(NamedTuple):
    """How features are selected, in a fold as from all rows."""

    groups: Indices  # (n_features,)
    one_each: bool  # whether the best feature of each group comes first
    wanted: int | None  # number of features; None: those that most members use

    def ranks(self, scores: Doubles, reserve: Doubles, rng: Rng) -> NDArray[np.int_]:
        return rank_features(scores, reserve, self.groups if self.one_each else None, rng)

    def count(self, supports: Mask) -> int:
        if self.wanted is not None:
            return self.wanted
        frequent = np.flatnonzero(supports.mean(axis=0) > 0.5)
        return max(1, np.unique(self.groups[frequent]).size if self.one_each else frequent.size)


def held_out_losses(
    rows: Rows,
    fold: Fold,
    kind: str,
    groups: Indices | None,
    selection: Selection,
    seeds: Seeds,
    settings: Settings,
) -> Doubles:
    """Losses of a model refitted on the features selected from a fold's training rows.

    If ``settings.C`` is NaN it is chosen on the training rows.
    """
    rng = np.random.default_rng(seeds[0])
    basis, train = expand_basis(rows.take(fold.train), kind, groups)
    if np.isnan(settings.C):
        settings = settings._replace(C=choose_strength(train, rng))
    members = list(fit_sequence(train, seeds, settings))
    coefs = np.array([member.coef for member in members])
    supports = np.array([member.support[: basis.n_features_] for member in members])
    scores, reserve = score_features(
        coefs[:, 0] if rows.n_outputs == 1 else coefs, supports, basis, train, selection.groups
    )
    chosen = selection.ranks(scores, reserve, rng) <= selection.count(supports)
    start = first_member(train, rng)._replace(support=basis.seen_columns(chosen))
    model = converge(train, start, 1.0 / (settings.C * train.total), settings.tol)
    held = rows.take(fold.test)
    return row_losses(held, member_logits(basis.expand(held.features), model))


@set_module("ensemblage.subspace")
@with_shared(SUBSPACE_DOCS)
class JointSubspaceSelector(SelectorMixin, BaseJointSubspace):
    r"""Select features by how often and how strongly jointly fitted members use them.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to select, by default from as many groups of correlated features; a
        float in (0, 1) is a fraction. None selects the features, or one of each group, that more
        than half of the members use, and at least one.
    n_estimators : int, default=20
        Number of members.
    loss : {"log_loss", "squared_error"}, default="log_loss"
        "log_loss" for classification, "squared_error" for a numeric target.
    group_correlation : float or None, default=0.95
        Features with at least this absolute correlation form a group: a mask flips them together
        at the penalty of one feature, and they share their score. None forms no groups.
    group_members : {"one", "all"}, default="one"
        With "one" the best feature of each group ranks above all other features, so that three
        selected features are of three groups if there are as many. With "all" features rank by
        the score of their group, so that copies of a strong feature rank above weaker features.
    C : float or "auto", default=1.0
        Inverse strength of the ridge penalty. A nonlinear basis that is chosen by
        ``basis="auto"`` has a tenth of it. "auto" chooses the best power of ten for a single
        model on all features by cross-validation.
    basis : {"auto", "linear", "quadratic", "spline"}, default="auto"
        Basis expansion of the features, as in :class:`JointSubspaceClassifier`. "auto" chooses
        the one with the lowest five-fold cross-validated loss of a model on the features that five
        members select, which takes about ten to twenty times as long as a linear fit. It is best
        to give ``n_features_to_select``, which is used in the folds too. Bases of more than
        2,000 columns are not tried: "quadratic" for more than 61 features, "spline" for more than
        333. With fewer than ten distinct rows it is "linear".
    {solver}
    flip_probability : float or "auto", default=0.1
        Probability of flipping a feature in a proposal.
    {size_penalty, learning_rate, patience}
    max_iter : int, default=1000
        Most proposals per member.
    {tol}
    n_jobs : int, default=None
        Number of folds processed in parallel, to choose the basis.
    random_state : int, RandomState instance or None, default=None
        Determines initial coefficients, proposals, folds and ties.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Scores that combine frequency and size of the coefficients; see Notes.
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature, 1 is best; see ``group_members``. Ties are broken by the coefficients
        in all members, also those that excluded the feature, then at random, not by the order of
        the columns.
    frequencies_ : ndarray of shape (n_features,)
        Fraction of the members that use each feature.
    {co_selection_}
    groups_ : ndarray of shape (n_features,)
        Group index of each feature; see ``group_correlation``. All features of the selected
        groups are ``np.isin(groups_, groups_[support_])``.
    basis_losses_ : dict
        Cross-validated log loss or squared error by basis; only if one was chosen. A squared error
        is in units of the target's variance.
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
        "group_members": [StrOptions({"one", "all"})],
        "basis": [StrOptions({"auto", "linear", "quadratic", "spline"})],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_features_to_select: float | None = None,
        *,
        n_estimators: int = 20,
        loss: str = "log_loss",
        group_correlation: float | None = 0.95,
        group_members: str = "one",
        C: Any = 1.0,
        basis: str = "auto",
        solver: str = "lbfgs",
        flip_probability: Any = 0.1,
        size_penalty: Any = "auto",
        learning_rate: Any = "auto",
        patience: int = 50,
        max_iter: int = 1000,
        tol: float = 1e-4,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_estimators = n_estimators
        self.loss = loss
        self.group_correlation = group_correlation
        self.group_members = group_members
        self.C = C
        self.basis = basis
        self.solver = solver
        self.flip_probability = flip_probability
        self.size_penalty = size_penalty
        self.learning_rate = learning_rate
        self.patience = patience
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _objective(self) -> Objective:
        return SQUARED if self.loss == "squared_error" else SOFTMAX

    def _group_features(self, rows: Rows) -> Indices | None:
        single = self.groups_ = np.arange(len(rows.features))
        if self.group_correlation is not None:
            least = float(self.group_correlation)
            self.groups_ = correlated_groups(rows.features, rows.weights, least)
        return None if (self.groups_ == single).all() else self.groups_

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        rows = super()._prepare(X, y, sample_weight)
        wanted, n_features = self.n_features_to_select, self.n_features_in_
        if isinstance(wanted, Integral) and wanted > n_features:
            raise ValueError(
                f"n_features_to_select={wanted}, but X has {n_features} features; use a smaller "
                "number, or a fraction between 0 and 1."
            )
        return rows

    def _selection(self) -> Selection:
        wanted = self.n_features_to_select
        if wanted is not None and not isinstance(wanted, Integral):
            wanted = max(1, int(wanted * self.n_features_in_))
        return Selection(self.groups_, self.group_members == "one", wanted)

    def _choose_basis(self, rows: Rows, groups: Indices | None, seeds: Seeds) -> str:
        """As given, or the best by cross-validation of the selected features."""
        self.__dict__.pop("basis_losses_", None)
        if self.basis != "auto":
            return str(self.basis)
        kinds = [kind for kind in POWERS if columns_of(kind, len(rows.features)) <= AUTO_COLUMNS]
        codes = row_codes(rows)
        labels = np.zeros(codes.max() + 1, dtype=np.intp)
        if len(kinds) == 1 or labels.size < 2 * N_FOLDS:
            return "linear"
        if rows.n_outputs > 1:
            labels[codes[codes >= 0]] = rows.targets[codes >= 0]
        rng = np.random.default_rng([seeds[0], N_FOLDS])
        folds = [rows_with_codes(codes, fold) for fold in deal_folds(labels, N_FOLDS, rng)]
        same = groups, self._selection(), seeds[:FOLD_MEMBERS]
        tasks = [
            (rows, fold, kind, *same, self._settings_for(kind)) for kind in kinds for fold in folds
        ]
        parts = iter(run_tasks(held_out_losses, tasks, self.n_jobs))
        losses = {kind: np.zeros(codes.size) for kind in kinds}
        for each in losses.values():
            for fold in folds:
                each[fold.test] = next(parts)
        counts = rows.weights.astype(float) * rows.total
        self.basis_losses_ = {
            kind: float(np.average(each, weights=counts)) for kind, each in losses.items()
        }
        return min(self.basis_losses_, key=self.basis_losses_.__getitem__)

    def _settings_for(self, kind: str) -> Settings:
        """Return the settings for a basis that is chosen; C is NaN if it is chosen too."""
        if self.solver == "paper":
            return self._settings_at(np.inf)
        return self._settings_at(np.nan if self.C == "auto" else STRENGTHS[kind] * float(self.C))

    def _settings(self, rows: Rows, rng: Rng) -> Settings:
        settings = super()._settings(rows, rng)
        if self.basis == "auto" and self.C != "auto" and self.solver != "paper":
            settings = self._settings_for(self.basis_.kind)
            self.C_ = settings.C
        return settings

    def _combine(self, plan: Plan, rows: Rows, settings: Settings, seeds: Seeds, rng: Rng) -> None:
        """Score and rank the features, and select the best."""
        self.frequencies_ = np.diag(self.co_selection_).copy()
        self.scores_, reserve = score_features(
            self.coefs_, self.supports_, self.basis_, rows, self.groups_
        )
        selection = self._selection()
        self.ranking_ = selection.ranks(self.scores_, reserve, rng)
        self.support_ = self.ranking_ <= selection.count(self.supports_)

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
