"""Made-up numbers from several sources, each with its own place, its own rule and its own level."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, validate_params

from ensemblage.datasets._multi_source import draw_rules, noise_levels, rows_per_source


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
