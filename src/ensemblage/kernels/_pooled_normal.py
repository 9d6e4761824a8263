"""Least squares with coefficients that sources share, and deviations from them, in closed form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


class SourceProducts(NamedTuple):
    """All that squared errors need to know of the rows of each source.

    ``grams`` are :math:`X^T W X`, of shape (n_sources, width, width), ``moments`` :math:`X^T W y`,
    (n_sources, width), ``squares`` :math:`y^T W y` and ``weights`` the rows' weights, (n_sources,).
    """

    grams: Doubles
    moments: Doubles
    squares: Doubles
    weights: Doubles


class SharedAndOwn(NamedTuple):
    """Of shared coefficients, (width,), and of sources' deviations, (width,) or one row each."""

    shared: Doubles
    own: Doubles


def source_products(
    rows: Doubles, y: Doubles, weights: Doubles, sources: NDArray[np.int64], n_sources: int
) -> SourceProducts:
    """Add up the products of the rows of each source; rows are of shape (n_rows, width)."""
    width = rows.shape[1]
    grams, moments = np.zeros((n_sources, width, width)), np.zeros((n_sources, width))
    for s in range(n_sources):
        own = sources == s
        heavy = rows[own] * weights[own, None]
        grams[s], moments[s] = heavy.T @ rows[own], heavy.T @ y[own]
    added = [np.bincount(sources, each, n_sources) for each in (weights * y**2, weights)]
    return SourceProducts(grams, moments, *(np.asarray(each, dtype=float) for each in added))


def solve_pooled(data: SourceProducts, penalties: SharedAndOwn) -> SharedAndOwn:
    r"""Minimise squared errors with penalties on shared coefficients B and deviations D.

    .. math:: \tfrac12 \sum_m w_m (y_m - x_m \cdot (B + D_{s(m)}))^2 + \tfrac12 B^T \Lambda_0 B +
        \tfrac12 \sum_s D_s^T \Lambda_1 D_s .

    Penalties are the diagonals; where one is infinite, its coefficient is zero. With :math:`A_s,
    b_s` the products of source s and :math:`S_s = (A_s + \Lambda_1)^{-1}`, B solves

    .. math:: \big( \Lambda_0 + \sum_s A_s - A_s S_s A_s \big) B = \sum_s b_s - A_s S_s b_s ,

    and :math:`D_s = S_s (b_s - A_s B)`.
    """
    width = len(penalties.shared)
    shared, own = np.isfinite(penalties.shared), np.isfinite(penalties.own)
    inner = data.grams[:, own][:, :, own] + np.diag(penalties.own[own])
    cross = data.grams[:, own][:, :, shared]
    solved = np.linalg.solve(inner, np.concatenate([cross, data.moments[:, own, None]], axis=2))
    of_cross, of_moments = solved[..., :-1], solved[..., -1]
    turned = cross.transpose(0, 2, 1)
    left = (data.grams[:, shared][:, :, shared] - turned @ of_cross).sum(axis=0)
    right = (data.moments[:, shared] - (turned @ of_moments[..., None])[..., 0]).sum(axis=0)
    found = SharedAndOwn(np.zeros(width), np.zeros((len(data.grams), width)))
    best = np.linalg.lstsq(left + np.diag(penalties.shared[shared]), right)[0]
    found.shared[shared] = best
    found.own[:, own] = of_moments - of_cross @ best
    return found


def squared_error(data: SourceProducts, coefs: Doubles) -> float:
    """Weighted sum of squared errors under each source's coefficients, (n_sources, width)."""
    bent = (coefs[:, None, :] @ data.grams @ coefs[:, :, None])[:, 0, 0]
    each = data.squares - 2 * (coefs * data.moments).sum(axis=1) + bent
    return float(np.maximum(each, 0.0).sum())
