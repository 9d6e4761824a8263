"""Bayesian signed-rank test with a region of practical equivalence."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ensemblage._core import set_module
from ensemblage.evaluation._compare_methods import read_scores

Doubles = NDArray[np.float64]

# Posterior draws in memory at once.
DRAWN_AT_ONCE = 2_000


@set_module("ensemblage.evaluation")
class PracticalPair(NamedTuple):
    """Posterior probabilities of two methods over several datasets; they add up to one."""

    first: str
    second: str
    first_better: float
    equivalent: float
    second_better: float


def practical_equivalence(
    scores: Any,
    *,
    rope: float = 0.01,
    greater_is_better: bool = True,
    names: Any = None,
    prior_strength: float = 0.5,
    n_draws: int = 50_000,
    random_state: Any = None,
) -> list[PracticalPair]:
    r"""Bayesian signed-rank test of each pair, with a region of practical equivalence.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods), DataFrame or mapping
        As for :func:`compare_methods`.
    rope : float, default=0.01
        Half width of the region of practical equivalence, in units of the score.
    greater_is_better : bool, default=True
        False for errors, losses and times.
    names : sequence of str, default=None
        Names of the methods, if ``scores`` has none; numbered by default.
    prior_strength : float, default=0.5
        Weight of the prior, a pseudo-dataset on which the methods are equal, in datasets.
    n_draws : int, default=50000
        Number of posterior draws.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    list of PracticalPair
        One entry per pair of methods: their names, ``first`` and ``second``, and the posterior
        probabilities that on such datasets the first is better (``first_better``), the two are
        practically equivalent (``equivalent``) or the second is better (``second_better``).

    See Also
    --------
    compare_methods : Tests of significant differences.

    Notes
    -----
    A p-value cannot show that two methods are equivalent. Here the differences
    :math:`z_1, \dots, z_n` and the prior's :math:`z_0 = 0` have weights :math:`w` from a Dirichlet
    distribution of parameters :math:`s, 1, \dots, 1`. Each draw of :math:`w` gives the shares

    .. math:: \theta = \sum_{ij} w_i w_j [z_i + z_j > 2r], \quad
        \sum_{ij} w_i w_j [|z_i + z_j| \le 2r], \quad \sum_{ij} w_i w_j [z_i + z_j < -2r],

    and supports the region with the largest; the probabilities are the shares of the draws.

    References
    ----------
    A. Benavoli, G. Corani, J. Demšar and M. Zaffalon. Time for a Change: a Tutorial for Comparing
    Multiple Classifiers Through Bayesian Analysis. Journal of Machine Learning Research 18, 2017.

    Examples
    --------
    >>> from ensemblage.evaluation import practical_equivalence
    >>> accuracy = {
    ...     "tree": [0.80, 0.71, 0.92, 0.63, 0.55, 0.78, 0.66, 0.90],
    ...     "pruned": [0.805, 0.712, 0.918, 0.629, 0.556, 0.779, 0.668, 0.90],
    ... }
    >>> pair = practical_equivalence(accuracy, rope=0.01, random_state=0)[0]
    >>> pair.equivalent > 0.99
    True
    """
    for name, value, least in (("rope", rope, 0.0), ("prior_strength", prior_strength, 1e-6)):
        if not least <= value < np.inf:
            raise ValueError(f"{name}={value!r}; expected a finite number of at least {least:g}.")
    if n_draws < 1 or int(n_draws) != n_draws:
        raise ValueError(f"n_draws={n_draws!r}; expected a whole number of at least 1.")
    table, columns = read_scores(scores, names)
    seeds = check_random_state(random_state).randint(2**31, size=table.shape[1] ** 2)
    pairs = []
    for number, (i, j) in enumerate(combinations(range(table.shape[1]), 2)):
        differences = table[:, i] - table[:, j]
        rng = np.random.default_rng(seeds[number])
        signed = differences if greater_is_better else -differences
        shares = region_shares(
            np.concatenate([[0.0], signed]), rope, prior_strength, int(n_draws), rng
        )
        pairs.append(PracticalPair(columns[i], columns[j], *largest_shares(shares)))
    return pairs


def region_shares(
    differences: Doubles, rope: float, prior_strength: float, n_draws: int, rng: np.random.Generator
) -> Doubles:
    """Share of the pairs of differences above, inside and below the region, (n_draws, 3).

    The first difference is the prior's.
    """
    sums = differences[:, None] + differences
    above, below = (sums > 2 * rope).astype(float), (sums < -2 * rope).astype(float)
    strengths = np.ones(len(differences))
    strengths[0] = prior_strength
    shares = []
    for start in range(0, n_draws, DRAWN_AT_ONCE):
        weights = rng.dirichlet(strengths, min(DRAWN_AT_ONCE, n_draws - start))
        better, worse = (((weights @ side) * weights).sum(axis=1) for side in (above, below))
        shares.append(np.column_stack([better, np.clip(1 - better - worse, 0, 1), worse]))
    return np.concatenate(shares)


def largest_shares(shares: Doubles) -> list[float]:
    """Share of draws in which each column is the largest; ties are split equally."""
    top: NDArray[np.bool_] = shares >= shares.max(axis=1, keepdims=True) - 1e-12
    return [float(share) for share in (top / top.sum(axis=1, keepdims=True)).mean(axis=0)]
