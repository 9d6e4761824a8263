"""Solvers of partial pooling: logistic loss, squared error in closed form, penalties."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ensemblage._core import Fold, compiled, deal_folds
from ensemblage.sources._source_codes import class_source_pairs

Doubles = NDArray[np.float64]

CURVATURE = 0.25
"""Upper bound on the curvature of a row's logistic loss, to scale the coefficients."""
INTERCEPT_PENALTY = 1.0
"""On the deviation of a source's intercept: its prior variance is one."""
INF = float("inf")
COMMON_GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, INF)
"""Penalties on common coefficients to choose from."""
DEVIATION_GRID = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, INF)
"""Penalties on deviations to choose from."""
SEARCH_TOL = 1e-3
"""Largest gradient entry per unit of weight in the search."""
MAX_SEARCH_ROWS = 20_000
"""Rows of the search; penalties describe coefficients, and do not depend on their number."""
MAX_ROUNDS = 4
"""Rounds of the coordinate search."""


class SourceRows(NamedTuple):
    """Rows sorted by source: those of source s are ``starts[s]`` to ``starts[s + 1]``.

    ``rows``, of shape (n_rows, n_features + 1), has a one behind the columns, for the intercept.
    """

    rows: Doubles
    labels: NDArray[np.int64]
    weights: Doubles
    starts: NDArray[np.int64]

    @property
    def n_sources(self) -> int:
        """Number of sources, those without rows included."""
        return len(self.starts) - 1


# sums may be taken in any order, so that a row's product with the coefficients is a few wide steps
@compiled(fastmath={"reassoc", "nsz", "contract"})
def add_source_losses(data: SourceRows, coefs: Doubles, gradient: Doubles) -> float:
    r"""Add up :math:`-w_m \log p(y_m \mid x_m)`, each row under its own source's coefficients.

    ``coefs`` and ``gradient`` have shape (n_sources, n_logits, n_features + 1); the gradient is
    added in place. One logit is that of class 1 against class 0, otherwise each class has one.
    """
    n_logits, width = coefs.shape[1], coefs.shape[2]
    z = np.empty(n_logits)
    total = 0.0
    for s in range(len(data.starts) - 1):
        for m in range(data.starts[s], data.starts[s + 1]):
            label, weight = data.labels[m], data.weights[m]
            for k in range(n_logits):
                dot = 0.0
                for j in range(width):
                    dot += coefs[s, k, j] * data.rows[m, j]
                z[k] = dot
            top = max(z.max(), 0.0) if n_logits == 1 else z.max()
            # class 0 of two has the logit 0
            sum_exp = np.exp(-top) if n_logits == 1 else 0.0
            true = z[label] if n_logits > 1 else z[0] * label
            for k in range(n_logits):
                z[k] = np.exp(z[k] - top)
                sum_exp += z[k]
            total += weight * (np.log(sum_exp) + top - true)
            for k in range(n_logits):
                hit = label == k if n_logits > 1 else label == 1
                residual = weight * (z[k] / sum_exp - (1.0 if hit else 0.0))
                for j in range(width):
                    gradient[s, k, j] += residual * data.rows[m, j]
    return total


class Penalties(NamedTuple):
    r"""On common coefficients, :math:`\lambda_0`, and on deviations, :math:`\lambda_1`.

    Infinity sets them to zero.
    """

    common: float
    deviation: float


class PooledCoefs(NamedTuple):
    """Common coefficients, (..., n_features + 1), and deviations from them, (n_sources, ...)."""

    common: Doubles
    deviations: Doubles

    @classmethod
    def zeros(cls, n_sources: int, n_logits: int, width: int) -> PooledCoefs:
        return cls(np.zeros((n_logits, width)), np.zeros((n_sources, n_logits, width)))

    @property
    def coefs(self) -> Doubles:
        """Coefficients of each source."""
        return self.common + self.deviations

    @property
    def mean(self) -> Doubles:
        """Mean over the sources, used for an unknown source."""
        return np.asarray(self.common + self.deviations.mean(axis=0))


class GramStatistics(NamedTuple):
    """Sufficient statistics of the squared error, by source.

    ``grams`` are :math:`X^T W X`, of shape (n_sources, width, width), ``moments`` :math:`X^T W y`,
    (n_sources, width), ``squares`` :math:`y^T W y` and ``weights`` the rows' weights, (n_sources,).
    """

    grams: Doubles
    moments: Doubles
    squares: Doubles
    weights: Doubles


class PoolingData(NamedTuple):
    """Rows in any order, a one behind their columns, with their target, sources and weights.

    ``y`` are class codes, or a standardised numeric target.
    """

    rows: Doubles
    y: NDArray[Any]
    sources: NDArray[np.int64]
    weights: Doubles
    n_sources: int

    def by_source(self, chosen: NDArray[np.intp] | None = None) -> SourceRows:
        """Sort the rows, or those chosen, by source."""
        order = np.argsort(self.sources if chosen is None else self.sources[chosen], kind="stable")
        order = order if chosen is None else chosen[order]
        starts = np.searchsorted(self.sources[order], np.arange(self.n_sources + 1))
        rows = np.ascontiguousarray(self.rows[order])
        return SourceRows(rows, self.y[order], self.weights[order], starts.astype(np.int64))

    def grams(self, chosen: NDArray[np.intp]) -> GramStatistics:
        """Compute the statistics of some rows."""
        rows, y, weights = self.rows[chosen], self.y[chosen], self.weights[chosen]
        sources, width = self.sources[chosen], self.rows.shape[1]
        grams, moments = np.zeros((self.n_sources, width, width)), np.zeros((self.n_sources, width))
        for s in range(self.n_sources):
            own = sources == s
            weighted = rows[own] * weights[own, None]
            grams[s], moments[s] = weighted.T @ rows[own], weighted.T @ y[own]
        sums = [np.bincount(sources, each, self.n_sources) for each in (weights * y**2, weights)]
        return GramStatistics(grams, moments, *(np.asarray(each, dtype=float) for each in sums))


def solve_ridge(
    data: GramStatistics, common_penalty: Doubles, deviation_penalty: Doubles
) -> PooledCoefs:
    r"""Minimise squared errors with penalties on common coefficients B and deviations D.

    .. math:: \tfrac12 \sum_m w_m (y_m - x_m \cdot (B + D_{s(m)}))^2 + \tfrac12 B^T \Lambda_0 B +
        \tfrac12 \sum_s D_s^T \Lambda_1 D_s .

    Penalties are the diagonals; where one is infinite, its coefficient is zero. With :math:`A_s,
    b_s` the products of source s and :math:`S_s = (A_s + \Lambda_1)^{-1}`, B solves

    .. math:: \big( \Lambda_0 + \sum_s A_s - A_s S_s A_s \big) B = \sum_s b_s - A_s S_s b_s ,

    and :math:`D_s = S_s (b_s - A_s B)`.
    """
    width = len(common_penalty)
    common, own = np.isfinite(common_penalty), np.isfinite(deviation_penalty)
    inner = data.grams[:, own][:, :, own] + np.diag(deviation_penalty[own])
    cross = data.grams[:, own][:, :, common]
    solved = np.linalg.solve(inner, np.concatenate([cross, data.moments[:, own, None]], axis=2))
    of_cross, of_moments = solved[..., :-1], solved[..., -1]
    transposed = cross.transpose(0, 2, 1)
    left = (data.grams[:, common][:, :, common] - transposed @ of_cross).sum(axis=0)
    right = (data.moments[:, common] - (transposed @ of_moments[..., None])[..., 0]).sum(axis=0)
    found = PooledCoefs(np.zeros(width), np.zeros((len(data.grams), width)))
    best = np.linalg.lstsq(left + np.diag(common_penalty[common]), right)[0]
    found.common[common] = best
    found.deviations[:, own] = of_moments - of_cross @ best
    return found


def fit_ridge(data: GramStatistics, penalties: Penalties) -> tuple[PooledCoefs, Doubles]:
    """Also give standard deviations of the deviations, per residual standard deviation."""
    width = data.moments.shape[1]
    common, own = (np.full(width, each) for each in penalties)
    common[-1], own[-1] = 0.0, INTERCEPT_PENALTY
    sd = np.zeros((len(data.grams), width - 1))
    if np.isfinite(penalties.deviation):
        inverse = np.linalg.inv(data.grams + np.diag(own))
        sd = np.sqrt(np.diagonal(inverse, axis1=1, axis2=2)[:, :-1])
    return solve_ridge(data, common, own), sd


def squared_error(data: GramStatistics, coefs: Doubles) -> float:
    """Weighted sum of squared errors under each source's coefficients, (n_sources, width)."""
    quadratic = (coefs[:, None, :] @ data.grams @ coefs[:, :, None])[:, 0, 0]
    each = data.squares - 2 * (coefs * data.moments).sum(axis=1) + quadratic
    return float(np.maximum(each, 0.0).sum())


def ridge_cv_loss(data: PoolingData, folds: Sequence[Fold]) -> Callable[[Penalties], float]:
    """Give the mean squared error on test rows as a function of the penalties."""
    parts = [(data.grams(train), data.grams(test)) for train, test in folds]
    parts = [each for each in parts if all(side.weights.sum() > 0 for side in each)]

    def loss(penalties: Penalties) -> float:
        fits = [(fit_ridge(train, penalties)[0].coefs, test) for train, test in parts]
        total = sum(squared_error(test, coefs) for coefs, test in fits)
        return total / sum(float(test.weights.sum()) for _, test in parts)

    return loss


def fit_logistic(
    data: SourceRows,
    penalties: Penalties,
    start: PooledCoefs,
    *,
    tol: float = 1e-4,
    max_iter: int = 500,
) -> tuple[PooledCoefs, int]:
    r"""Minimise the penalised loss from a start of the right shapes; also give the iterations.

    .. math:: -\sum_m w_m \log p(y_m \mid x_m; B + D_{s(m)}) + \tfrac{\lambda_0}{2} \|B\|^2 +
        \tfrac{\lambda_1}{2} \sum_s \|D_s\|^2 + \tfrac12 \sum_s \|d_s\|^2

    with deviations d of the intercepts; ``tol`` bounds the gradient per unit of weight.
    """
    common = np.full_like(start.common, penalties.common)
    common[:, -1] = 0.0
    own = np.full_like(start.deviations, penalties.deviation)
    own[..., -1] = INTERCEPT_PENALTY
    penalty = np.concatenate([common.ravel(), own.ravel()])
    free, split = np.isfinite(penalty), start.common.size
    penalty = np.where(free, penalty, 0.0)
    scale = 1 / np.sqrt(_effective_weights(data, start) * CURVATURE + penalty)
    full = np.zeros(len(free))

    def unpack(values: Doubles) -> PooledCoefs:
        full[free] = values * scale[free]
        return PooledCoefs(
            full[:split].reshape(start.common.shape), full[split:].reshape(start.deviations.shape)
        )

    def loss(values: Doubles) -> tuple[float, Doubles]:
        found = unpack(values)
        by_source = np.zeros_like(found.deviations)
        total = add_source_losses(data, found.coefs, by_source)
        gradient = np.concatenate([by_source.sum(axis=0).ravel(), by_source.ravel()])
        gradient += penalty * full
        return total + 0.5 * float(penalty @ full**2), (gradient * scale)[free]

    first = np.concatenate([part.ravel() for part in start])[free] / scale[free]
    options: Any = {"maxiter": max_iter, "gtol": tol * np.sqrt(data.weights.sum()), "ftol": 1e-12}
    best = minimize(loss, first, jac=True, method="L-BFGS-B", options=options)
    found = unpack(best.x)
    return PooledCoefs(*(part.copy() for part in found)), max(int(best.nit), 1)


def _effective_weights(data: SourceRows, start: PooledCoefs) -> Doubles:
    """Total weight of the rows of each coefficient; at least that of one mean row."""
    weights = np.array([data.weights[a:b].sum() for a, b in pairwise(data.starts)])
    least = data.weights.mean()
    common = np.full(start.common.size, weights.sum())
    per_source = start.deviations[0].size
    return np.concatenate([common, np.repeat(np.maximum(weights, least), per_source)])


def mean_log_loss(data: SourceRows, coefs: Doubles) -> float:
    """Log loss per unit of weight."""
    total: float = add_source_losses(data, coefs, np.zeros_like(coefs))
    return total / float(data.weights.sum())


def logistic_cv_loss(
    data: PoolingData, start: PooledCoefs, folds: Sequence[Fold]
) -> Callable[[Penalties], float]:
    """Give the log loss on test rows as a function of the penalties.

    Fits are warm-started from the previous call, so that results depend on the order of calls.
    """
    parts = [
        tuple(data.by_source(side) for side in fold)
        for fold in folds
        if all(data.weights[side].sum() > 0 for side in fold)
    ]
    at = [start] * len(parts)

    def loss(penalties: Penalties) -> float:
        total = weight = 0.0
        for k, (train, test) in enumerate(parts):
            at[k], _ = fit_logistic(train, penalties, at[k], tol=SEARCH_TOL)
            own = float(test.weights.sum())
            total += own * mean_log_loss(test, at[k].coefs)
            weight += own
        return total / weight

    return loss


def search_penalties(
    loss: Callable[[Penalties], float],
    n_sources: int,
    common_grid: Sequence[float] = COMMON_GRID,
    deviation_grid: Sequence[float] = DEVIATION_GRID,
) -> Penalties:
    """Coordinate search from two starts: sources differ in intercepts only, or in all.

    Of equally good penalties the largest are chosen.
    """
    loss = cache(loss)

    def best(candidates: Iterable[Penalties]) -> Penalties:
        return min(reversed(list(candidates)), key=loss)

    def coordinate_search(found: Penalties) -> Penalties:
        for _ in range(MAX_ROUNDS):
            before = found
            found = best(Penalties(found.common, each) for each in deviation_grid)
            found = best(Penalties(each, found.deviation) for each in common_grid)
            if found == before:
                break
        return found

    if n_sources == 1:  # deviations are not identified
        return best(Penalties(each, INF) for each in common_grid)
    together = best(Penalties(each, deviation_grid[-1]) for each in common_grid)
    apart = best(Penalties(common_grid[-1], each) for each in deviation_grid)
    return best([coordinate_search(apart), coordinate_search(together)])


def search_folds(
    labels: NDArray[np.int64], sources: NDArray[np.int64], n_folds: int, rng: np.random.Generator
) -> list[Fold]:
    """Make folds stratified by source and class, of a sample if there are many rows."""
    chosen, pairs = np.arange(len(labels)), class_source_pairs(sources, labels)
    if len(chosen) > MAX_SEARCH_ROWS:
        chosen = deal_folds(pairs, -(-len(chosen) // MAX_SEARCH_ROWS), rng)[0].test
    folds = deal_folds(pairs[chosen], n_folds, rng)
    return [Fold(chosen[train], chosen[test]) for train, test in folds]
