"""Feature views for one pass of Inner K-means."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Crowd(NamedTuple):
    r"""How the voters of a pass look at the features.

    Attributes
    ----------
    n_views : int
        Voters per row, the paper's :math:`E`.
    n_draws : int
        Features that each voter draws, :math:`s = \max(1, \mathrm{round}(S d))`.
    replace : bool
        Whether a voter may draw a feature twice.
    seed : int
        Seed of the pass.
    views : ndarray of shape (n_views, n_features) or None
        Feature weights that all rows share; None if each row has views of its own.
    """

    n_views: int
    n_draws: int
    replace: bool
    seed: int
    views: NDArray[np.float64] | None


def draw_feature_views(
    n_features: int, n_views: int, n_draws: int, replace: bool, seed: int
) -> NDArray[np.float64]:
    """Draw all views of a pass at once.

    A pass over a few hundred rows takes less time than seeding one generator per view, so
    one generator draws them all.

    Parameters
    ----------
    n_features : int
        Features to draw from.
    n_views : int
        Number of views.
    n_draws : int
        Features per view.
    replace : bool
        Whether a view may draw a feature twice.
    seed : int
        Seed of the pass.

    Returns
    -------
    ndarray of shape (n_views, n_features)
        How often each view drew each feature.
    """
    rng = np.random.default_rng(seed)
    if replace:
        chosen = rng.integers(n_features, size=(n_views, n_draws))
    else:
        chosen = rng.random((n_views, n_features)).argsort(axis=1)[:, :n_draws]
    places = chosen + n_features * np.arange(n_views)[:, None]
    counts = np.bincount(places.ravel(), minlength=n_views * n_features)
    return counts.reshape(n_views, n_features).astype(np.float64)


def shared_crowd(n_features: int, n_views: int, n_draws: int, replace: bool, seed: int) -> Crowd:
    """Make a crowd whose views all rows share.

    Parameters
    ----------
    n_features, n_views, n_draws : int
        As for :func:`draw_feature_views`.
    replace : bool
        Whether a view may draw a feature twice.
    seed : int
        Seed of the pass.

    Returns
    -------
    Crowd
        With its views drawn.
    """
    views = draw_feature_views(n_features, n_views, n_draws, replace, seed)
    return Crowd(n_views, n_draws, replace, seed, views)


def identity_crowd(n_features: int) -> Crowd:
    """Make the crowd of one voter who sees every feature once: plain K-means.

    Parameters
    ----------
    n_features : int
        Number of features.

    Returns
    -------
    Crowd
        With a single view of ones.
    """
    return Crowd(1, n_features, False, 0, np.ones((1, n_features)))
