"""Generated classes of which a few features tell, and in which way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

Array: TypeAlias = NDArray[np.float64]

# Half of a normal variable's values are nearer to zero than this.
HALF = 0.6744897501960817


class HiddenFeatures(NamedTuple):
    """Rows, and which of their columns tell the class.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features, normal, in random order.
    y : ndarray of shape (n_samples,)
        Classes 0 and 1.
    relevant : ndarray of bool of shape (n_features,)
        The features to be found.
    """

    X: Array
    y: NDArray[np.int_]
    relevant: NDArray[np.bool_]


def _linear(X: Array, _rng: np.random.RandomState) -> NDArray[np.bool_]:
    return np.asarray(X[:, :3].sum(axis=1) > 0)


def _proxies(X: Array, rng: np.random.RandomState) -> NDArray[np.bool_]:
    noise = rng.normal(size=(len(X), 6))
    X[:, 3:9] = 0.9 * np.tile(X[:, :3], 2) + np.sqrt(1 - 0.9**2) * noise
    return np.asarray(X[:, :3].sum(axis=1) > 0)


def _copies(X: Array, rng: np.random.RandomState) -> NDArray[np.bool_]:
    told = X[:, 0] > 0
    X[:, :3] = X[:, :1] + 0.05 * rng.normal(size=(len(X), 3))
    return np.asarray(told)


def _xor(X: Array, _rng: np.random.RandomState) -> NDArray[np.bool_]:
    return np.asarray(X[:, 0] * X[:, 1] > 0)


def _band(X: Array, _rng: np.random.RandomState) -> NDArray[np.bool_]:
    return np.asarray((np.abs(X[:, :3]) < HALF).sum(axis=1) >= 2)


class _Kind(NamedTuple):
    n_relevant: int
    label: Callable[[Array, np.random.RandomState], NDArray[np.bool_]]


KINDS = {
    "linear": _Kind(3, _linear),
    "proxies": _Kind(3, _proxies),
    "copies": _Kind(3, _copies),
    "xor": _Kind(2, _xor),
    "band": _Kind(3, _band),
}


def make_hidden_features(
    kind: str = "linear",
    n_samples: int = 200,
    *,
    n_features: int = 30,
    flips: float = 0.1,
    random_state: Any = None,
) -> HiddenFeatures:
    """Classes that two or three of many features tell, to try feature selection on.

    Parameters
    ----------
    kind : {"linear", "proxies", "copies", "xor", "band"}, default="linear"
        "linear": the class is the sign of the sum of three features. "proxies": so it is, and each
        of the three has two proxies of correlation 0.9. "copies": the sign of one feature, of
        which there are three slightly noisy copies. "xor": the sign of a product of two. "band":
        whether two of three features or more are among the half of their values that is nearest
        to zero.
    n_samples : int, default=200
        Rows.
    n_features : int, default=30
        Columns, at least nine.
    flips : float, default=0.1
        Share of the labels that are wrong, by lot.
    random_state : int, RandomState instance or None, default=None
        Draws features, flips and the order of the columns.

    Returns
    -------
    HiddenFeatures
        Rows, classes, and a mask of the relevant features.

    Examples
    --------
    >>> from ensemblage.datasets import make_hidden_features
    >>> X, y, relevant = make_hidden_features("xor", 100, random_state=0)
    >>> X.shape, int(relevant.sum())
    ((100, 30), 2)
    """
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r}; expected one of {', '.join(map(repr, KINDS))}.")
    for name, value, least in (("n_samples", n_samples, 1), ("n_features", n_features, 9)):
        if value < least or int(value) != value:
            raise ValueError(f"{name}={value!r}; expected a whole number of at least {least}.")
    if not 0 <= flips <= 1:
        raise ValueError(f"flips={flips!r}; expected a share from 0 to 1.")
    rng = check_random_state(random_state)
    X = rng.normal(size=(n_samples, n_features))
    y = KINDS[kind].label(X, rng) ^ (rng.uniform(size=n_samples) < flips)
    relevant = np.arange(n_features) < KINDS[kind].n_relevant
    order = rng.permutation(n_features)
    return HiddenFeatures(X[:, order], y.astype(int), relevant[order])
