"""Generated data with known truth."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ensemblage._core import Interval, StrOptions, validate_params
from ensemblage.evaluation import CLASSIFICATION, REGRESSION

Doubles = NDArray[np.float64]

# Half of a normal variable's values are nearer to zero than this.
HALF = 0.6744897501960817
# By kind: the number of relevant features.
KINDS = {"linear": 3, "proxies": 3, "copies": 3, "xor": 2, "band": 3}


def _labels(kind: str, X: Doubles, rng: np.random.RandomState) -> NDArray[np.bool_]:
    """Make labels of the first features; proxies or copies of these are written into ``X``."""
    if kind == "xor":
        labels = X[:, 0] * X[:, 1] > 0
    elif kind == "band":
        labels = (np.abs(X[:, :3]) < HALF).sum(axis=1) >= 2
    elif kind == "copies":
        labels = X[:, 0] > 0
        X[:, :3] = X[:, :1] + 0.05 * rng.normal(size=(len(X), 3))
    else:
        if kind == "proxies":
            noise = rng.normal(size=(len(X), 6))
            X[:, 3:9] = 0.9 * np.tile(X[:, :3], 2) + np.sqrt(1 - 0.9**2) * noise
        labels = X[:, :3].sum(axis=1) > 0
    return np.asarray(labels)


def make_hidden_features(
    kind: str = "linear",
    n_samples: int = 200,
    *,
    n_features: int = 30,
    flips: float = 0.1,
    random_state: Any = None,
) -> tuple[Doubles, NDArray[np.int_], NDArray[np.bool_]]:
    """Generate classes that depend on two or three of many features.

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
    X : ndarray of shape (n_samples, n_features)
        Features, normal, in random order.
    y : ndarray of shape (n_samples,)
        Classes 0 and 1.
    relevant : ndarray of bool of shape (n_features,)
        The features to be found.

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
    y = _labels(kind, X, rng) ^ (rng.uniform(size=n_samples) < flips)
    relevant = np.arange(n_features) < KINDS[kind]
    order = rng.permutation(n_features)
    return X[:, order], y.astype(int), relevant[order]


def _points(n_samples: int, inside: bool, random_state: np.random.RandomState) -> Doubles:
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
) -> tuple[Doubles, NDArray[np.int_]]:
    r"""Generate points of the unit square in two classes, separated by the unit circle.

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


def _rows_per_source(n_samples: Any, n_sources: int) -> NDArray[np.int_]:
    """Share the rows out evenly, the first sources one more, or take the numbers given."""
    if isinstance(n_samples, Integral):
        each, left = divmod(int(n_samples), n_sources)
        return np.full(n_sources, each) + (np.arange(n_sources) < left)
    counts = np.asarray(n_samples)
    if counts.shape != (n_sources,) or counts.dtype.kind not in "iu" or (counts < 0).any():
        raise ValueError(
            f"n_samples={n_samples!r} must be a number, or one whole number per source; "
            f"n_sources={n_sources}."
        )
    return counts


def _noise_levels(noise: Any, n_sources: int, rng: np.random.RandomState) -> Doubles:
    """Draw each source's level up to a number, or take the levels given."""
    drawn = rng.uniform(size=n_sources)
    if isinstance(noise, Real):
        return float(noise) * drawn
    levels = np.asarray(noise, dtype=float)
    if levels.shape != (n_sources,) or not (levels >= 0).all() or not np.isfinite(levels).all():
        raise ValueError(
            f"noise={noise!r} must be a number, or one number of at least 0 per source; "
            f"n_sources={n_sources}."
        )
    return levels


def _unit_columns(matrix: Doubles) -> Doubles:
    return np.asarray(matrix / np.linalg.norm(matrix, axis=-2, keepdims=True))


@validate_params(
    {
        "n_sources": [Interval(Integral, 1, None, closed="left")],
        "n_samples": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "task": [StrOptions({CLASSIFICATION.name, REGRESSION.name})],
        "n_classes": [Interval(Integral, 2, None, closed="left")],
        "separation": [Interval(Real, 0, None, closed="left")],
        "agreement": [Interval(Real, 0, 1, closed="both")],
        "level": [Interval(Real, 0, None, closed="left")],
        "noise": [Interval(Real, 0, None, closed="left"), "array-like"],
        "shuffle": ["boolean"],
        "return_sources": ["boolean"],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_multi_source(
    n_sources: int = 4,
    n_samples: Any = 2000,
    n_features: int = 10,
    *,
    task: str = "classification",
    n_classes: int = 2,
    separation: float = 3.0,
    agreement: float = 0.0,
    level: float = 1.0,
    noise: Any = 0.2,
    shuffle: bool = True,
    return_sources: bool = False,
    random_state: Any = None,
) -> Any:
    r"""Generate rows from several sources, each with its own linear rule for the target.

    Within a source a linear model is right; across the sources no single one is.

    Parameters
    ----------
    n_sources : int, default=4
        Number of sources.
    n_samples : int or array-like of int of shape (n_sources,), default=2000
        Number of rows, shared out evenly, or the number from each source.
    n_features : int, default=10
        Number of columns.
    task : {"classification", "regression"}, default="classification"
        Whether the target is a class or a number.
    n_classes : int, default=2
        Number of classes; ignored for regression.
    separation : float, default=3.0
        Standard deviation of the sources' centres, where rows vary around theirs with one.
    agreement : float, default=0.0
        Share of the rule that all sources have in common: at 0 each source has a rule of its
        own, at 1 they all have the same around their own centre.
    level : float, default=1.0
        Standard deviation of the sources' mean targets in a regression, where that of the rule is
        one; ignored for classification.
    noise : float or array-like of shape (n_sources,), default=0.2
        Standard deviation of what is added to the rule, before it decides between classes. A
        number is the largest that a source may have, and each draws its own; an array gives them.
    shuffle : bool, default=True
        Mix the rows; otherwise they stand source by source.
    return_sources : bool, default=False
        Also return the source of each row.
    random_state : int, RandomState instance or None, default=None
        For everything drawn.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Rows.
    y : ndarray of shape (n_samples,)
        Classes, 0 to ``n_classes - 1``, or numbers.
    sources : ndarray of shape (n_samples,)
        Sources, 0 to ``n_sources - 1``; only with ``return_sources=True``.

    Notes
    -----
    Source :math:`s` has a centre :math:`m_s \sim N(0, \text{separation}^2 I)`, a unit vector
    :math:`w_{sc}` per class and a noise level :math:`\sigma_s`. A row of it is

    .. math:: x = m_s + z, \quad z \sim N(0, I), \qquad
        y = \arg\max_c \; w_{sc} \cdot z + \sigma_s \varepsilon_c .

    In a regression there is one vector :math:`w_s` and a level
    :math:`b_s \sim N(0, \text{level}^2)`:

    .. math:: y = b_s + w_s \cdot z + \sigma_s \varepsilon .

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from ensemblage.datasets import make_multi_source
    >>> X, y, sources = make_multi_source(random_state=0, return_sources=True)
    >>> X.shape
    (2000, 10)
    >>> bool(LogisticRegression().fit(X, y).score(X, y) < 0.75)
    True
    >>> first = sources == 0
    >>> bool(LogisticRegression().fit(X[first], y[first]).score(X[first], y[first]) > 0.9)
    True
    """
    rng = check_random_state(random_state)
    sources = np.repeat(np.arange(n_sources), _rows_per_source(n_samples, n_sources))
    centres = separation * rng.standard_normal((n_sources, n_features))
    n_rules = 1 if task == REGRESSION.name else n_classes
    common = _unit_columns(rng.standard_normal((n_features, n_rules)))
    own = _unit_columns(rng.standard_normal((n_sources, n_features, n_rules)))
    # (n_sources, n_features, n_rules), each of unit length
    rules = _unit_columns(np.sqrt(agreement) * common + np.sqrt(1 - agreement) * own)
    if task == REGRESSION.name:
        levels, noises = (
            level * rng.standard_normal(n_sources),
            _noise_levels(noise, n_sources, rng),
        )
        offsets = rng.standard_normal((len(sources), n_features))
        y = levels[sources] + (offsets * rules[sources, :, 0]).sum(axis=1)
        y += noises[sources] * rng.standard_normal(len(sources))
    else:
        noises = _noise_levels(noise, n_sources, rng)
        offsets = rng.standard_normal((len(sources), n_features))
        scores = noises[sources, None] * rng.standard_normal((len(sources), n_classes))
        for source, rule in enumerate(rules):
            scores[sources == source] += offsets[sources == source] @ rule
        y = scores.argmax(axis=1)
    X = centres[sources] + offsets
    if shuffle:
        order = rng.permutation(len(sources))
        X, y, sources = X[order], y[order], sources[order]
    return (X, y, sources) if return_sources else (X, y)
