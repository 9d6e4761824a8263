"""How many features of no worth a selection by subsamples lets through, at most."""

from __future__ import annotations

import math
from typing import NamedTuple


class SubsampledSelection(NamedTuple):
    """A selection on both halves of random splits, and what is assumed of it."""

    n_features: int  # p
    n_pairs: int  # B splits, 2 B fits
    threshold: float  # tau: a feature is selected from this share of the fits on
    assumption: str  # "none" or "unimodal"

    def reached_threshold(self) -> float:
        """Smallest share of the fits that there is at or above the threshold."""
        fits = 2 * self.n_pairs
        return math.ceil(self.threshold * fits - 1e-9) / fits


def false_selections(selection: SubsampledSelection, n_per_fit: int) -> float:
    r"""Bound on the expected number of features that are selected, but that no fit likes.

    These are the features that one fit, which selects :math:`q` of :math:`p` on half of the rows,
    takes with a probability of :math:`\theta = q/p` at most, that of blind choice. Without
    assumptions it is :math:`q^2 / (p (2 \tau - 1))` (Meinshausen and Bühlmann, theorem 1; Shah and
    Samworth, theorem 1). If the share of splits that select such a feature in both halves has a
    distribution with one mode, it is :math:`C q^2 / p` (Shah and Samworth, theorem 2) with

    .. math:: C = \frac{1}{2 (2 \tau - 1 - 1/2B)} \; (\tau \le 3/4), \qquad
        C = \frac{4 (1 - \tau + 1/2B)}{1 + 1/B} \; (\tau > 3/4),

    for :math:`\theta \le 1/\sqrt 3` and :math:`\tau > 1/2 + \min(\theta^2, 1/2B + 3 \theta^2 / 4)`.
    """
    p, pairs = selection.n_features, selection.n_pairs
    threshold, share = selection.reached_threshold(), n_per_fit / p
    bound = n_per_fit * share / (2 * threshold - 1)
    lowest = 0.5 + min(share**2, 0.5 / pairs + 0.75 * share**2)
    if selection.assumption == "unimodal" and share <= 1 / math.sqrt(3) and threshold > lowest:
        if threshold > 0.75:
            factor = 4 * (1 - threshold + 0.5 / pairs) / (1 + 1 / pairs)
        else:
            factor = 1 / (2 * (2 * threshold - 1 - 0.5 / pairs))
        # at few splits the bound without assumptions may be the lower one; it holds as well
        bound = min(bound, factor * n_per_fit * share)
    return min(bound, float(n_per_fit))


def most_per_fit(selection: SubsampledSelection, max_false: float) -> int:
    """Largest number of features per fit whose bound is at most ``max_false``; 0 if none is."""
    allowed = [
        q
        for q in range(1, selection.n_features + 1)
        if false_selections(selection, q) <= max_false * (1 + 1e-12)
    ]
    return max(allowed, default=0)
