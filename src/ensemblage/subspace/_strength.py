"""Strength of the ridge penalty by cross-validation."""

from __future__ import annotations

import numpy as np

from ensemblage.parallel import deal_folds
from ensemblage.subspace._anneal import converge
from ensemblage.subspace._member import Rows
from ensemblage.subspace._steps import first_member

STRENGTHS = (1000.0, 100.0, 10.0, 1.0, 0.1, 0.01)
N_FOLDS = 5


def choose_strength(rows: Rows, rng: np.random.Generator) -> float:
    """``C`` with the lowest held-out loss of a single model on all features."""
    losses = np.zeros(len(STRENGTHS))
    for fold in deal_folds(rows.targets, N_FOLDS, rng):
        train, held = rows.take(fold.train), rows.take(fold.test)
        member = first_member(train, rng)
        # from the strongest penalty to the weakest, each starting where the last one ended
        for i, strength in reversed(list(enumerate(STRENGTHS))):
            member = converge(train, train.weights, member, 1.0 / (strength * train.total), 1e-4)
            parameters = np.column_stack([member.coef, member.intercept])
            loss, _ = held.objective.loss(
                held.features, held.targets, held.weights, parameters, 0.0
            )  # fmt: skip
            losses[i] += loss * held.total
    return STRENGTHS[int(losses.argmin())]
