"""Generated datasets with known structure."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ensemblage._core import Interval, StrOptions, validate_params
from ensemblage.evaluation import CLASSIFICATION, REGRESSION

Doubles = NDArray[np.float64]

# Upper quartile of the standard normal distribution: half of the values are closer to zero.
NORMAL_QUARTILE = 0.6744897501960817
# Number of relevant features by kind.
KINDS = {"linear": 3, "proxies": 3, "copies": 3, "xor": 2, "band": 3}


def _labels(kind: str, X: Doubles, rng: np.random.RandomState) -> NDArray[np.bool_]:
    """Make labels from the first features; proxies or copies of these are written into ``X``."""
    if kind == "xor":
        labels = X[:, 0] * X[:, 1] > 0
    elif kind == "band":
        labels = (np.abs(X[:, :3]) < NORMAL_QUARTILE).sum(axis=1) >= 2
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
    flip_y: float = 0.1,
    random_state: Any = None,
) -> tuple[Doubles, NDArray[np.int_], NDArray[np.bool_]]:
    """Generate a classification problem with two or three relevant features among many.

    Parameters
    ----------
    kind : {"linear", "proxies", "copies", "xor", "band"}, default="linear"
        "linear": the class is the sign of the sum of three features. "proxies": the same, and each
        of the three has two proxies of correlation 0.9. "copies": the sign of one feature, of
        which there are three slightly noisy copies. "xor": the sign of a product of two features.
        "band": whether at least two of three features are between their quartiles.
    n_samples : int, default=200
        Number of samples.
    n_features : int, default=30
        Number of features, at least nine.
    flip_y : float, default=0.1
        Fraction of the labels that are flipped at random.
    random_state : int, RandomState instance or None, default=None
        Determines features, flipped labels and the order of the columns.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Normally distributed features, in random order.
    y : ndarray of shape (n_samples,)
        Classes 0 and 1.
    relevant : ndarray of bool of shape (n_features,)
        Mask of the relevant features.

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
            raise ValueError(f"{name}={value!r}; expected an integer of at least {least}.")
    if not 0 <= flip_y <= 1:
        raise ValueError(f"flip_y={flip_y!r}; expected a fraction from 0 to 1.")
    rng = check_random_state(random_state)
    X = rng.normal(size=(n_samples, n_features))
    y = _labels(kind, X, rng) ^ (rng.uniform(size=n_samples) < flip_y)
    relevant = np.arange(n_features) < KINDS[kind]
    order = rng.permutation(n_features)
    return X[:, order], y.astype(int), relevant[order]


def _points(n_samples: int, inside: bool, random_state: np.random.RandomState) -> Doubles:
    """Uniform points of the unit square inside or outside the unit circle."""
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
        Number of samples per class.
    n_dummies : int, default=0
        Number of irrelevant features, uniform on (0, 1), after the first two.
    shuffle : bool, default=True
        Whether to shuffle the samples.
    random_state : int, RandomState instance or None, default=None
        Determines the points.

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
            raise ValueError(f"{name}={value!r}; expected an integer of at least {least}.")
    random_state = check_random_state(random_state)
    sides = [_points(n_samples_per_class, inside, random_state) for inside in (True, False)]
    y = np.repeat([0, 1], n_samples_per_class)
    X = np.hstack([np.concatenate(sides), random_state.uniform(size=(len(y), n_dummies))])
    if shuffle:
        order = random_state.permutation(len(y))
        return X[order], y[order]
    return X, y


def _rows_per_source(n_samples: Any, n_sources: int) -> NDArray[np.int_]:
    """Divide the rows evenly, the first sources having one more, or use the given counts."""
    if isinstance(n_samples, Integral):
        each, left = divmod(int(n_samples), n_sources)
        return np.full(n_sources, each) + (np.arange(n_sources) < left)
    counts = np.asarray(n_samples)
    if counts.shape != (n_sources,) or counts.dtype.kind not in "iu" or (counts < 0).any():
        raise ValueError(
            f"n_samples={n_samples!r}; expected an integer, or one integer per source with "
            f"n_sources={n_sources}."
        )
    return counts


def _noise_levels(noise: Any, n_sources: int, rng: np.random.RandomState) -> Doubles:
    """Draw each source's noise level, or use the given levels."""
    drawn = rng.uniform(size=n_sources)
    if isinstance(noise, Real):
        return float(noise) * drawn
    levels = np.asarray(noise, dtype=float)
    if levels.shape != (n_sources,) or not (levels >= 0).all() or not np.isfinite(levels).all():
        raise ValueError(
            f"noise={noise!r}; expected a number, or one number of at least 0 per source with "
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
    r"""Generate data from several sources, each with its own linear model.

    Within a source a linear model is correct; no single linear model is correct for all sources.

    Parameters
    ----------
    n_sources : int, default=4
        Number of sources.
    n_samples : int or array-like of int of shape (n_sources,), default=2000
        Total number of samples, divided evenly, or the number per source.
    n_features : int, default=10
        Number of features.
    task : {"classification", "regression"}, default="classification"
        The task.
    n_classes : int, default=2
        Number of classes; ignored for regression.
    separation : float, default=3.0
        Standard deviation of the sources' centres; within a source it is one.
    agreement : float, default=0.0
        Weight of the coefficients that all sources share: at 0 each source has its own, at 1 all
        have the same.
    level : float, default=1.0
        Standard deviation of the sources' intercepts in a regression, where that of the linear
        predictor is one; ignored for classification.
    noise : float or array-like of shape (n_sources,), default=0.2
        Standard deviation of the noise added to the linear predictor. Each source's is drawn
        uniformly from 0 to ``noise``, or given by an array.
    shuffle : bool, default=True
        Whether to shuffle the rows; otherwise they are ordered by source.
    return_sources : bool, default=False
        Whether to return the source of each row.
    random_state : int, RandomState instance or None, default=None
        Determines the generated data.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Features.
    y : ndarray of shape (n_samples,)
        Classes, 0 to ``n_classes - 1``, or a numeric target.
    sources : ndarray of shape (n_samples,)
        Sources, 0 to ``n_sources - 1``; only with ``return_sources=True``.

    Notes
    -----
    Source :math:`s` has a centre :math:`m_s \sim N(0, \text{separation}^2 I)`, a unit vector
    :math:`w_{sc}` per class and a noise level :math:`\sigma_s`. Its rows are

    .. math:: x = m_s + z, \quad z \sim N(0, I), \qquad
        y = \arg\max_c \; w_{sc} \cdot z + \sigma_s \varepsilon_c .

    In a regression there is one vector :math:`w_s` and an intercept
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
