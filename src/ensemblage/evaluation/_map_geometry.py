"""Where rows, strata and their numbers stand on a map of two dimensions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

Array = NDArray[np.float64]

NO_STRATUM = -1


class Projection(NamedTuple):
    """Rows on the map, (n_samples, 2), and what its axes show."""

    points: Array
    axis_names: tuple[str, str]


class Outlines(NamedTuple):
    """Centres, (n_strata, 2), and covariances, (n_strata, 2, 2), of strata on the map."""

    centres: Array
    covariances: Array


def project(rows: Array, names: NDArray[np.str_] | None) -> Projection:
    """Two columns as they are, of more columns the two main components."""
    if rows.shape[1] == 2:
        first, second = ("column 0", "column 1") if names is None else map(str, names)
        return Projection(rows, (first, second))
    pca = PCA(2, svd_solver="full").fit(rows)
    first, second = (
        f"component {k + 1} ({share:.0%} of the variance)"
        for k, share in enumerate(np.nan_to_num(pca.explained_variance_ratio_))
    )
    return Projection(pca.transform(rows), (first, second))


def strongest_stratum(memberships: Array, affinity: Array | None) -> NDArray[np.intp]:
    """Find each row's strongest stratum, of equals the one it is closest to, or ``NO_STRATUM``."""
    best = memberships.max(axis=1, keepdims=True)
    leading = memberships >= best - 1e-9
    closeness = np.zeros_like(memberships) if affinity is None else affinity
    winners = np.where(leading, closeness, -np.inf).argmax(axis=1)
    return np.where(best[:, 0] > 0, winners, NO_STRATUM)


def outline_strata(points: Array, memberships: Array) -> Outlines:
    """Place and spread of the strata's rows, weighted by membership."""
    sizes = np.maximum(memberships.sum(axis=0), np.finfo(float).tiny)
    centres = memberships.T @ points / sizes[:, None]
    covariances = np.empty((len(sizes), 2, 2))
    for j, centre in enumerate(centres):
        offsets = points - centre
        covariances[j] = (memberships[:, j, None] * offsets).T @ offsets / sizes[j]
    return Outlines(centres, covariances)


def push_apart(places: Array, gap: float) -> Array:
    """Move places that are closer than ``gap``, as little as fifty small steps do."""
    places = places.copy()
    # equal places need a direction to part in
    angles = 2 * np.pi * np.arange(len(places)) / max(len(places), 1)
    places += 1e-3 * gap * np.column_stack([np.cos(angles), np.sin(angles)])
    for _ in range(50):
        between = places[:, None] - places
        distance = np.linalg.norm(between, axis=2) + np.eye(len(places))
        push = np.maximum(gap - distance, 0) / distance
        places += 0.5 * (push[:, :, None] * between).sum(axis=1)
    return places
