"""How much a clustering owes to its random start: a score that needs no labels."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import clone

from ensemblage.evaluation._clustering_scores import nmi_score
from ensemblage.parallel import draw_seeds, set_seed


def stability_score(
    estimator: Any,
    X: Any,
    y: Any = None,  # noqa: ARG001  a scorer is called with it
    *,
    n_starts: int = 8,
    random_state: Any = 0,
) -> float:
    r"""Agreement of a clusterer with itself over random starts.

    The estimator is cloned and fitted on ``X`` from several seeds; the score is the mean NMI of
    each pair of clusterings. It has the signature of a scorer, so that an ordinary search can
    choose parameters without labels.

    Parameters
    ----------
    estimator : clusterer
        Anything with ``fit_predict`` and a ``random_state``, a pipeline included.
    X : array-like of shape (n_samples, n_features)
        The data; in a search, the test part of a split.
    y : None
        Ignored.
    n_starts : int, default=8
        How many starts, at least two.
    random_state : int, RandomState instance or None, default=0
        Where the seeds come from. The same for each call, so that parameters are compared on
        the same seeds.

    Returns
    -------
    float
        Between 0 and 1; more is better. A clusterer that puts all rows together is perfectly
        stable, so compare settings with the same number of clusters.

    Notes
    -----
    :math:`\frac{2}{m(m-1)} \sum_{a<b} \mathrm{NMI}(c_a, c_b)` over the clusterings
    :math:`c_1 \dots c_m`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import GridSearchCV, ShuffleSplit
    >>> from ensemblage.evaluation import stability_score
    >>> from ensemblage.inner import InnerKMeans
    >>> X = load_wine().data
    >>> search = GridSearchCV(
    ...     InnerKMeans(3, random_state=0), {"n_views": [10, 50], "view_size": [0.3, 0.6]},
    ...     scoring=stability_score, cv=ShuffleSplit(1, test_size=0.5, random_state=0),
    ... ).fit(X)
    >>> sorted(search.best_params_)
    ['n_views', 'view_size']
    """
    if n_starts < 2:
        raise ValueError(f"n_starts={n_starts} leaves nothing to compare; give at least 2.")
    labels = [
        set_seed(clone(estimator), seed).fit_predict(X)
        for seed in draw_seeds(random_state, n_starts)
    ]
    return float(np.mean([nmi_score(one, other) for one, other in combinations(labels, 2)]))
