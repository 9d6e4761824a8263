"""Feature selection by a crowd: inner ensembles for any score function."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from ensemblage.inner._inner_ensemble import InnerEnsemble, ViewSampler, resolve_combine


class _RowScores:
    """Scores of all features on the rows of a view."""

    def __init__(self, score_func: Callable[..., Any], X: Any, y: Any) -> None:
        self.score_func, self.X, self.y = score_func, X, y
        self.n_items = X.shape[0]

    def __call__(self, candidates: Any, view: NDArray[np.float64]) -> NDArray[np.float64]:
        rows = np.repeat(np.arange(self.n_items), view.astype(np.int64))
        with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
            # a feature may be constant on a view; it says nothing there, and scores lowest
            warnings.simplefilter("ignore")
            found = self.score_func(_safe_indexing(self.X, rows), _safe_indexing(self.y, rows))
        scores = np.array(found[0] if isinstance(found, tuple) else found, dtype=np.float64)
        known = scores[~np.isnan(scores)]
        return np.where(np.isnan(scores), known.min() if len(known) else 0.0, scores)


class InnerScore:
    """A score function whose scores are a crowd's; made by :func:`inner_score`.

    Parameters
    ----------
    score_func : callable
        From (X, y) to scores, or to scores and p-values.
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
        crowd = InnerEnsemble(_RowScores(self.score_func, X, y), self.sampler, self.combine)
        return crowd(None)


def inner_score(
    score_func: Callable[..., Any],
    n_views: int = 30,
    view_size: float = 0.5,
    replace: bool = False,
    combine: Any = "mean",
    random_state: Any = 0,
) -> InnerScore:
    """Turn a score function of scikit-learn's feature selection into the crowd's.

    The features' scores are computed on many samples of the rows and combined; the selection
    then depends less on a few rows. There are no p-values: use it with selectors that need
    scores only, such as ``SelectKBest`` and ``SelectPercentile``.

    Parameters
    ----------
    score_func : callable
        Such as ``f_classif`` or ``mutual_info_classif``: from (X, y) to scores, or to scores
        and p-values.
    n_views : int, default=30
        Size of the crowd.
    view_size : float or int, default=0.5
        Share (float) or number (int) of rows in each view.
    replace : bool, default=False
        Sample with replacement.
    combine : {"mean", "median", "vote"} or callable, default="mean"
        How the views' scores become one; "vote" counts how often a feature came first.
    random_state : int, RandomState instance or None, default=0
        For the views; drawn here, so that each call uses the same seeds.

    Returns
    -------
    InnerScore
        A score function.

    See Also
    --------
    InnerEnsemble : The building block.

    References
    ----------
    H. Abbasian, C. Drummond, N. Japkowicz, S. Matwin. Inner Ensembles: Using Ensemble Methods
    Inside the Learning Algorithm. ECML PKDD 2013. Feature selection is its future work.

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
    return InnerScore(score_func, ViewSampler(n_views, view_size, replace, random_state), combine)
