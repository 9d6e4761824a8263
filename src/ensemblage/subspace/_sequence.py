"""Members one after another, each on the rows that the earlier ones get wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ensemblage.subspace._anneal import anneal
from ensemblage.subspace._climb import climb
from ensemblage.subspace._member import Floats, Member, Rows, member_logits
from ensemblage.subspace._settings import Settings, resolve

SMALLEST_WEIGHT = 1e-6
SOLVERS = {"paper": climb, "lbfgs": anneal}


def member_weights(probability_sum: Floats, n_before: int) -> Floats:
    r"""Row weights of the next member, between 1e-6 and 1 (eq. 8).

    :math:`w_m = 1 - \frac{1}{k-1} \sum_{k'} p_{k'}(y_m \mid x_m)` of the earlier members'
    probabilities of the true class; all ones for the first, for which the paper leaves them open.
    """
    if n_before == 0:
        return np.ones_like(probability_sum)
    return np.clip(1.0 - probability_sum / n_before, SMALLEST_WEIGHT, 1.0)


def fit_sequence(rows: Rows, seeds: Sequence[int], settings: Settings) -> Iterator[Member]:
    """Fit members in turn, as many as there are seeds (lines 2 to 4)."""
    solve, walk = SOLVERS[settings.solver], resolve(settings, rows)
    probability_sum = np.zeros_like(rows.weights)
    for k, seed in enumerate(seeds):
        weights = member_weights(probability_sum, k) * rows.weights
        member = solve(rows, weights, np.random.default_rng(seed), walk)
        yield member
        outputs = member_logits(rows.features, member)
        credit = rows.objective.credit(outputs, rows.targets, rows.weights)
        probability_sum = probability_sum + credit
