"""How far parts of the rows stand out from all rows, in one column.

Rows belong to parts by memberships of shape (n_rows, n_parts), which weigh them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

QUARTILES = (0.25, 0.5, 0.75)
NORMAL_RANGE = 1.3489795003921634
"""Distance between the quartiles of a normal distribution of variance one."""
ROUNDING = 1e-12


class StandingOut(NamedTuple):
    """What is typical of each part and of all rows, and how far apart that is.

    Medians of a number have the shapes (n_parts,), () and (n_parts,); shares of categories
    (n_parts, n_categories), (n_categories,) and (n_parts, n_categories).
    """

    parts: Floats
    all_rows: Floats
    distance: Floats


def weighted_quantiles(values: Floats, weights: Floats, levels: tuple[float, ...]) -> Floats:
    """Quantiles of values (n_rows,) by each column of weights, (n_levels, n_columns).

    A quantile is the value at which the weights, added up in the order of the values, pass the
    level; where they hit it exactly, the mean of that value and the next, as for the median.
    """
    order = np.argsort(values, kind="stable")
    ascending, held = values[order], np.cumsum(weights[order], axis=0)
    found = np.empty((len(levels), weights.shape[1]))
    for k, (part, total) in enumerate(zip(held.T, held[-1], strict=True)):
        goals = np.multiply(levels, total)
        low = np.searchsorted(part, goals - ROUNDING * total, side="left")
        high = np.searchsorted(part, goals + ROUNDING * total, side="right")
        found[:, k] = (ascending[low] + ascending[np.minimum(high, len(values) - 1)]) / 2
    return found


def compare_medians(values: Floats, memberships: Floats) -> StandingOut:
    r"""Difference of medians over the pooled robust spread.

    With the quartiles' distance :math:`q` over 1.349 as spread :math:`s`, part :math:`k` lies
    :math:`(m_k - m) / \sqrt{(s_k^2 + s^2) / 2}` from all rows. Where both spreads are zero,
    standard deviations take their place. A part without weight has the distance zero.
    """
    weights = np.column_stack([memberships, np.ones(len(values))])
    heavy = weights.sum(axis=0) > 0
    weights[:, ~heavy] = 1.0
    low, medians, high = weighted_quantiles(values, weights, QUARTILES)
    spread = _pooled((high - low) / NORMAL_RANGE)
    deviation = _pooled(_deviations(values, weights))
    scale = np.where(spread > 0, spread, deviation)
    gaps = medians[:-1] - medians[-1]
    distance = np.divide(gaps, scale, out=np.zeros_like(gaps), where=scale > 0)
    return StandingOut(medians[:-1], medians[-1], distance)


def compare_shares(codes: NDArray[np.integer], n_codes: int, memberships: Floats) -> StandingOut:
    r"""Shares of the codes 0 to ``n_codes`` - 1, and Cohen's distance between them.

    :math:`h = 2 \arcsin \sqrt{p_k} - 2 \arcsin \sqrt{p}`, which reads on the scale of a
    difference of medians. A part without weight has the shares of all rows.
    """
    everywhere = np.bincount(codes, minlength=n_codes) / len(codes)
    totals = memberships.sum(axis=0)
    parts = np.tile(everywhere, (memberships.shape[1], 1))
    for k in np.flatnonzero(totals > 0):
        parts[k] = np.bincount(codes, memberships[:, k], minlength=n_codes) / totals[k]
    return StandingOut(parts, everywhere, _angle(parts) - _angle(everywhere))


def _angle(shares: Floats) -> Floats:
    return np.asarray(2 * np.arcsin(np.sqrt(np.clip(shares, 0, 1))))


def _pooled(spreads: Floats) -> Floats:
    """Pool each part's spread with that of all rows, which stands last."""
    return np.asarray(np.sqrt((spreads[:-1] ** 2 + spreads[-1] ** 2) / 2))


def _deviations(values: Floats, weights: Floats) -> Floats:
    shares = weights / weights.sum(axis=0)
    centred = values[:, None] - values @ shares
    return np.asarray(np.sqrt((shares * centred**2).sum(axis=0)))
