"""Stability selection with complementary pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import (
    DocLinkMixin,
    HasMethods,
    Interval,
    StrOptions,
    draw_seeds,
    expect,
    expect_array,
    expect_fitted,
    fit_context,
    guarded_fit,
    require,
    run_tasks,
    set_module,
    set_seed,
    validate_numbers,
    with_shared,
)
from ensemblage.subspace._co_selection import DISPLAY_DOCS, co_selection, feature_labels
from ensemblage.subspace._selector import JointSubspaceSelector

Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


def attained_threshold(threshold: float, n_pairs: int) -> float:
    """Smallest attainable selection frequency at or above the threshold."""
    fits = 2 * n_pairs
    return math.ceil(threshold * fits - 1e-9) / fits


def false_selections(
    n_per_fit: int, n_features: int, n_pairs: int, threshold: float, assumption: str
) -> float:
    r"""Bound on the expected number of falsely selected features.

    These are the features that one fit, which selects :math:`q` of :math:`p` features on half of
    the rows, selects with probability at most :math:`\theta = q/p`, that of random selection.
    Without assumptions the bound is :math:`q^2 / (p (2 \tau - 1))` (Meinshausen and Bühlmann,
    theorem 1; Shah and Samworth, theorem 1). If the fraction of the :math:`B` splits that select
    such a feature in both halves has a unimodal distribution, it is :math:`C q^2 / p` (Shah and
    Samworth, theorem 2)

    .. math:: C = \frac{1}{2 (2 \tau - 1 - 1/2B)} \; (\tau \le 3/4), \qquad
        C = \frac{4 (1 - \tau + 1/2B)}{1 + 1/B} \; (\tau > 3/4),

    for :math:`\theta \le 1/\sqrt 3` and :math:`\tau > 1/2 + \min(\theta^2, 1/2B + 3 \theta^2 / 4)`.
    """
    threshold, share = attained_threshold(threshold, n_pairs), n_per_fit / n_features
    bound = n_per_fit * share / (2 * threshold - 1)
    lowest = 0.5 + min(share**2, 0.5 / n_pairs + 0.75 * share**2)
    if assumption == "unimodal" and share <= 1 / math.sqrt(3) and threshold > lowest:
        if threshold > 0.75:
            factor = 4 * (1 - threshold + 0.5 / n_pairs) / (1 + 1 / n_pairs)
        else:
            factor = 1 / (2 * (2 * threshold - 1 - 0.5 / n_pairs))
        # with few splits the bound without assumptions may be lower, and is valid too
        bound = min(bound, factor * n_per_fit * share)
    return min(bound, float(n_per_fit))


def max_per_fit(
    max_false: float, n_features: int, n_pairs: int, threshold: float, assumption: str
) -> int:
    """Largest number of features per fit with a bound of at most ``max_false``; 0 if none."""
    allowed = [
        q
        for q in range(1, n_features + 1)
        if false_selections(q, n_features, n_pairs, threshold, assumption)
        <= max_false * (1 + 1e-12)
    ]
    return max(allowed, default=0)


def split_halves(y: NDArray[Any], rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Two disjoint random halves of the rows, stratified by class."""
    order = rng.permutation(len(y))
    if type_of_target(y) in {"binary", "multiclass"}:
        order = order[np.argsort(np.unique(y, return_inverse=True)[1][order], kind="stable")]
    half = len(y) // 2
    return np.sort(order[0 : 2 * half : 2]), np.sort(order[1 : 2 * half : 2])


def _strengths(fitted: Any) -> NDArray[np.float64]:
    values = getattr(fitted, "feature_importances_", getattr(fitted, "coef_", None))
    if values is None:
        raise ValueError(
            f"{type(fitted).__name__} has no parameter n_features_to_select, and after fit neither "
            "coef_ nor feature_importances_; use a selector with that parameter, or a model with "
            "one of these attributes."
        )
    values = np.abs(np.asarray(values, dtype=float))
    return np.asarray(values if values.ndim == 1 else np.linalg.norm(values, axis=0))


def select_on_half(
    estimator: Any, X: Any, y: NDArray[Any], chosen: Indices, n_per_fit: int, seed: int
) -> Mask:
    """Mask of the features, at most ``n_per_fit``, selected by one fit on some rows."""
    model = set_seed(clone(estimator), seed)
    if "n_features_to_select" in model.get_params(deep=False):
        model.set_params(n_features_to_select=n_per_fit).fit(X[chosen], y[chosen])
        return np.asarray(model.get_support(), dtype=bool)
    strengths = _strengths(model.fit(X[chosen], y[chosen]))
    tie_order = np.random.default_rng(seed).permutation(strengths.size)
    best = np.lexsort((tie_order, -strengths))[:n_per_fit]
    mask = np.zeros(strengths.size, dtype=bool)
    mask[best] = strengths[best] > 0
    return mask


@set_module("ensemblage.subspace")
class StabilitySelector(SelectorMixin, MetaEstimatorMixin, DocLinkMixin, BaseEstimator):
    r"""Stability selection: features selected in most fits on random halves of the rows.

    The rows are split into two halves many times, and features are selected on each half. The
    expected number of falsely selected features is bounded.

    Parameters
    ----------
    estimator : estimator, default=None
        A selector with a parameter ``n_features_to_select``, or a model with ``coef_`` or
        ``feature_importances_``, of which the largest are selected. By default a
        :class:`JointSubspaceSelector` of five members, with ``basis="linear"`` and
        ``group_members="all"``.
    n_pairs : int, default=50
        Number of splits; there are twice as many fits.
    threshold : float, default=0.75
        Fraction of the fits in which a feature must be selected, above one half.
    max_false : float, default=1.0
        Bound on the expected number of falsely selected features. It determines the number of
        features selected per fit.
    n_features_per_fit : int, default=None
        Instead of ``max_false``: number of features selected per fit.
    assumption : {"unimodal", "none"}, default="unimodal"
        Assumption of the bound; see Notes.
    n_jobs : int, default=None
        Number of fits in parallel.
    random_state : int, RandomState instance or None, default=None
        Determines splits and fits.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features,)
        Fraction of the fits in which each feature is selected.
    co_selection_ : ndarray of shape (n_features, n_features)
        Fraction of the fits in which both features are selected.
    support_ : ndarray of bool of shape (n_features,)
        Mask of selected features, possibly none.
    n_features_per_fit_ : int
        Most features selected per fit.
    error_bound_ : float
        Bound on the expected number of falsely selected features.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if all of them are strings.

    See Also
    --------
    JointSubspaceSelector : Selects features once, on all rows.
    ensemblage.subspace.StabilityDisplay : Plots the frequencies.

    Notes
    -----
    With :math:`p` features, :math:`q` selected per fit and the threshold :math:`\tau`, the expected
    number of selected features that one fit selects no more often than at random, with probability
    :math:`q/p`, is at most :math:`q^2 / (p (2\tau - 1))`, for any data and estimator. If the
    selection frequencies of such features have a unimodal distribution, a smaller bound holds. The
    halves are stratified by class, where the theory samples from all rows. Features correlated
    with a relevant one are not false in this sense.

    References
    ----------
    N. Meinshausen and P. Bühlmann. Stability Selection. Journal of the Royal Statistical Society B
    72, 2010.

    R. Shah and R. Samworth. Variable Selection with Error Control: Another Look at Stability
    Selection. Journal of the Royal Statistical Society B 75, 2013.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from ensemblage.datasets import make_hidden_features
    >>> from ensemblage.subspace import StabilitySelector
    >>> X, y, relevant = make_hidden_features("linear", random_state=0)
    >>> stable = StabilitySelector(LogisticRegression(), random_state=0).fit(X, y)
    >>> bool((stable.support_ == relevant).all())
    True
    >>> stable.n_features_per_fit_, round(stable.error_bound_, 2)
    (5, 0.85)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit"]), None],
        "n_pairs": [Interval(Integral, 1, None, closed="left")],
        "threshold": [Interval(Real, 0.5, 1, closed="right")],
        "max_false": [Interval(Real, 0, None, closed="neither")],
        "n_features_per_fit": [Interval(Integral, 1, None, closed="left"), None],
        "assumption": [StrOptions({"unimodal", "none"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_pairs: int = 50,
        threshold: float = 0.75,
        max_false: float = 1.0,
        n_features_per_fit: int | None = None,
        assumption: str = "unimodal",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_pairs = n_pairs
        self.threshold = threshold
        self.max_false = max_false
        self.n_features_per_fit = n_features_per_fit
        self.assumption = assumption
        self.n_jobs = n_jobs
        self.random_state = random_state

    @guarded_fit
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> Self:
        """Select features on both halves of every split.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : array-like of shape (n_samples,)
            Class labels, or a numeric target if the estimator supports it.

        Returns
        -------
        self : object
            Fitted selector.
        """
        X, y = validate_numbers(self, X, y, ensure_min_samples=2)
        n_features, assumed = X.shape[1], (self.n_pairs, float(self.threshold), self.assumption)
        n_per_fit = self.n_features_per_fit
        if n_per_fit is None:
            n_per_fit = max_per_fit(float(self.max_false), n_features, *assumed)
            if n_per_fit == 0:
                least = false_selections(1, n_features, *assumed)
                raise ValueError(
                    f"max_false={self.max_false!r} is not attainable with {n_features} features "
                    f"and threshold={self.threshold!r}: with one feature per fit the bound is "
                    f"{least:.2g}. Increase max_false or threshold."
                )
        elif n_per_fit > n_features:
            raise ValueError(
                f"n_features_per_fit={n_per_fit}, but X has {n_features} features; use a smaller "
                "number."
            )
        supports = self._select(X, y, int(n_per_fit))
        self.n_features_per_fit_ = int(n_per_fit)
        self.error_bound_ = false_selections(int(n_per_fit), n_features, *assumed)
        self.co_selection_ = co_selection(supports)
        self.frequencies_ = supports.mean(axis=0)
        attained = attained_threshold(float(self.threshold), self.n_pairs)
        self.support_ = self.frequencies_ >= attained - 1e-9
        return self

    def _select(self, X: Any, y: NDArray[Any], n_per_fit: int) -> Mask:
        """Masks of all fits, (2 * n_pairs, n_features)."""
        estimator = self.estimator
        if estimator is None:
            continuous = type_of_target(y).startswith("continuous")
            loss = "squared_error" if continuous else "log_loss"
            estimator = JointSubspaceSelector(
                n_estimators=5, loss=loss, group_members="all", basis="linear"
            )
        random_state = check_random_state(self.random_state)
        splits, *seeds = (draw_seeds(random_state, self.n_pairs) for _ in range(3))
        tasks = []
        for split, first, second in zip(splits, *seeds, strict=True):
            halves = split_halves(y, np.random.default_rng(split))
            for half, seed in zip(halves, (first, second), strict=True):
                tasks.append((estimator, X, y, half, n_per_fit, seed))
        return np.array(run_tasks(select_on_half, tasks, self.n_jobs))

    def _check_fitted(self) -> None:
        d = self.n_features_in_
        expect_fitted(self, {"n_features_per_fit_": "count", "error_bound_": "number"})
        expect_array(self, "frequencies_", (d,), low=0, high=1)
        expect_array(self, "co_selection_", (d, d), low=0, high=1)
        expect_array(self, "support_", (d,), "truth")
        expect(0 <= self.error_bound_ <= d, "error_bound_ is out of range")

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        return np.asarray(self.support_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


@set_module("ensemblage.subspace")
@with_shared(DISPLAY_DOCS)
class StabilityDisplay:
    """Selection frequencies as horizontal bars, sorted, with the threshold as a line.

    Parameters
    ----------
    frequencies : array-like of shape (n_features,)
        Fraction of the fits in which each feature is selected.
    threshold : float
        Selection threshold.
    {feature_names}
    error_bound : float, default=None
        Bound on the expected number of falsely selected features, for the title.

    Attributes
    ----------
    {ax_, figure_}
    bars_ : matplotlib BarContainer
        The bars.

    See Also
    --------
    ensemblage.subspace.StabilitySelector : Computes the frequencies.
    CoSelectionDisplay : Plots which features are selected together.

    Examples
    --------
    >>> from ensemblage.subspace import StabilityDisplay
    >>> display = StabilityDisplay([0.2, 0.9], 0.75, feature_names=["height", "weight"])
    >>> display.selected()
    ['weight']
    """

    def __init__(
        self,
        frequencies: Any,
        threshold: float,
        *,
        feature_names: Sequence[str] | None = None,
        error_bound: float | None = None,
    ) -> None:
        self.frequencies = np.asarray(frequencies, dtype=float)
        if self.frequencies.ndim != 1:
            raise ValueError(
                f"frequencies has shape {self.frequencies.shape}; expected one value per feature."
            )
        self.threshold = float(threshold)
        self.feature_names = feature_labels(feature_names, len(self.frequencies))
        self.error_bound = error_bound

    @classmethod
    @with_shared(DISPLAY_DOCS)
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: Sequence[str] | None = None,
        top: int | None = 30,
        ax: Any = None,
    ) -> StabilityDisplay:
        """Plot the frequencies of a fitted selector.

        Parameters
        ----------
        estimator : StabilitySelector
            Fitted selector.
        feature_names : sequence of str, default=None
            Names of the features; by default those seen in ``fit``.
        top : int, default=30
            Most features to plot; None plots all.
        {ax}

        Returns
        -------
        StabilityDisplay
            The display with the plot.
        """
        check_is_fitted(estimator, "frequencies_")
        if feature_names is None:
            feature_names = getattr(estimator, "feature_names_in_", None)
        display = cls(
            estimator.frequencies_, estimator.threshold, feature_names=feature_names,
            error_bound=estimator.error_bound_,
        )  # fmt: skip
        return display.plot(top=top, ax=ax)

    def selected(self) -> list[str]:
        """Return the names of the features at or above the threshold.

        Returns
        -------
        list of str
            Most frequent first; ties in the given order.
        """
        return [self.feature_names[d] for d in self._order() if self._is_selected(d)]

    def _order(self) -> list[int]:
        return [int(d) for d in np.argsort(-self.frequencies, kind="stable")]

    def _is_selected(self, d: int) -> bool:
        return bool(self.frequencies[d] >= self.threshold - 1e-9)

    @with_shared(DISPLAY_DOCS)
    def plot(self, *, top: int | None = None, ax: Any = None) -> StabilityDisplay:
        """Plot the frequencies.

        Parameters
        ----------
        top : int, default=None
            Most features to plot.
        {ax}

        Returns
        -------
        StabilityDisplay
            The display, with ``ax_``, ``figure_`` and ``bars_`` set.
        """
        plt = require("matplotlib.pyplot", "StabilityDisplay", extra="plot")
        order = self._order()[:top]
        ax = plt.subplots(figsize=(6.4, 1.2 + 0.25 * len(order)))[1] if ax is None else ax
        places = np.arange(len(order))
        colors = ["C0" if self._is_selected(d) else "0.75" for d in order]
        self.bars_ = ax.barh(places, self.frequencies[order], color=colors)
        ax.axvline(self.threshold, color="C3", linestyle="--")
        ax.set_yticks(places, [self.feature_names[d] for d in order])
        ax.invert_yaxis()
        ax.set_xlim(0, 1)
        ax.set_xlabel("Selection frequency")
        if self.error_bound is not None:
            ax.set_title(f"Expected false selections: at most {self.error_bound:.2g}")
        self.ax_, self.figure_ = ax, ax.figure
        return self
