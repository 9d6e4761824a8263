"""Inner ensembles in general: a measure evaluated on many views of the data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import draw_seeds, safe_indexing, set_module
from ensemblage.inner._kmeans_kernels import Draws

Doubles = NDArray[np.float64]

BOOSTING = "boosting"
"""The combination in which each view's item weights depend on the views before it."""
MIN_ERROR = 0.01
"""Lower bound on a boosted view's error, so that its weight is finite."""
MAX_ERROR = 0.49
"""Upper bound on a boosted view's error, so that its weight is positive."""


def check_view_size(n_items: int, view_size: Any, replace: bool) -> int:
    """Compute the number of draws per view, at least 1, from a share (float) or a count (int)."""
    if isinstance(view_size, bool) or not isinstance(view_size, Real) or view_size <= 0:
        raise ValueError(
            f"view_size must be a share (float) or a count (int) above zero, got {view_size!r}. "
            "Use 0.3 for 30 % of the items."
        )
    drawn = view_size if isinstance(view_size, Integral) else round(float(view_size) * n_items)
    drawn = max(1, int(drawn))
    if not replace and drawn > n_items:
        raise ValueError(
            f"view_size={view_size!r} asks for {drawn} of {n_items} items without replacement. "
            "Lower view_size to at most 1.0, or set replace=True."
        )
    return drawn


def draw_views(
    n_items: int, seeds: Sequence[int], view_size: float = 0.3, replace: bool = False
) -> NDArray[np.float64]:
    """Draw one view per seed.

    Parameters
    ----------
    n_items : int
        Rows or features to draw from.
    seeds : sequence of int
        One seed per view; a view depends on its own seed alone.
    view_size : float or int, default=0.3
        Share (float) or number (int) of draws in each view.
    replace : bool, default=False
        Draw with replacement.

    Returns
    -------
    ndarray of shape (n_views, n_items)
        How often each item was drawn: 0 or 1 without replacement, counts with it.
    """
    drawn = check_view_size(n_items, view_size, replace)
    views = np.zeros((len(seeds), n_items))
    for view, seed in zip(views, seeds, strict=True):
        chosen = np.random.default_rng(seed).choice(n_items, size=drawn, replace=replace)
        np.add.at(view, chosen, 1.0)
    return views


def draw_feature_views(n_features: int, draws: Draws) -> NDArray[np.float64]:
    """Count how often each view of a K-means pass drew each feature: (n_views, n_features).

    One generator draws all views: seeding one per view takes longer than a pass over a few hundred
    rows.
    """
    rng = np.random.default_rng(draws.seed)
    if draws.replace:
        chosen = rng.integers(n_features, size=(draws.n_views, draws.n_draws))
    else:
        chosen = rng.random((draws.n_views, n_features)).argsort(axis=1)[:, : draws.n_draws]
    places = chosen + n_features * np.arange(draws.n_views)[:, None]
    counts = np.bincount(places.ravel(), minlength=draws.n_views * n_features)
    return counts.reshape(draws.n_views, n_features).astype(np.float64)


def check_views(views: Any, n_items: int) -> NDArray[Any]:
    """Reject views that are not finite, non-negative weights of shape (n_views, n_items)."""
    found = np.asarray(views)
    if found.dtype.kind not in "biuf":
        raise TypeError(
            f"sampler must return an array of numbers, got {type(views).__name__} of {found.dtype}."
        )
    if found.ndim != 2 or found.shape[1] != n_items or not len(found):
        raise ValueError(
            f"sampler must return views of shape (n_views, {n_items}) with at least one view, got "
            f"shape {found.shape}. Return one row of {n_items} weights for each view."
        )
    if found.size and not (np.isfinite(found).all() and found.min() >= 0):
        raise ValueError(
            "sampler must return finite weights that are not negative, got "
            f"{found[~(np.isfinite(found) & (found >= 0))][0]}. Use 0 for an item outside a view."
        )
    return found


def sample_views(sampler: Callable[[int], Any], n_items: int) -> Doubles:
    """Call a user's sampler; each view must have an item of positive weight."""
    views = check_views(sampler(n_items), n_items).astype(np.float64)
    empty = np.flatnonzero(~views.any(axis=1))
    if len(empty):
        raise ValueError(
            f"sampler must return views with at least one item of positive weight, but view "
            f"{empty[0]} of {len(views)} has none. Draw more items per view."
        )
    return views


@set_module("ensemblage.inner")
class ViewSampler:
    """Draw the same views of rows or features in each call.

    Parameters
    ----------
    n_views : int, default=30
        Number of views; the paper's :math:`E`, for which it tries 10 to 100.
    view_size : float or int, default=0.3
        Share (float) or number (int) of items in each view; the paper tries shares of 0.1 to 1.
    replace : bool, default=False
        Draw with replacement; an item drawn twice has weight two.
    random_state : int, RandomState instance or None, default=None
        Controls the seeds of the views, which are drawn once, at construction.

    Examples
    --------
    >>> from ensemblage.inner import ViewSampler
    >>> views = ViewSampler(n_views=4, view_size=0.5, random_state=0)(6)
    >>> views.shape, views.sum(axis=1).tolist()
    ((4, 6), [3.0, 3.0, 3.0, 3.0])
    """

    def __init__(
        self,
        n_views: int = 30,
        view_size: float = 0.3,
        *,
        replace: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_views = n_views
        self.view_size = view_size
        self.replace = replace
        self.seeds = draw_seeds(random_state, n_views)

    def __repr__(self) -> str:
        return f"ViewSampler({self.n_views}, {self.view_size}, replace={self.replace})"

    def __call__(self, n_items: int) -> NDArray[np.float64]:
        """Draw the views of ``n_items`` rows or features.

        Parameters
        ----------
        n_items : int
            Rows or features to draw from.

        Returns
        -------
        ndarray of shape (n_views, n_items)
            Weight of each item in each view.
        """
        return draw_views(n_items, self.seeds, self.view_size, self.replace)


class Measure(Protocol):  # numpydoc ignore=PR01
    """Interface of a score on which a learner bases a decision.

    Attributes
    ----------
    n_items : int
        Length of a view: number of rows, or of features.

    Notes
    -----
    A measure may also have ``score_views(candidates, views)``, of shape (n_views, ...,
    n_candidates), if many views together are faster than one by one.

    Boosting needs ``item_losses(candidates, best, view)``, of shape (n_items,): the loss of each
    item, from 0 to 1, with the candidate that scores highest on the view. ``best`` is its index (an
    array of indices if the scores have more axes). Items outside the view have a loss too.
    """

    n_items: int

    def __call__(self, candidates: Any, view: NDArray[np.float64]) -> Doubles:
        """Score the candidates on one view; more is better.

        Parameters
        ----------
        candidates : object
            Candidates of the decision.
        view : ndarray of shape (n_items,)
            Weight of each row or feature.

        Returns
        -------
        ndarray of shape (..., n_candidates)
            Scores.
        """
        ...  # pragma: no cover


def mean_of_views(scores: Doubles) -> Doubles:
    """Average the views' scores, views first (Algorithm 4, line 8)."""
    return np.asarray(scores.mean(axis=0))


def votes_of_views(scores: Doubles) -> Doubles:
    """Count the views that score each candidate highest (Algorithm 6, lines 6 to 10).

    Ties are resolved in favour of the first candidate.
    """
    best = scores.argmax(axis=-1)
    return np.asarray((best[..., None] == np.arange(scores.shape[-1])).sum(axis=0), dtype=float)


def median_of_views(scores: Doubles) -> Doubles:
    """Take the median of the views' scores."""
    return np.asarray(np.median(scores, axis=0))


COMBINATIONS: dict[str, Callable[[Doubles], Doubles]] = {
    "mean": mean_of_views,
    "median": median_of_views,
    "vote": votes_of_views,
}


def resolve_combine(combine: Any, *, also: Sequence[str] = ()) -> Callable[[Doubles], Doubles]:
    """Return the combination rule of a name, or the callable itself; errors list others also."""
    if callable(combine):
        rule: Callable[[Doubles], Doubles] = combine
        return rule
    if combine not in COMBINATIONS:
        raise ValueError(
            f"combine must be one of {sorted([*COMBINATIONS, *also])} or a function of the array "
            f"of scores (views on the first axis), got {combine!r}."
        )
    return COMBINATIONS[combine]


def item_losses(measure: Any, candidates: Any, best: Any, view: Doubles) -> Doubles:
    """Compute a measure's losses per item, and check them."""
    losses = np.asarray(measure.item_losses(candidates, best, view), dtype=np.float64)
    inside = losses.shape == view.shape and bool(((losses >= 0) & (losses <= 1)).all())
    if not inside:
        raise ValueError(
            f"item_losses of {type(measure).__name__} must return {len(view)} losses from 0 to 1, "
            f"one for each item, got shape {losses.shape} with values from "
            f"{losses.min(initial=np.inf)} to {losses.max(initial=-np.inf)}."
        )
    return losses


def boosted_scores(measures: Sequence[Any], views: NDArray[Any], candidates: Any) -> Doubles:
    r"""Score the candidates on one view after the other, and combine the scores by boosting.

    The item weights are kept as logarithms, relative to the view's largest, so that they neither
    overflow nor vanish. Empty views are omitted.
    """
    scores, view_weights = [], []
    log_weights = np.zeros(views.shape[1])
    for measure, drawn in zip(measures, views, strict=True):
        inside = drawn > 0
        if not inside.any():
            continue
        view = drawn * np.exp(np.minimum(log_weights - log_weights[inside].max(), 0.0))
        view *= drawn.sum() / view.sum()
        found = np.asarray(measure(candidates, view))
        losses = item_losses(measure, candidates, found.argmax(axis=-1), view)
        error = np.clip(view @ losses / view.sum(), MIN_ERROR, MAX_ERROR)
        view_weights.append(np.log((1 - error) / error))
        log_weights += view_weights[-1] * losses
        scores.append(found)
    if not scores:
        raise ValueError("All views are empty: no item has a positive weight in any of them.")
    shares = np.array(view_weights) / np.sum(view_weights)
    return np.asarray(np.tensordot(shares, np.stack(scores), axes=1))


@set_module("ensemblage.inner")
class InnerEnsemble:
    r"""A measure that is evaluated on many views and combined (Algorithm 1).

    A learner that decides by a measure can use an inner ensemble in its place: the measure is
    evaluated on many views of the data, and the scores are combined. The inner ensemble is a
    measure again, so the learner does not change.

    Parameters
    ----------
    measure : Measure
        Called as ``measure(candidates, view)``; it has ``n_items``, the length of a view.
    sampler : callable
        Function from ``n_items`` to the views, an array of shape (n_views, n_items); for instance
        a :class:`ViewSampler`. Called once: all candidates are scored on the same views.
    combine : {"mean", "median", "vote", "boosting"} or callable, default="mean"
        How the scores of shape (n_views, ..., n_candidates) are combined over the views. With
        "boosting" the views are scored one after the other: items with a large loss on one view
        have more weight on the next. The measure then needs ``item_losses``, see :class:`Measure`.

    Attributes
    ----------
    n_items : int
        Number of items of the measure.
    views : ndarray of shape (n_views, n_items)
        Weights of the items in each view.

    Notes
    -----
    Boosting (which the paper leaves to future work) follows AdaBoost.R2 within each decision. Item
    weights :math:`d_i` start at 1. View :math:`e` with weights :math:`v_{ei}` is scored with
    :math:`w_i \propto v_{ei} d_i`, scaled to the sum of :math:`v_{ei}`. With the losses
    :math:`l_i` of its best candidate it has the error
    :math:`\epsilon_e = \sum_i w_i l_i / \sum_i w_i`, bounded to [0.01, 0.49], and the weight
    :math:`\alpha_e = \log((1 - \epsilon_e) / \epsilon_e)`. Then :math:`d_i` is multiplied by
    :math:`\exp(\alpha_e l_i)`. The combined score is
    :math:`\sum_e \alpha_e s_e / \sum_e \alpha_e`. The weights start anew at each decision, so
    the same decision always has the same scores.

    References
    ----------
    H. Abbasian, C. Drummond, N. Japkowicz, S. Matwin. Inner Ensembles: Using Ensemble Methods
    Inside the Learning Algorithm. ECML PKDD 2013.

    H. Drucker. Improving Regressors Using Boosting Techniques. ICML 1997. (AdaBoost.R2.)

    Examples
    --------
    Find the candidate nearest to the mean, by votes of samples of half of the rows.

    >>> import numpy as np
    >>> from ensemblage.inner import InnerEnsemble, ViewSampler
    >>> class Closeness:
    ...     def __init__(self, rows):
    ...         self.rows, self.n_items = rows, len(rows)
    ...     def __call__(self, candidates, view):
    ...         return -np.abs(candidates - np.average(self.rows, weights=view))
    >>> rows = np.array([1.0, 1.1, 0.9, 1.0, 1.05, 30.0])
    >>> ensemble = InnerEnsemble(Closeness(rows), ViewSampler(25, 0.5, random_state=0), "vote")
    >>> votes = ensemble(np.array([1.0, 6.0, 30.0]))
    >>> float(votes.sum())
    25.0
    """

    def __init__(
        self, measure: Measure, sampler: Callable[[int], Doubles], combine: Any = "mean"
    ) -> None:
        self.measure = measure
        self.n_items = measure.n_items
        self.combine = None if combine == BOOSTING else resolve_combine(combine, also=[BOOSTING])
        self.views = check_views(sampler(self.n_items), self.n_items)
        for each in self._measures() if self.combine is None else []:
            if not hasattr(each, "item_losses"):
                raise TypeError(
                    f"combine='boosting' needs the losses of the items, but "
                    f"{type(each).__name__} has no item_losses(candidates, best, view). Add it to "
                    "the measure, or set combine to 'mean'."
                )

    def __call__(self, candidates: Any, view: NDArray[np.float64] | None = None) -> Doubles:
        """Score the candidates by the ensemble.

        Parameters
        ----------
        candidates : object
            Passed to the measure.
        view : ndarray of shape (n_items,), default=None
            Weights by which each view is multiplied.

        Returns
        -------
        ndarray of shape (..., n_candidates)
            Combined scores.
        """
        views = self.views if view is None else self.views * view
        if self.combine is None:
            return boosted_scores(self._measures(), views, candidates)
        together = getattr(self.measure, "score_views", None)
        if together is not None:
            return self.combine(np.asarray(together(candidates, views)))
        return self.combine(np.stack([self.measure(candidates, each) for each in views]))

    def view_scores(self) -> list[Callable[[Any], Doubles]]:
        """Return one score function per view.

        Returns
        -------
        list of callable
            Functions from candidates to scores, one for each view.
        """
        pairs = zip(self._measures(), self.views, strict=True)
        return [partial(measure, view=view) for measure, view in pairs]

    def _measures(self) -> list[Any]:
        """List the measure of each view."""
        return getattr(self.measure, "measures", [self.measure] * len(self.views))


class MeasurePerView:
    """A measure with a separate measure for each view, for instance with other bins."""

    def __init__(self, measures: list[Any]) -> None:
        self.measures = measures
        self.n_items = measures[0].n_items
        self._views: list[Doubles] = []
        self._key: Doubles | None = None

    def score_views(self, candidates: Any, views: Doubles) -> Doubles:
        """Score the candidates by each measure on its view: (n_views, n_extras)."""
        if views is not self._key:  # a measure recognises its view by identity
            self._key, self._views = views, list(views)
        pairs = zip(self.measures, self._views, strict=True)
        return np.stack([measure(candidates, view) for measure, view in pairs])


class _RowScores:
    """Scores of all features on the rows of a view."""

    def __init__(self, score_func: Callable[..., Any], X: Any, y: Any) -> None:
        self.score_func, self.X, self.y = score_func, X, y
        self.n_items = X.shape[0]

    def __call__(self, candidates: Any, view: NDArray[np.float64]) -> NDArray[np.float64]:
        rows = np.repeat(np.arange(self.n_items), view.astype(np.int64))
        with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
            # a feature may be constant on a view; it scores lowest there
            warnings.simplefilter("ignore")
            found = self.score_func(safe_indexing(self.X, rows), safe_indexing(self.y, rows))
        scores = np.array(found[0] if isinstance(found, tuple) else found, dtype=np.float64)
        known = scores[~np.isnan(scores)]
        return np.where(np.isnan(scores), known.min() if len(known) else 0.0, scores)


@set_module("ensemblage.inner")
class InnerScore:
    """A score function with an inner ensemble; made by :func:`inner_score`.

    Parameters
    ----------
    score_func : callable
        Function from (X, y) to scores, or to scores and p-values.
    sampler : ViewSampler
        Draws the views of the rows.
    combine : str or callable
        How the views' scores are combined.
    """

    def __init__(self, score_func: Callable[..., Any], sampler: ViewSampler, combine: Any) -> None:
        self.score_func = score_func
        self.sampler = sampler
        self.combine = combine

    def __repr__(self) -> str:
        name = getattr(self.score_func, "__name__", repr(self.score_func))
        return f"inner_score({name}, n_views={self.sampler.n_views})"

    def __call__(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Score each feature.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Target.

        Returns
        -------
        ndarray of shape (n_features,)
            Combined scores.
        """
        measure = _RowScores(self.score_func, X, y)
        return InnerEnsemble(measure, self.sampler, self.combine)(None)


def inner_score(
    score_func: Callable[..., Any],
    n_views: int = 30,
    *,
    view_size: float = 0.5,
    replace: bool = False,
    combine: Any = "mean",
    random_state: Any = 0,
) -> InnerScore:
    """Turn a score function of scikit-learn's feature selection into an inner ensemble.

    The scores of the features are computed on many samples of the rows and combined, so that the
    selection depends less on single rows. There are no p-values: use it with selectors that need
    scores only, such as ``SelectKBest`` and ``SelectPercentile``.

    Parameters
    ----------
    score_func : callable
        Function from (X, y) to scores, or to scores and p-values, such as ``f_classif`` or
        ``mutual_info_classif``.
    n_views : int, default=30
        Number of views.
    view_size : float or int, default=0.5
        Share (float) or number (int) of rows in each view.
    replace : bool, default=False
        Sample with replacement.
    combine : {"mean", "median", "vote"} or callable, default="mean"
        How the views' scores are combined; "vote" counts the views in which a feature has the
        highest score.
    random_state : int, RandomState instance or None, default=0
        Controls the views; seeds are drawn once, so that each call uses the same views.

    Returns
    -------
    InnerScore
        A score function.

    See Also
    --------
    InnerEnsemble : Inner ensembles of any measure.

    References
    ----------
    H. Abbasian, C. Drummond, N. Japkowicz, S. Matwin. Inner Ensembles: Using Ensemble Methods
    Inside the Learning Algorithm. ECML PKDD 2013. It names feature selection as future work.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.feature_selection import SelectKBest, f_classif
    >>> from ensemblage.inner import inner_score
    >>> X, y = load_wine(return_X_y=True)
    >>> SelectKBest(inner_score(f_classif), k=4).fit_transform(X, y).shape
    (178, 4)
    """
    if not callable(score_func):
        raise TypeError(
            f"score_func must be a function of (X, y) such as f_classif, got {score_func!r}."
        )
    resolve_combine(combine)
    return InnerScore(
        score_func,
        ViewSampler(n_views, view_size, replace=replace, random_state=random_state),
        combine,
    )
