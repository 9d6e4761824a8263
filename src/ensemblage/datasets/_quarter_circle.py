"""Two classes inside and outside a quarter circle (joint feature subsets, eq. 11)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

Array = NDArray[np.float64]


def _points(n_samples: int, inside: bool, random_state: np.random.RandomState) -> Array:
    """Uniform points of the unit square on one side of the circle."""
    kept = np.empty((0, 2))
    while len(kept) < n_samples:
        drawn = random_state.uniform(size=(2 * n_samples + 8, 2))
        kept = np.concatenate([kept, drawn[((drawn**2).sum(axis=1) < 1) == inside]])
    return kept[:n_samples]


def make_quarter_circle(
    n_samples_per_class: int = 100,
    *,
    n_dummies: int = 0,
    shuffle: bool = True,
    random_state: Any = None,
) -> tuple[Array, NDArray[np.int_]]:
    r"""Points of the unit square, told apart by the unit circle.

    Parameters
    ----------
    n_samples_per_class : int, default=100
        Rows per class.
    n_dummies : int, default=0
        Features after the first two that are uniform on (0, 1) and mean nothing.
    shuffle : bool, default=True
        Whether to mix the rows of the classes.
    random_state : int, RandomState instance or None, default=None
        Draws the points.

    Returns
    -------
    X : ndarray of shape (2 * n_samples_per_class, 2 + n_dummies)
        Features.
    y : ndarray of shape (2 * n_samples_per_class,)
        0 where :math:`x_1^2 + x_2^2 < 1`, else 1.

    References
    ----------
    R. Gupta, K. Audhkhasi and S. Narayanan, "Training Ensemble of Diverse Classifiers on Feature
    Subsets".

    Examples
    --------
    >>> X, y = make_quarter_circle(50, n_dummies=6, random_state=0)
    >>> X.shape
    (100, 8)
    >>> bool((((X[:, :2] ** 2).sum(axis=1) >= 1) == y).all())
    True
    """
    for name, value, least in (
        ("n_samples_per_class", n_samples_per_class, 1), ("n_dummies", n_dummies, 0)
    ):  # fmt: skip
        if value < least or int(value) != value:
            raise ValueError(f"{name}={value!r}; expected a whole number of at least {least}.")
    random_state = check_random_state(random_state)
    sides = [_points(n_samples_per_class, inside, random_state) for inside in (True, False)]
    y = np.repeat([0, 1], n_samples_per_class)
    X = np.hstack([np.concatenate(sides), random_state.uniform(size=(len(y), n_dummies))])
    if shuffle:
        order = random_state.permutation(len(y))
        return X[order], y[order]
    return X, y
