"""Solvers of partial pooling: logistic loss, squared error in closed form, penalties."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ensemblage._core import Fold, compiled, deal_folds

Doubles = NDArray[np.float64]

CURVATURE = 0.25
"""Upper bound on the curvature of a row's logistic loss, to scale the coefficients."""
INF = float("inf")
COMMON_GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, INF)
"""Penalties on common coefficients to choose from."""
DEVIATION_GRID = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, INF)
"""Penalties on deviations to choose from."""
INTERCEPT_GRID = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, INF)
"""Penalties on deviations of intercepts to choose from."""
START_PENALTY = 3.0
"""Of what the coordinate search begins with, unless that is infinite."""
SEARCH_TOL = 1e-3
"""Largest gradient entry per unit of weight in the search."""
MAX_SEARCH_ROWS = 10_000
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
    """On common coefficients, and on the deviations of sources and of their intercepts.

    Infinity sets them to zero. The inner ones are on deviations of nested sources from their outer
    source.
    """

    common: float
    deviation: float
    intercept: float
    inner_deviation: float = INF
    inner_intercept: float = INF

    def diagonals(self, width: int) -> tuple[Doubles, Doubles, Doubles]:
        """Penalty of each common coefficient, deviation and inner deviation; intercepts last."""

        def diagonal(slope: float, intercept: float) -> Doubles:
            return np.append(np.full(width - 1, slope), intercept)

        return (
            diagonal(self.common, 0.0),
            diagonal(self.deviation, self.intercept),
            diagonal(self.inner_deviation, self.inner_intercept),
        )


GRIDS: dict[str, tuple[float, ...]] = {
    "deviation": DEVIATION_GRID,
    "inner_deviation": DEVIATION_GRID,
    "common": COMMON_GRID,
    "intercept": INTERCEPT_GRID,
    "inner_intercept": INTERCEPT_GRID,
}
"""Of each penalty, in the order in which the coordinate search goes through them."""


class PooledCoefs(NamedTuple):
    """Common coefficients, deviations of outer sources from them, and of sources from these.

    Their shapes are (..., n_features + 1), (n_outer, ...) and (n_sources, ...); ``outer``,
    (n_sources,), are the outer sources, sorted. Sources of one level are outer sources themselves,
    and have no inner deviations.
    """

    common: Doubles
    deviations: Doubles
    inner_deviations: Doubles
    outer: NDArray[np.int64]

    @classmethod
    def zeros(cls, outer: NDArray[np.int64], *shape: int) -> PooledCoefs:
        """Zero coefficients of the shape (..., n_features + 1)."""
        n_outer = int(outer[-1]) + 1
        levels = np.zeros((n_outer, *shape)), np.zeros((len(outer), *shape))
        return cls(np.zeros(shape), *levels, outer)

    def scaled(self, factor: float) -> PooledCoefs:
        """Multiply all coefficients."""
        parts = factor * self.common, factor * self.deviations, factor * self.inner_deviations
        return PooledCoefs(*parts, self.outer)

    @property
    def coefs(self) -> Doubles:
        """Coefficients of each source."""
        return np.asarray(self.common + self.deviations[self.outer] + self.inner_deviations)

    @property
    def outer_coefs(self) -> Doubles:
        """Mean over the sources of each outer source, used for an unknown inner source."""
        n_inner = np.bincount(self.outer).reshape(-1, *[1] * self.common.ndim)
        mean = sum_by_outer(self.inner_deviations, self.outer) / n_inner
        return np.asarray(self.common + (self.deviations + mean))

    @property
    def mean(self) -> Doubles:
        """Mean over the outer sources, used for an unknown source."""
        return np.asarray(self.common + (self.outer_coefs - self.common).mean(axis=0))


def sum_by_outer(values: Doubles, outer: NDArray[np.int64]) -> Doubles:
    """Sum values of sources, the first axis, over those of the same outer source."""
    starts = np.flatnonzero(np.diff(outer, prepend=-1))
    return np.asarray(np.add.reduceat(values, starts, axis=0))


class GramStatistics(NamedTuple):
    """Sufficient statistics of the squared error, by source.

    ``grams`` are :math:`X^T W X`, of shape (n_sources, width, width), ``moments`` :math:`X^T W y`,
    (n_sources, width), ``squares`` :math:`y^T W y` and ``weights`` the rows' weights, (n_sources,).
    ``outer`` are the outer sources, (n_sources,).
    """

    grams: Doubles
    moments: Doubles
    squares: Doubles
    weights: Doubles
    outer: NDArray[np.int64]


class PoolingData(NamedTuple):
    """Rows in any order, a one behind their columns, with their target, sources and weights.

    ``y`` are class codes, or a standardised numeric target. ``outer``, (n_sources,), are the outer
    sources, sorted; sources of one level are outer sources themselves.
    """

    rows: Doubles
    y: NDArray[Any]
    sources: NDArray[np.int64]
    weights: Doubles
    outer: NDArray[np.int64]

    @property
    def n_sources(self) -> int:
        """Number of sources, those without rows included."""
        return len(self.outer)

    def by_source(self, chosen: NDArray[np.intp] | None = None) -> SourceRows:
        """Sort the rows, or those chosen, by source."""
        order = np.argsort(self.sources if chosen is None else self.sources[chosen], kind="stable")
        order = order if chosen is None else chosen[order]
        starts = np.searchsorted(self.sources[order], np.arange(self.n_sources + 1))
        rows = np.ascontiguousarray(self.rows[order])
        return SourceRows(rows, self.y[order], self.weights[order], starts.astype(np.int64))

    def grams(self, chosen: NDArray[np.intp] | None = None) -> GramStatistics:
        """Compute the statistics of the rows, or those chosen."""
        rows, y, weights, starts = self.by_source(chosen)
        n_sources, width = self.n_sources, rows.shape[1]
        grams, moments = np.zeros((n_sources, width, width)), np.zeros((n_sources, width))
        for s, (first, last) in enumerate(pairwise(starts)):
            own = slice(first, last)
            weighted = rows[own] * weights[own, None]
            grams[s], moments[s] = weighted.T @ rows[own], weighted.T @ y[own]
        sources = np.repeat(np.arange(n_sources), np.diff(starts))
        squares, totals = (
            np.bincount(sources, each, n_sources).astype(float)
            for each in (weights * y**2, weights)
        )
        return GramStatistics(grams, moments, squares, totals, self.outer)


class Eliminated(NamedTuple):
    r"""Squared errors minimised over the deviations of each source, whatever they deviate from.

    With :math:`A_s, b_s` the products of source s and :math:`S_s = (A_s + \Lambda)^{-1}`, the
    minimum is the squared error of the products ``grams`` :math:`A_s - A_s S_s A_s` and ``moments``
    :math:`b_s - A_s S_s b_s`; deviations from coefficients B are ``own`` :math:`S_s b_s` less
    ``slope`` :math:`S_s A_s` times B.
    """

    grams: Doubles
    moments: Doubles
    slope: Doubles
    own: Doubles

    def deviations_from(self, coefs: Doubles) -> Doubles:
        """Give the deviations from coefficients of each source, or of all, (n or 1, width)."""
        return np.asarray(self.own - (self.slope @ coefs[..., None])[..., 0])


def eliminate(grams: Doubles, moments: Doubles, penalty: Doubles) -> Eliminated:
    """Eliminate the deviations of each source; they are zero where the penalty is infinite."""
    own = np.isfinite(penalty)
    given = np.concatenate([grams, moments[..., None]], axis=2)
    solved = np.zeros_like(given)
    if own.any():
        inner = grams[:, own][:, :, own] + np.diag(penalty[own])
        solved[:, own] = np.linalg.solve(inner, given[:, own])
        given = given - grams[:, :, own] @ solved[:, own]
    return Eliminated(given[..., :-1], given[..., -1], solved[..., :-1], solved[..., -1])


def solve_ridge(
    data: GramStatistics,
    common_penalty: Doubles,
    deviation_penalty: Doubles,
    inner_penalty: Doubles,
) -> PooledCoefs:
    r"""Minimise squared errors with penalties on common coefficients B and deviations D and E.

    .. math:: \tfrac12 \sum_m w_m (y_m - x_m \cdot (B + D_{o(m)} + E_{s(m)}))^2 +
        \tfrac12 B^T \Lambda_0 B + \tfrac12 \sum_o D_o^T \Lambda_1 D_o +
        \tfrac12 \sum_s E_s^T \Lambda_2 E_s .

    Penalties are the diagonals; where one is infinite, its coefficient is zero. Eliminating E gives
    the products of each source given the coefficients of its outer source o, whose sums over the
    sources of o are those of o; eliminating D gives the products of the common coefficients.
    """
    sources = eliminate(data.grams, data.moments, inner_penalty)
    sums = [sum_by_outer(each, data.outer) for each in sources[:2]]
    outer = eliminate(sums[0], sums[1], deviation_penalty)
    left, right = outer.grams.sum(axis=0), outer.moments.sum(axis=0)
    common = np.isfinite(common_penalty)
    found = PooledCoefs.zeros(data.outer, len(common_penalty))
    found.common[common] = np.linalg.lstsq(
        left[common][:, common] + np.diag(common_penalty[common]), right[common]
    )[0]
    found.deviations[:] = outer.deviations_from(found.common[None])
    of_outer = (found.common + found.deviations)[data.outer]
    found.inner_deviations[:] = sources.deviations_from(of_outer)
    return found


def fit_ridge(data: GramStatistics, penalties: Penalties) -> PooledCoefs:
    """Minimise squared errors in closed form."""
    return solve_ridge(data, *penalties.diagonals(data.moments.shape[1]))


def deviation_sds(
    grams: Doubles, outer: NDArray[np.int64], penalties: Penalties
) -> tuple[Doubles, Doubles]:
    """Give standard deviations of deviations and inner ones, by the curvature of the loss.

    Those of outer sources are given the common coefficients, whatever the inner deviations; those
    of sources are given the coefficients of their outer source. ``grams`` are curvatures,
    (n_sources, width, width).
    """
    _, own, inner = penalties.diagonals(grams.shape[2])
    effective = eliminate(grams, grams[..., 0], inner).grams
    return _inverse_sds(sum_by_outer(effective, outer), own), _inverse_sds(grams, inner)


def _inverse_sds(grams: Doubles, penalty: Doubles) -> Doubles:
    own, out = np.isfinite(penalty), np.zeros(grams.shape[:2])
    if own.any():
        inverse = np.linalg.inv(grams[:, own][:, :, own] + np.diag(penalty[own]))
        out[:, own] = np.sqrt(np.diagonal(inverse, axis1=1, axis2=2))
    return out


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
        fits = [(fit_ridge(train, penalties).coefs, test) for train, test in parts]
        total = sum(squared_error(test, coefs) for coefs, test in fits)
        return total / (sum(float(test.weights.sum()) for _, test in parts) or 1.0)

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

    .. math:: -\sum_m w_m \log p(y_m \mid x_m; B + D_{o(m)} + E_{s(m)}) +
        \tfrac12 \big( \|B\|^2_{\Lambda_0} + \sum_o \|D_o\|^2_{\Lambda_1} +
        \sum_s \|E_s\|^2_{\Lambda_2} \big)

    with deviations D of outer sources and E of sources from these; ``tol`` bounds the gradient per
    unit of weight.
    """
    parts, outer = start[:3], start.outer
    diagonals = penalties.diagonals(start.common.shape[-1])
    penalty = np.concatenate(
        [
            np.broadcast_to(one, part.shape).ravel()
            for one, part in zip(diagonals, parts, strict=True)
        ]
    )
    free = np.isfinite(penalty)
    penalty = np.where(free, penalty, 0.0)
    scale = 1 / np.sqrt(_effective_weights(data, start) * CURVATURE + penalty)
    full, ends = np.zeros(len(free)), np.cumsum([part.size for part in parts])

    def unpack(values: Doubles) -> PooledCoefs:
        full[free] = values * scale[free]
        common, deviations, inner = (
            found.reshape(part.shape)
            for found, part in zip(np.split(full, ends[:-1]), parts, strict=True)
        )
        return PooledCoefs(common, deviations, inner, outer)

    def loss(values: Doubles) -> tuple[float, Doubles]:
        by_source = np.zeros_like(start.inner_deviations)
        total = add_source_losses(data, unpack(values).coefs, by_source)
        by_outer = sum_by_outer(by_source, outer)
        gradients = (by_source.sum(axis=0), by_outer, by_source)
        gradient = np.concatenate([each.ravel() for each in gradients]) + penalty * full
        return total + 0.5 * float(penalty @ full**2), (gradient * scale)[free]

    first = np.concatenate([part.ravel() for part in parts])[free] / scale[free]
    options: Any = {"maxiter": max_iter, "gtol": tol * np.sqrt(data.weights.sum()), "ftol": 1e-12}
    best = minimize(loss, first, jac=True, method="L-BFGS-B", options=options)
    return unpack(best.x), max(int(best.nit), 1)


def _effective_weights(data: SourceRows, start: PooledCoefs) -> Doubles:
    """Total weight of the rows of each coefficient; at least that of one mean row."""
    weights = np.array([data.weights[a:b].sum() for a, b in pairwise(data.starts)])
    levels = (weights.sum()[None], sum_by_outer(weights, start.outer), weights)
    return np.repeat(np.maximum(np.concatenate(levels), data.weights.mean()), start.common.size)


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
        return total / (weight or 1.0)

    return loss


def search_penalties(
    loss: Callable[[Penalties], float], grids: Mapping[str, Sequence[float]]
) -> Penalties:
    """Coordinate search from two starts: sources differ in intercepts only, or in all.

    ``grids`` has the candidates of each penalty; a grid of one value is that penalty. Of equally
    good penalties the largest are chosen.
    """
    loss = cache(loss)

    def best(candidates: Iterable[Penalties]) -> Penalties:
        return min(reversed(list(candidates)), key=loss)

    def coordinate_search(infinite: set[str]) -> Penalties:
        start = {
            name: grid[-1] if name in infinite or len(grid) == 1 else START_PENALTY
            for name, grid in grids.items()
        }
        found = Penalties(**start)
        for _ in range(MAX_ROUNDS):
            before = found
            for name, grid in grids.items():
                found = best(found._replace(**{name: each}) for each in grid)
            if found == before:
                break
        return found

    apart = coordinate_search({"common"})
    return best([apart, coordinate_search({"deviation", "inner_deviation"})])


def search_folds(sources: NDArray[np.int64], n_folds: int, rng: np.random.Generator) -> list[Fold]:
    """Make folds stratified by source, of a sample if there are many rows.

    Stratified by class too, a source's test rows would have the rate of its training rows, and the
    penalty on its intercept would be too small.
    """
    chosen = np.arange(len(sources))
    if len(chosen) > MAX_SEARCH_ROWS:
        chosen = deal_folds(sources, -(-len(chosen) // MAX_SEARCH_ROWS), rng)[0].test
    folds = deal_folds(sources[chosen], n_folds, rng)
    return [Fold(chosen[train], chosen[test]) for train, test in folds]
