"""HISS on a stream: one step for each batch of rows, which is then forgotten."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.blocks import BlockSource
from ensemblage.kernels import Gaussians, Kind, Moments, estimate
from ensemblage.strata._caps import SizedRules, log_scales_of
from ensemblage.strata._gaussian import expect_block
from ensemblage.strata._gaussian_start import StrataModel

Floats = NDArray[np.floating[Any]]
Doubles = NDArray[np.float64]

FORGETTING = 0.7
"""A step is the batch's share of all weight so far to this power, which is in (0.5, 1]."""
PASSES = 5
"""So many times memberships of a batch's rows follow from responsibilities, Gaussians fixed."""


class Averages(NamedTuple):
    """Statistics per unit of weight, averaged over batches; fields as those of ``Moments``."""

    mass: Floats
    first: Floats
    second: Floats

    def towards(self, other: Averages, step: float) -> Averages:
        r"""Go a step: :math:`s \leftarrow (1 - \rho) s + \rho s_b`."""
        return Averages(*(old + step * (new - old) for old, new in zip(self, other, strict=True)))


class StreamState(NamedTuple):
    """What a stream knows of the batches so far."""

    model: StrataModel
    log_scales: Doubles
    """Minus the log prices, of shape (n_strata,)."""
    weights: Floats
    """Responsibility of each stratum; they add up to the weight of all rows so far."""


def take_step(
    source: BlockSource, before: StreamState, rules: SizedRules, variance_floor: float
) -> StreamState:
    """Move Gaussians and prices towards those of a batch.

    The floor is a share of the columns' mean variance.
    """
    model, past, weight = before.model, float(before.weights.sum()), float(source.weights.sum())
    step = (weight / (past + weight)) ** FORGETTING
    batch, aim = expect_batch(source, model, rules)
    own = Averages(*(each / weight for each in (batch.mass, batch.first, batch.second)))
    known = remembered(model.gaussians, before.weights / past, model.kind)
    mean = known.towards(own, step)
    floor = variance_floor * mean_variance(mean, model.kind) or 1.0
    gaussians = estimate(batch._replace(**mean._asdict()), model.gaussians, floor, model.kind)
    return StreamState(
        model._replace(gaussians=gaussians),
        before.log_scales + step * (aim - before.log_scales),
        mean.mass * (past + weight),
    )


def expect_batch(
    source: BlockSource, model: StrataModel, rules: SizedRules
) -> tuple[Moments, Doubles]:
    """Statistics and log scales of a batch in which the strata have their sizes."""
    rule = rules.first
    total = source.advance_total(expect_block, model, rule)
    for _ in range(PASSES):
        rule = rules.following(source, total, rule)
        total = source.advance_total(expect_block, model, rule)
    return total, log_scales_of(rules.caps(source, total, rule))


def remembered(gaussians: Gaussians, shares: Floats, kind: Kind) -> Averages:
    r"""Statistics that Gaussians stand for, where stratum j has a share of all responsibility.

    :math:`s_j`, :math:`s_j \mu_j` and :math:`s_j (\Sigma_j + \mu_j \mu_j')`.
    """
    means, covariances = gaussians.means, gaussians.covariances
    first = shares[:, None] * means
    if kind == "tied":
        second = shares.sum() * covariances + first.T @ means
    elif kind == "full":
        second = shares[:, None, None] * covariances + first[:, :, None] * means[:, None, :]
    else:
        second = shares[:, None] * covariances.reshape(len(means), -1) + first * means
    return Averages(shares, first, second)


def mean_variance(each: Averages, kind: Kind) -> float:
    """Mean over the columns of their variance in all rows."""
    # responsibilities of a row add up to one, so those of all strata count it once
    second = each.second if kind == "tied" else each.second.sum(axis=0)
    squares = second if second.ndim == 1 else np.diagonal(second)
    return max(float((squares - each.first.sum(axis=0) ** 2).mean()), 0.0)
