r"""A mixture of linear members under a softmax gate, taken apart column by column.

Its log odds :math:`F` are not linear in the features, so each gets its part of the straight way
:math:`t z` from the mean of the training rows, :math:`z = 0`, to the row:
:math:`z_d \int_0^1 \partial F / \partial z_d (t z)\, dt`. The parts add up to :math:`F(z) - F(0)`
(Sundararajan, Taly and Yan, Axiomatic attribution for deep networks, ICML 2017).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax, logsumexp

from ensemblage.explain._decision import Floats, against_others

N_STEPS = 4000


class GatedMixture(NamedTuple):
    """Members (n_members, n_classes, n_features), and a gate (n_members, n_features)."""

    coef: Floats
    intercept: Floats
    gate_coef: Floats
    gate_intercept: Floats


class WayParts(NamedTuple):
    """Log odds of a class at the mean of the rows and at the row; what each feature adds."""

    start: float
    end: float
    amounts: Floats


def parts_of_the_way(mixture: GatedMixture, z: Floats, label: int) -> WayParts:
    """Give each feature its part of what happens between the mean of the rows and one row."""
    middles = (np.arange(N_STEPS) + 0.5) / N_STEPS
    ends = _log_parts(mixture, z, np.array([0.0, 1.0]))
    start, end = (float(against_others(each, label)) for each in _fused(*ends))
    gates, members = _log_parts(mixture, z, middles)
    # how much of each class's probability is each member's, (n_steps, n_members, n_classes)
    shares = np.exp(gates[:, :, None] + members - _fused(gates, members)[:, None, :])
    contrast = against_others(np.eye(shares.shape[2]), label)
    for_label = shares * contrast
    by_member = for_label.sum(axis=2)
    by_class = for_label - by_member[:, :, None] * np.exp(members)
    slope = by_member.mean(axis=0) @ mixture.gate_coef
    slope += np.einsum("kc,kcd->d", by_class.mean(axis=0), mixture.coef)
    return WayParts(start, end, z * slope)


def way_measure(n_classes: int) -> str:
    """Say in words what the parts of the way add up to."""
    what = "log odds" if n_classes == 2 else "log probability against the mean of the classes"
    return (
        f"{what}; the start is that of the mean of the training rows, and each column adds its "
        "part on the straight way from there to this row, through members and gate"
    )


def _log_parts(mixture: GatedMixture, z: Floats, steps: Floats) -> tuple[Floats, Floats]:
    """Log weights of the members and their log probabilities at some steps of the way."""
    gates = mixture.gate_intercept + steps[:, None] * (mixture.gate_coef @ z)
    members = mixture.intercept + steps[:, None, None] * (mixture.coef @ z)
    return np.asarray(log_softmax(gates, axis=1)), np.asarray(log_softmax(members, axis=2))


def _fused(gates: Floats, members: Floats) -> Floats:
    return np.asarray(logsumexp(gates[:, :, None] + members, axis=1))
