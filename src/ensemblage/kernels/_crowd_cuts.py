r"""Where a crowd of views cuts the rows of one node of a decision tree, on the node's own feature.

Rows at a node are told apart by *bins*: bin :math:`b` lies above the first :math:`b` of the sorted
cuts, so a row is left of cut :math:`c` if its bin is at most :math:`c`. ``counts``, of shape
(n_rows, n_views), say how often each view drew a row; a view that sent a row another way has 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled

GINI, ENTROPY, SQUARED, POISSON = 0, 1, 2, 3
"""What a cut is judged by; the first two take classes, the others numbers."""

MOST_CUTS = 255
"""So many cuts at most, that a bin fits into a byte."""

NEAR = np.float32(1e-7)
"""Scikit-learn's trees do not cut between values so near to each other."""

ROUNDING = 1e-12
"""A cut that is better by less than this share of the score is not better."""

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]


class Cuts(NamedTuple):
    """Candidate cuts in ascending order, and which of them is the tree's own."""

    values: Floats
    own: int


class RowTargets(NamedTuple):
    """Weights of rows, and what they are to be told apart by: classes, or numbers.

    Either of ``codes`` and ``numbers`` is read: the latter where ``n_classes`` is 0.
    """

    weights: Floats
    codes: NDArray[np.int32]
    numbers: Floats
    n_classes: int


class CutRule(NamedTuple):
    """How a cut is judged, and how many drawn rows it leaves on each side at least."""

    criterion: int
    min_rows: int


class NodeRows(NamedTuple):
    """Places of rows among the parent's, and what each view drew of them."""

    places: NDArray[np.int64]
    counts: Bytes


def candidate_cuts(x: NDArray[np.float32], masses: Floats, own: float, window: float) -> Cuts:
    """Cuts between distinct values whose rank is at most ``window`` of all from the own cut's.

    Ranks are shares of the rows' masses. Where there are too many, every so manieth rank is kept.
    Missing values are of no account.
    """
    known = ~np.isnan(x)
    if not known.all():
        x, masses = x[known], masses[known]
    order = np.argsort(x, kind="stable")
    x, below = x[order], np.cumsum(masses[order])
    n_left = int(np.searchsorted(x, own, side="right"))
    rank, reach = below[n_left - 1] if n_left else 0.0, window * below[-1] if len(x) else 0.0
    first = int(np.searchsorted(below, rank - reach))
    last = int(np.searchsorted(below, rank + reach, side="right"))
    places = np.arange(first, min(last, len(x) - 1))
    places = places[x[places + 1] > x[places] + NEAR]
    places = places[places != n_left - 1]
    if len(places) > MOST_CUTS - 1:
        ranks = np.linspace(below[places[0]], below[places[-1]], MOST_CUTS - 1)
        places = places[np.unique(np.searchsorted(below[places], ranks))]
    low, high = x[places].astype(np.float64), x[places + 1].astype(np.float64)
    middle = low / 2 + high / 2
    cuts = np.append(np.where(middle == high, low, middle), own)
    order = np.argsort(cuts, kind="stable")
    return Cuts(cuts[order], int(np.argmax(order == len(places))))


@compiled
def bins_of(x: NDArray[np.float32], cuts: Floats, missing_left: bool) -> Bytes:
    """Count the cuts below each value; a missing one lies below or above all of them."""
    bins = np.empty(len(x), dtype=np.uint8)
    for i in range(len(x)):
        if np.isnan(x[i]):
            bins[i] = 0 if missing_left else len(cuts)
        else:
            bins[i] = np.searchsorted(cuts, np.float64(x[i]))
    return bins


@compiled
def bin_sums(bins: Bytes, counts: Bytes, targets: RowTargets, n_bins: int) -> Floats:
    """Sum up each bin in each view: (n_bins, n_channels, n_views).

    The first channel counts drawn rows. Then follow the weights of the classes; or, for numbers,
    the weights, and the weights times the numbers.
    """
    n_views, n_classes = counts.shape[1], targets.n_classes
    sums = np.zeros((n_bins, 1 + n_classes if n_classes else 3, n_views))
    for i in range(len(bins)):
        here, weight = sums[bins[i]], targets.weights[i]
        channel = 1 + targets.codes[i] if n_classes else 1
        for e in range(n_views):
            here[0, e] += counts[i, e]
            here[channel, e] += counts[i, e] * weight
        if not n_classes:
            moment = weight * targets.numbers[i]
            for e in range(n_views):
                here[2, e] += counts[i, e] * moment
    return sums


@compiled
def side_score(channels: Floats, criterion: int) -> float:
    r"""Score one side of a cut, from the channels of :func:`bin_sums`; more is purer.

    Gini: :math:`\sum_k L_k^2 / L`; entropy: :math:`\sum_k L_k \log(L_k / L)`; squared error, with
    :math:`S = \sum w y`: :math:`S^2 / L`; Poisson deviance: :math:`S \log(S / L)`.
    """
    if channels[0] < 1.0:  # what rounding leaves of the weights of no row
        return 0.0
    if criterion in (SQUARED, POISSON):
        weight, moment = channels[1], channels[2]
        if criterion == POISSON and moment <= 0.0:
            return 0.0
        mean = moment / weight
        score: float = moment * (mean if criterion == SQUARED else np.log(mean))
        return score
    weight, score = 0.0, 0.0
    for k in range(1, len(channels)):
        weight += channels[k]
    for k in range(1, len(channels)):
        part = channels[k]
        if part > 0.0:
            score += part * (part / weight if criterion == GINI else np.log(part / weight))
    return score


@compiled
def leaves_enough(left: Floats, right: Floats, rule: CutRule) -> bool:
    """Whether both sides have rows enough; under Poisson's deviance also numbers above zero."""
    if min(left[0], right[0]) < rule.min_rows:
        return False
    least = ROUNDING * (left[2] + right[2]) if rule.criterion == POISSON else 0.0
    return rule.criterion != POISSON or min(left[2], right[2]) > least


@compiled
def cut_gains(  # noqa: C901  views, cuts, channels
    sums: Floats, own: int, rule: CutRule
) -> Floats:
    """Gain of each cut over the tree's own, in each view: (n_views, n_cuts).

    Minus infinity stands where there is none, or where a side has too few rows.
    """
    n_bins, n_channels, n_views = sums.shape
    gains = np.full((n_views, n_bins - 1), -np.inf)
    scores, left, right = np.empty(n_bins - 1), np.empty(n_channels), np.empty(n_channels)
    for e in range(n_views):
        left[:], right[:] = 0.0, 0.0
        for b in range(n_bins):
            for k in range(n_channels):
                right[k] += sums[b, k, e]
        for c in range(n_bins - 1):
            for k in range(n_channels):
                left[k] += sums[c, k, e]
                right[k] -= sums[c, k, e]
            scores[c] = side_score(left, rule.criterion) + side_score(right, rule.criterion)
            if c != own and not leaves_enough(left, right, rule):
                scores[c] = -np.inf
        least = scores[own] + ROUNDING * abs(scores[own])
        for c in range(n_bins - 1):
            if c == own or scores[c] > least:
                gains[e, c] = scores[c] - scores[own]
    return gains


@compiled
def rows_of_side(bins: Bytes, counts: Bytes, chosen: NDArray[np.int64], left: bool) -> NodeRows:
    """Keep the rows that some view, by the cut that it has chosen, sends to a side."""
    n_rows, n_views = counts.shape
    low, high = chosen.min(), chosen.max()
    places, kept = np.empty(n_rows, dtype=np.int64), np.empty((n_rows, n_views), dtype=np.uint8)
    n_kept = 0
    for i in range(n_rows):
        if bins[i] <= low or bins[i] > high:  # all views are of one mind
            some = (bins[i] <= low) == left
            if some:
                kept[n_kept] = counts[i]
        else:
            some = False
            for e in range(n_views):
                drawn = counts[i, e] if (bins[i] <= chosen[e]) == left else np.uint8(0)
                kept[n_kept, e] = drawn
                some = some or drawn > 0
        if some:
            places[n_kept] = i
            n_kept += 1
    return NodeRows(places[:n_kept].copy(), kept[:n_kept].copy())
