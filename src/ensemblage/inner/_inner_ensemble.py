"""The paper's Algorithm 1: a measure inside an algorithm becomes the crowd's measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]


class Measure(Protocol):
    """What a decision inside a learner is based on.

    Attributes
    ----------
    n_items : int
        Number of rows, or of features, that a view weighs.

    Notes
    -----
    A measure that can score many views faster together than one by one also has
    ``score_views(candidates, views)``, of shape (n_views, ..., n_candidates).
    """

    n_items: int

    def __call__(self, candidates: Any, view: NDArray[np.float64]) -> Scores:
        """Score the candidates on one view; more is better.

        Parameters
        ----------
        candidates : object
            What the learner chooses from.
        view : ndarray of shape (n_items,)
            Weight of each row or feature.

        Returns
        -------
        ndarray of shape (..., n_candidates)
            Scores.
        """
        ...  # pragma: no cover


def mean_of_views(scores: Scores) -> Scores:
    """Average the views' scores, views first (Algorithm 4, line 8)."""
    return np.asarray(scores.mean(axis=0))


def votes_of_views(scores: Scores) -> Scores:
    """Count the views that score each candidate highest (Algorithm 6, lines 6 to 10).

    Of equal candidates the first has the vote.
    """
    best = scores.argmax(axis=-1)
    return np.asarray((best[..., None] == np.arange(scores.shape[-1])).sum(axis=0), dtype=float)


def median_of_views(scores: Scores) -> Scores:
    """Take the median of the views' scores."""
    return np.asarray(np.median(scores, axis=0))


COMBINATIONS: dict[str, Callable[[Scores], Scores]] = {
    "mean": mean_of_views,
    "median": median_of_views,
    "vote": votes_of_views,
}


def resolve_combine(combine: Any) -> Callable[[Scores], Scores]:
    """Find the combination rule that the user named, or take the user's own."""
    if callable(combine):
        rule: Callable[[Scores], Scores] = combine
        return rule
    if combine not in COMBINATIONS:
        raise ValueError(
            f"combine must be one of {sorted(COMBINATIONS)} or a function of the scores' array "
            f"(views on the first axis), got {combine!r}."
        )
    return COMBINATIONS[combine]


class InnerEnsemble:
    """A measure taken by a crowd of views instead of once (Algorithm 1).

    Locate the measure that a decision inside a learner is based on, let each of many views
    of the data answer, combine the answers, and let the learner decide on the result. The
    inner ensemble is a measure again, so the learner's loop cannot tell the difference.

    Parameters
    ----------
    measure : Measure
        Called as ``measure(candidates, view)``; it tells ``n_items``, what a view weighs.
    sampler : callable
        From ``n_items`` to the views, an array of shape (n_views, n_items); for instance
        a :class:`ViewSampler`. Called once: all candidates are judged by the same views.
    combine : {"mean", "median", "vote"} or callable, default="mean"
        How the scores of shape (n_views, ..., n_candidates) become one per candidate.

    Attributes
    ----------
    n_items : int
        As the measure's.
    views : ndarray of shape (n_views, n_items)
        The crowd's weights.

    References
    ----------
    H. Abbasian, C. Drummond, N. Japkowicz, S. Matwin. Inner Ensembles: Using Ensemble Methods
    Inside the Learning Algorithm. ECML PKDD 2013.

    Examples
    --------
    Which of three prices is nearest to the typical row, as a crowd of half samples sees it?

    >>> import numpy as np
    >>> from ensemblage.inner import InnerEnsemble, ViewSampler
    >>> class Nearness:
    ...     def __init__(self, rows):
    ...         self.rows, self.n_items = rows, len(rows)
    ...     def __call__(self, candidates, view):
    ...         return -np.abs(candidates - np.average(self.rows, weights=view))
    >>> rows = np.array([1.0, 1.1, 0.9, 1.0, 1.05, 30.0])
    >>> crowd = InnerEnsemble(Nearness(rows), ViewSampler(25, 0.5, random_state=0), "vote")
    >>> votes = crowd(np.array([1.0, 6.0, 30.0]))
    >>> float(votes.sum())
    25.0
    """

    def __init__(
        self, measure: Measure, sampler: Callable[[int], Scores], combine: Any = "mean"
    ) -> None:
        self.measure = measure
        self.n_items = measure.n_items
        self.combine = resolve_combine(combine)
        self.views = sampler(self.n_items)

    def __call__(self, candidates: Any, view: NDArray[np.float64] | None = None) -> Scores:
        """Score the candidates by the crowd.

        Parameters
        ----------
        candidates : object
            Handed on to the measure.
        view : ndarray of shape (n_items,), default=None
            Weights that each of the crowd's views is multiplied with.

        Returns
        -------
        ndarray of shape (..., n_candidates)
            The crowd's scores.
        """
        views = self.views if view is None else self.views * view
        return self.combine(self._score_views(candidates, views))

    def _score_views(self, candidates: Any, views: NDArray[np.float64]) -> Scores:
        together = getattr(self.measure, "score_views", None)
        if together is not None:
            return np.asarray(together(candidates, views))
        return np.stack([self.measure(candidates, view) for view in views])
