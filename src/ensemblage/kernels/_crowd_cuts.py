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

SLACK = 1e-12
"""A share of the rows' masses: ranks at the very edge of a window are in it, however it rounds."""

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
    x, below = _ranked(x, masses)
    n_left = int(np.searchsorted(x, own, side="right"))
    rank = below[n_left - 1] if n_left else 0.0
    reach = (window + SLACK) * below[-1] if len(x) else 0.0
    first = int(np.searchsorted(below, rank - reach))
    last = min(int(np.searchsorted(below, rank + reach, side="right")), len(x) - 1)
    places = first + np.flatnonzero(x[first + 1 : last + 1] > x[first:last] + NEAR)
    places = places[places != n_left - 1]
    if len(places) > MOST_CUTS - 1:
        ranks = np.linspace(below[places[0]], below[places[-1]], MOST_CUTS - 1)
        found = np.searchsorted(below[places], ranks)  # in ascending order
        places = places[found[np.append(True, found[1:] > found[:-1])]]
    low, high = x[places].astype(np.float64), x[places + 1].astype(np.float64)
    middle = low / 2 + high / 2
    cuts = np.append(np.where(middle == high, low, middle), own)
    order = np.argsort(cuts, kind="stable")
    return Cuts(cuts[order], int(np.argmax(order == len(places))))


def _ranked(x: NDArray[np.float32], masses: Floats) -> tuple[NDArray[np.float32], Floats]:
    """Sort the known values, with the mass of all up to each."""
    if (masses == 1.0).all():  # values alone are sorted several times faster than their places
        x = np.sort(x)  # missing ones last
        x = x[: int(np.searchsorted(x, np.inf, side="right"))]
        return x, np.arange(1.0, len(x) + 1)
    known = ~np.isnan(x)
    x, masses = x[known], masses[known]
    order = np.argsort(x, kind="stable")
    return x[order], np.cumsum(masses[order])


@compiled
def bins_of(x: NDArray[np.float32], cuts: Floats, missing_left: bool) -> Bytes:
    """Count the cuts below each value; a missing one lies below or above all of them."""
    bins = np.empty(len(x), dtype=np.uint8)
    # a search of as many steps for all values, in which nothing branches on one
    ends = np.full(MOST_CUTS + 1, np.inf)
    ends[: len(cuts)] = cuts
    for i in range(len(x)):
        value, place, step = np.float64(x[i]), 0, (MOST_CUTS + 1) // 2
        while step > 0:
            place += step if ends[place + step - 1] < value else 0
            step //= 2
        bins[i] = place
        if np.isnan(value) and not missing_left:
            bins[i] = len(cuts)
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


class SideScores(NamedTuple):
    """Room for the score of one side of a cut, and for its weight, in each view."""

    scores: Floats
    weights: Floats


@compiled(error_model="numpy")
def score_side(side: Floats, criterion: int, room: SideScores) -> None:
    r"""Score one side of a cut in each view, from the channels of :func:`bin_sums`; more is purer.

    Gini: :math:`\sum_k L_k^2 / L`; entropy: :math:`\sum_k L_k \log(L_k / L)`; squared error, with
    :math:`S = \sum w y`: :math:`S^2 / L`; Poisson deviance: :math:`S \log(S / L)`. A side of no
    row has 0, whatever rounding leaves of its weights.
    """
    scores, weights = room
    n_channels, n_views = side.shape
    first = 1 if criterion in (GINI, ENTROPY) else 2
    scores[:], weights[:] = 0.0, 0.0
    # views are innermost and do not branch, so that several are scored at once
    for k in range(1, n_channels if first == 1 else 2):
        for e in range(n_views):
            weights[e] += side[k, e]
    for k in range(first, n_channels):
        for e in range(n_views):
            part = side[k, e]
            share = part / (weights[e] if weights[e] > 0.0 else 1.0)
            if criterion in (ENTROPY, POISSON):
                share = np.log(share) if share > 0.0 else 0.0
            counts = side[0, e] >= 1.0 and (part > 0.0 or criterion == SQUARED)
            scores[e] += part * share if counts else 0.0


@compiled
def leaves_enough(left: Floats, right: Floats, e: int, rule: CutRule) -> bool:
    """Whether both sides have rows enough; under Poisson's deviance also numbers above zero."""
    if min(left[0, e], right[0, e]) < rule.min_rows:
        return False
    if rule.criterion != POISSON:
        return True
    least = ROUNDING * (left[2, e] + right[2, e])
    return bool(min(left[2, e], right[2, e]) > least)


@compiled
def cut_gains(  # noqa: C901  views, cuts
    sums: Floats, own: int, rule: CutRule
) -> Floats:
    """Gain of each cut over the tree's own, in each view: (n_views, n_cuts).

    Minus infinity stands where there is none, or where a side has too few rows.
    """
    n_bins, n_channels, n_views = sums.shape
    left, right = np.zeros((n_channels, n_views)), sums.sum(axis=0)
    room_left = SideScores(np.empty(n_views), np.empty(n_views))
    room_right = SideScores(np.empty(n_views), np.empty(n_views))
    scores = np.full((n_bins - 1, n_views), -np.inf)
    for c in range(n_bins - 1):
        for k in range(n_channels):
            for e in range(n_views):
                left[k, e] += sums[c, k, e]
                right[k, e] -= sums[c, k, e]
        score_side(left, rule.criterion, room_left)
        score_side(right, rule.criterion, room_right)
        for e in range(n_views):
            if c == own or leaves_enough(left, right, e, rule):
                scores[c, e] = room_left.scores[e] + room_right.scores[e]
    gains = np.full((n_views, n_bins - 1), -np.inf)
    for e in range(n_views):
        least = scores[own, e] + ROUNDING * abs(scores[own, e])
        for c in range(n_bins - 1):
            if c == own or scores[c, e] > least:
                gains[e, c] = scores[c, e] - scores[own, e]
    return gains


@compiled
def rows_of_side(bins: Bytes, counts: Bytes, chosen: NDArray[np.int64], left: bool) -> NodeRows:
    """Keep the rows that some view, by the cut that it has chosen, sends to a side."""
    n_rows, n_views = counts.shape
    low, high = chosen.min(), chosen.max()
    n_most = 0
    for i in range(n_rows):
        n_most += bins[i] <= high if left else bins[i] > low
    places, kept = np.empty(n_most, dtype=np.int64), np.empty((n_most, n_views), dtype=np.uint8)
    n_kept = 0
    for i in range(n_rows):
        if bins[i] > high if left else bins[i] <= low:
            continue
        some = bins[i] <= low or bins[i] > high  # all views are of one mind
        if some:
            kept[n_kept] = counts[i]
        else:
            for e in range(n_views):
                drawn = counts[i, e] if (bins[i] <= chosen[e]) == left else np.uint8(0)
                kept[n_kept, e] = drawn
                some = some or drawn > 0
        if some:
            places[n_kept] = i
            n_kept += 1
    return NodeRows(places[:n_kept], kept[:n_kept])


@compiled
def count_draws(drawn: NDArray[np.uint32], counts: Bytes) -> None:
    """Count how often each row was drawn, 255 times at most."""
    for i in drawn:
        counts[i] += counts[i] < 255
