"""Generated data with known truth."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from ensemblage._core import set_module

Doubles = NDArray[np.float64]


# Half of a normal variable's values are nearer to zero than this.
HALF = 0.6744897501960817


@set_module("ensemblage.datasets")
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

    X: Doubles
    y: NDArray[np.int_]
    relevant: NDArray[np.bool_]


def _linear(X: Doubles, _rng: np.random.RandomState) -> NDArray[np.bool_]:
    return np.asarray(X[:, :3].sum(axis=1) > 0)


def _proxies(X: Doubles, rng: np.random.RandomState) -> NDArray[np.bool_]:
    noise = rng.normal(size=(len(X), 6))
    X[:, 3:9] = 0.9 * np.tile(X[:, :3], 2) + np.sqrt(1 - 0.9**2) * noise
    return np.asarray(X[:, :3].sum(axis=1) > 0)


def _copies(X: Doubles, rng: np.random.RandomState) -> NDArray[np.bool_]:
    told = X[:, 0] > 0
    X[:, :3] = X[:, :1] + 0.05 * rng.normal(size=(len(X), 3))
    return np.asarray(told)


def _xor(X: Doubles, _rng: np.random.RandomState) -> NDArray[np.bool_]:
    return np.asarray(X[:, 0] * X[:, 1] > 0)


def _band(X: Doubles, _rng: np.random.RandomState) -> NDArray[np.bool_]:
    return np.asarray((np.abs(X[:, :3]) < HALF).sum(axis=1) >= 2)


class _Kind(NamedTuple):
    n_relevant: int
    label: Callable[[Doubles, np.random.RandomState], NDArray[np.bool_]]


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


@validate_params(
    {
        "n_sources": [Interval(Integral, 1, None, closed="left")],
        "n_samples": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "separation": [Interval(Real, 0, None, closed="left")],
        "agreement": [Interval(Real, 0, 1, closed="both")],
        "level": [Interval(Real, 0, None, closed="left")],
        "noise": [Interval(Real, 0, None, closed="left"), "array-like"],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "return_sources": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def make_multi_source_regression(
    n_sources: int = 4,
    n_samples: Any = 2000,
    n_features: int = 10,
    *,
    separation: float = 3.0,
    agreement: float = 0.0,
    level: float = 1.0,
    noise: Any = 0.2,
    shuffle: bool = True,
    random_state: Any = None,
    return_sources: bool = False,
) -> Any:
    r"""Generate rows from several sources, each with its own linear rule for a number.

    Within a source a linear model is right; across the sources no single one is.

    Parameters
    ----------
    n_sources : int, default=4
        Number of sources.
    n_samples : int or array-like of int of shape (n_sources,), default=2000
        Number of rows, shared out evenly, or the number from each source.
    n_features : int, default=10
        Number of columns.
    separation : float, default=3.0
        Standard deviation of the sources' centres, where rows spread around theirs with one.
    agreement : float, default=0.0
        Share of the rule that all sources have in common: at 0 each source has a rule of its
        own, at 1 they all have the same around their own centre.
    level : float, default=1.0
        Standard deviation of the sources' mean numbers, where the rule spreads with one.
    noise : float or array-like of shape (n_sources,), default=0.2
        Standard deviation of what is added to the numbers. A number is the largest that a source
        may have, and each draws its own; an array gives them.
    shuffle : bool, default=True
        Mix the rows; otherwise they stand source by source.
    random_state : int, RandomState instance or None, default=None
        For everything drawn.
    return_sources : bool, default=False
        Also give the source of each row.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Rows.
    y : ndarray of shape (n_samples,)
        Numbers.
    sources : ndarray of shape (n_samples,)
        Sources, 0 to ``n_sources - 1``; only with ``return_sources=True``.

    See Also
    --------
    make_multi_source : The same with classes to predict.

    Notes
    -----
    Source :math:`s` has a centre :math:`m_s \sim N(0, \text{separation}^2 I)`, a unit vector
    :math:`w_s`, a level :math:`b_s \sim N(0, \text{level}^2)` and a noise level
    :math:`\sigma_s`. A row of it is

    .. math:: x = m_s + z, \quad z \sim N(0, I), \qquad
        y = b_s + w_s \cdot z + \sigma_s \varepsilon .

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from ensemblage.datasets import make_multi_source_regression
    >>> X, y, sources = make_multi_source_regression(random_state=0, return_sources=True)
    >>> X.shape
    (2000, 10)
    >>> bool(LinearRegression().fit(X, y).score(X, y) < 0.7)
    True
    >>> first = sources == 0
    >>> bool(LinearRegression().fit(X[first], y[first]).score(X[first], y[first]) > 0.95)
    True
    """
    rng = check_random_state(random_state)
    counts = rows_per_source(n_samples, n_sources)
    centres = separation * rng.standard_normal((n_sources, n_features))
    rules = draw_rules(rng, (n_sources, n_features, 1), agreement)[:, :, 0]
    levels, spreads = level * rng.standard_normal(n_sources), noise_levels(noise, n_sources, rng)
    sources = np.repeat(np.arange(n_sources), counts)
    offsets = rng.standard_normal((len(sources), n_features))
    y = levels[sources] + (offsets * rules[sources]).sum(axis=1)
    y += spreads[sources] * rng.standard_normal(len(sources))
    X = centres[sources] + offsets
    if shuffle:
        order = rng.permutation(len(sources))
        X, y, sources = X[order], y[order], sources[order]
    return (X, y, sources) if return_sources else (X, y)


class Scene(NamedTuple):
    """Number of features in the paper's Table 1, and how much the clips' rules agree."""

    n_features: int
    agreement: float


SCENES = {"indoor": Scene(190, 0.75), "outdoor": Scene(126, 0.85)}
N_CLIPS, N_FACTORS = 7, 12


def rows_per_source(n_samples: Any, n_sources: int) -> NDArray[np.int_]:
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


def noise_levels(noise: Any, n_sources: int, rng: np.random.RandomState) -> Doubles:
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


def draw_rules(
    rng: np.random.RandomState, shape: tuple[int, int, int], agreement: float
) -> Doubles:
    """Give rules of shape (n_sources, n_features, n_classes), each class's of unit length."""
    common = _unit_columns(rng.standard_normal(shape[1:]))
    own = _unit_columns(rng.standard_normal(shape))
    return _unit_columns(np.sqrt(agreement) * common + np.sqrt(1 - agreement) * own)


@validate_params(
    {
        "n_sources": [Interval(Integral, 1, None, closed="left")],
        "n_samples": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "n_classes": [Interval(Integral, 2, None, closed="left")],
        "separation": [Interval(Real, 0, None, closed="left")],
        "agreement": [Interval(Real, 0, 1, closed="both")],
        "noise": [Interval(Real, 0, None, closed="left"), "array-like"],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "return_sources": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def make_multi_source(
    n_sources: int = 4,
    n_samples: Any = 2000,
    n_features: int = 10,
    *,
    n_classes: int = 2,
    separation: float = 3.0,
    agreement: float = 0.0,
    noise: Any = 0.2,
    shuffle: bool = True,
    random_state: Any = None,
    return_sources: bool = False,
) -> Any:
    r"""Generate rows from several sources, each with its own linear rule for the class.

    Within a source a linear model is right; across the sources no single one is.

    Parameters
    ----------
    n_sources : int, default=4
        Number of sources.
    n_samples : int or array-like of int of shape (n_sources,), default=2000
        Number of rows, shared out evenly, or the number from each source.
    n_features : int, default=10
        Number of columns.
    n_classes : int, default=2
        Number of classes.
    separation : float, default=3.0
        Standard deviation of the sources' centres, where rows spread around theirs with one.
    agreement : float, default=0.0
        Share of the rule that all sources have in common: at 0 each source has a rule of its
        own, at 1 they all have the same around their own centre.
    noise : float or array-like of shape (n_sources,), default=0.2
        Standard deviation of what is added to the rule before it decides. A number is the
        largest that a source may have, and each draws its own; an array gives them.
    shuffle : bool, default=True
        Mix the rows; otherwise they stand source by source.
    random_state : int, RandomState instance or None, default=None
        For everything drawn.
    return_sources : bool, default=False
        Also give the source of each row.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Rows.
    y : ndarray of shape (n_samples,)
        Classes, 0 to ``n_classes - 1``.
    sources : ndarray of shape (n_samples,)
        Sources, 0 to ``n_sources - 1``; only with ``return_sources=True``.

    See Also
    --------
    make_multi_source_regression : The same with numbers to predict.
    make_video_standin : The like of the HISS paper's image sets.

    Notes
    -----
    Source :math:`s` has a centre :math:`m_s \sim N(0, \text{separation}^2 I)`, a unit vector
    :math:`w_{sc}` per class and a noise level :math:`\sigma_s`. A row of it is

    .. math:: x = m_s + z, \quad z \sim N(0, I), \qquad
        y = \arg\max_c \; w_{sc} \cdot z + \sigma_s \varepsilon_c .

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
    counts = rows_per_source(n_samples, n_sources)
    centres = separation * rng.standard_normal((n_sources, n_features))
    rules = draw_rules(rng, (n_sources, n_features, n_classes), agreement)
    levels = noise_levels(noise, n_sources, rng)
    sources = np.repeat(np.arange(n_sources), counts)
    offsets = rng.standard_normal((len(sources), n_features))
    scores = levels[sources, None] * rng.standard_normal((len(sources), n_classes))
    for source, rule in enumerate(rules):
        scores[sources == source] += offsets[sources == source] @ rule
    X, y = centres[sources] + offsets, scores.argmax(axis=1)
    if shuffle:
        order = rng.permutation(len(sources))
        X, y, sources = X[order], y[order], sources[order]
    return (X, y, sources) if return_sources else (X, y)


@validate_params(
    {
        "scene": [StrOptions(set(SCENES))],
        "n_samples_per_source": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "return_sources": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def make_video_standin(
    scene: str = "outdoor",
    *,
    n_samples_per_source: int = 500,
    shuffle: bool = True,
    random_state: Any = None,
    return_sources: bool = False,
) -> Any:
    """Generate a stand-in for the HISS paper's video images, which cannot be had.

    Seven made-up clips of 500 rows each, with as many features as the paper counts. These are
    **not** the paper's images, and an error on them reproduces nothing: they only have the same
    shape and the same kind of difficulty.

    Parameters
    ----------
    scene : {"outdoor", "indoor"}, default="outdoor"
        Which set to stand in for: 126 or 190 features.
    n_samples_per_source : int, default=500
        Rows per clip.
    shuffle : bool, default=True
        Mix the rows; otherwise they stand clip by clip.
    random_state : int, RandomState instance or None, default=None
        For everything drawn.
    return_sources : bool, default=False
        Also give the clip of each row.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Rows.
    y : ndarray of shape (n_samples,)
        Zeros and ones.
    sources : ndarray of shape (n_samples,)
        Clips, 0 to 6; only with ``return_sources=True``.

    See Also
    --------
    make_multi_source : What it is made from.

    Notes
    -----
    Twelve hidden factors come from :func:`make_multi_source` with seven sources whose rules
    partly agree. All features are linear in the factors, which makes them correlated as features
    of images are; each clip has its own look, contrast and grain. The numbers were chosen so
    that a linear support vector machine is wrong about as often as the paper's was.

    Examples
    --------
    >>> from ensemblage.datasets import make_video_standin
    >>> X, y = make_video_standin("indoor", random_state=0)
    >>> X.shape
    (3500, 190)
    """
    rng = check_random_state(random_state)
    n_features, agreement = SCENES[scene]
    factors, y, sources = make_multi_source(
        N_CLIPS, N_CLIPS * n_samples_per_source, N_FACTORS, separation=0.0, agreement=agreement,
        noise=0.1, shuffle=shuffle, random_state=rng, return_sources=True,
    )  # fmt: skip
    mixing = _unit_columns(rng.standard_normal((N_FACTORS, n_features)))
    looks = rng.standard_normal((N_CLIPS, n_features))
    contrast, grain = rng.uniform(0.6, 1.4, N_CLIPS), rng.uniform(0.2, 1.0, N_CLIPS)
    X = looks[sources] + contrast[sources, None] * (factors @ mixing)
    X += grain[sources, None] * rng.standard_normal(X.shape)
    return (X, y, sources) if return_sources else (X, y)
