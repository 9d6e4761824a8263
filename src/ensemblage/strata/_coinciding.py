"""Strata that coincide, taken as one: no price could tell them apart."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.strata._gaussian_start import StrataModel

Floats = NDArray[np.floating[Any]]
Doubles = NDArray[np.float64]
Numbers = NDArray[np.intp]

SAME = 5e-3
"""Gaussians with a smaller divergence coincide: where they are high their log densities differ by
7 %, and iterations that stopped there had not begun to part them."""


class Groups(NamedTuple):
    r"""Strata that coincide, taken as one.

    Members of a group share a row equally. With :math:`\tau` the membership in each of them, the
    row's likelihood has the part :math:`\tau \sum_j p_j`: a group is a stratum like any other,
    with the sum of its members' densities, a price that is the sum of theirs, and their size.
    """

    numbers: Numbers
    """Group of each stratum, of shape (n_strata,), numbered by their first members."""

    @property
    def counts(self) -> Numbers:
        """Number of strata in each group."""
        return np.bincount(self.numbers)

    @property
    def distinct(self) -> bool:
        """Whether each stratum is a group of its own."""
        return len(self.counts) == len(self.numbers)

    def join_densities(self, log_density: Floats) -> Floats:
        """Log densities of the groups, of shape (n_groups, n_rows), from those of the strata."""
        if self.distinct:
            return log_density
        _, firsts = np.unique(self.numbers, return_index=True)
        joined: Floats = log_density[firsts]
        for group in np.flatnonzero(self.counts > 1):
            joined[group] = np.logaddexp.reduce(log_density[self.numbers == group])
        return joined

    def join_sizes(self, sizes: Doubles) -> Doubles:
        """Size of each group's members, the mean where sizes may range."""
        return sizes if self.distinct else self._means(sizes)

    def join_scales(self, log_scales: Doubles) -> Doubles:
        """Log scales of the groups, that is, minus the logs of their prices."""
        return log_scales if self.distinct else self._means(log_scales) - np.log(self.counts)

    def split_scales(self, log_scales: Doubles) -> Doubles:
        """Log scales of the strata from those of their groups."""
        return log_scales if self.distinct else (log_scales + np.log(self.counts))[self.numbers]

    def join_memberships(self, log_memberships: Floats) -> Floats:
        """Log of the mean membership in each group, of shape (n_groups, n_rows)."""
        means: Floats = self.join_densities(log_memberships) - np.log(self.counts)[:, None]
        return means

    def split_memberships(self, memberships: Floats) -> Floats:
        """Memberships in the strata, of shape (n_rows, n_strata), from those in their groups."""
        return memberships if self.distinct else memberships[:, self.numbers]

    def _means(self, values: Doubles) -> Doubles:
        return np.bincount(self.numbers, values) / self.counts


class SharedModel(NamedTuple):
    """Densities in which strata that coincide are one."""

    model: StrataModel
    groups: Groups

    def log_densities(self, rows: Floats) -> Floats:
        """Log density of each row, of shape (n_groups, n_rows)."""
        return self.groups.join_densities(self.model.log_densities(rows))


def find_groups(model: StrataModel) -> Groups:
    """Put each stratum to the first one before it that it coincides with, or else apart."""
    firsts = [0]
    numbers = np.zeros(len(model.gaussians.means), dtype=np.intp)
    for j in range(1, len(numbers)):
        same = divergences(model, j, firsts) < SAME
        numbers[j] = same.argmax() if same.any() else len(firsts)
        if not same.any():
            firsts.append(j)
    return Groups(numbers)


def divergences(model: StrataModel, j: int, others: list[int]) -> Doubles:
    r"""Jeffreys' divergence, the sum of both Kullback-Leibler divergences, from some strata.

    It is :math:`\frac12 \mathrm{tr}((P_j - P_k)(\Sigma_k - \Sigma_j)) + \frac12 \delta'(P_j +
    P_k)\delta` with precisions :math:`P` and :math:`\delta = \mu_k - \mu_j`: about the mean square
    of the difference of the log densities.
    """
    means, covariances, factors = model.gaussians
    apart = means[others] - means[j]
    twice: Doubles
    if model.kind == "tied":
        twice = 2 * ((apart @ factors) ** 2).sum(axis=1)
    elif model.kind == "full":
        spread = covariances[others] - covariances[j]
        precisions = factors @ np.swapaxes(factors, 1, 2)
        less, more = precisions[j] - precisions[others], precisions[j] + precisions[others]
        twice = (less * spread).sum(axis=(1, 2)) + np.einsum("kd,kde,ke->k", apart, more, apart)
    else:
        by_column = (len(others), -1)  # one column if spherical
        own, theirs = factors[j].reshape(-1), factors[others].reshape(by_column)
        spread = (covariances[others] - covariances[j]).reshape(by_column)
        parts = (own - theirs) * spread + apart**2 * (own + theirs)
        twice = parts.sum(axis=1)
    return twice / 2
