"""Views of the data: which rows, or which features, each voice of the crowd looks at."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels import Draws
from ensemblage.parallel import draw_seeds


def count_drawn(n_items: int, view_size: Any) -> int:
    """Draws that make one view: a share (float) of the items, at least one, or a count (int)."""
    if isinstance(view_size, Integral):
        return int(view_size)
    return max(1, round(float(view_size) * n_items))


def check_view_size(n_items: int, view_size: Any, replace: bool) -> int:
    """Give the number of draws per view, or say why there can be no such view."""
    if isinstance(view_size, bool) or not isinstance(view_size, Real) or view_size <= 0:
        raise ValueError(
            f"view_size must be a share (float) or a count (int) above zero, got {view_size!r}. "
            "Try 0.3 for three tenths of the items."
        )
    drawn = count_drawn(n_items, view_size)
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
    """How often each view of a pass of K-means drew each feature: (n_views, n_features).

    A pass over a few hundred rows takes less time than seeding one generator per view, so
    one generator draws them all.
    """
    rng = np.random.default_rng(draws.seed)
    if draws.replace:
        chosen = rng.integers(n_features, size=(draws.n_views, draws.n_draws))
    else:
        chosen = rng.random((draws.n_views, n_features)).argsort(axis=1)[:, : draws.n_draws]
    places = chosen + n_features * np.arange(draws.n_views)[:, None]
    counts = np.bincount(places.ravel(), minlength=draws.n_views * n_features)
    return counts.reshape(draws.n_views, n_features).astype(np.float64)


class ViewSampler:
    """Draws the same views of rows or features each time it is asked.

    Parameters
    ----------
    n_views : int, default=30
        Size of the crowd; the paper's :math:`E`.
    view_size : float or int, default=0.3
        Share (float) or number (int) of items in each view; the paper's :math:`S`.
    replace : bool, default=False
        Draw with replacement; an item drawn twice weighs two.
    random_state : int, RandomState instance or None, default=None
        Where the views' seeds come from. They are drawn here, once.

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
        replace: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_views = n_views
        self.view_size = view_size
        self.replace = replace
        self.seeds = draw_seeds(random_state, n_views)

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
