"""Solvers of partial pooling: logistic loss, squared error in closed form, penalties."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ensemblage._core import Fold, compiled, deal_folds
from ensemblage.sources._source_codes import source_classes

Doubles = NDArray[np.float64]


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
def add_source_losses(data: SourceRows, coefs: Doubles, slopes: Doubles) -> float:
    r"""Add up :math:`-w_m \log p(y_m \mid x_m)`, each row under its own source's coefficients.

    ``coefs`` and ``slopes`` have shape (n_sources, n_logits, n_features + 1); slopes are added to
    what is there. With one logit it is that of class 1 against class 0, otherwise there is one
    for each class.
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
                gap = weight * (z[k] / sum_exp - (1.0 if hit else 0.0))
                for j in range(width):
                    slopes[s, k, j] += gap * data.rows[m, j]
    return total


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


# an upper bound on the curvature of a row's loss, for steps of about equal length
CURVATURE = 0.25
# the prior variance of a source's own intercept is one
INTERCEPT_PENALTY = 1.0


class Penalties(NamedTuple):
    r"""On shared coefficients, :math:`\lambda_0`, and on deviations, :math:`\lambda_1`.

    Infinity leaves them out.
    """

    shared: float
    own: float


class Pooled(NamedTuple):
    """Shared coefficients (n_logits, n_features + 1) and deviations (n_sources, ...) from them."""

    shared: Doubles
    own: Doubles

    @classmethod
    def nothing(cls, n_sources: int, n_logits: int, width: int) -> Pooled:
        """Give the coefficients of a model that knows nothing."""
        return cls(np.zeros((n_logits, width)), np.zeros((n_sources, n_logits, width)))

    @property
    def coefs(self) -> Doubles:
        """What is used for the rows of each source."""
        return self.shared + self.own

    @property
    def typical(self) -> Doubles:
        """The mean over the sources; used where the source is not known."""
        return np.asarray(self.shared + self.own.mean(axis=0))


class _Entries(NamedTuple):
    """Penalty of every coefficient, shared ones first, and which of them are free."""

    penalty: Pooled
    free: NDArray[np.bool_]

    @classmethod
    def of(cls, start: Pooled, penalties: Penalties) -> _Entries:
        shared = np.full_like(start.shared, penalties.shared)
        shared[:, -1] = 0.0
        own = np.full_like(start.own, penalties.own)
        own[..., -1] = INTERCEPT_PENALTY
        ridge = np.concatenate([shared.ravel(), own.ravel()])
        return cls(Pooled(shared, own), np.isfinite(ridge))


def fit_pooled(
    data: SourceRows, penalties: Penalties, start: Pooled, *, tol: float = 1e-4, max_iter: int = 500
) -> tuple[Pooled, int]:
    r"""Minimise the penalised loss, from a start of the right shapes.

    .. math:: -\sum_m w_m \log p(y_m \mid x_m; B + D_{s(m)}) + \tfrac{\lambda_0}{2} \|B\|^2 +
        \tfrac{\lambda_1}{2} \sum_s \|D_s\|^2 + \tfrac12 \sum_s \|d_s\|^2

    with deviations d of the intercepts; ``tol`` bounds the slope per unit of weight. Also gives the
    number of steps.
    """
    entries = _Entries.of(start, penalties)
    free, split = entries.free, start.shared.size
    ridge = np.where(free, np.concatenate([part.ravel() for part in entries.penalty]), 0.0)
    scale = 1 / np.sqrt(_masses(data, start) * CURVATURE + ridge)
    full = np.zeros(len(free))

    def unpack(values: Doubles) -> Pooled:
        full[free] = values * scale[free]
        return Pooled(
            full[:split].reshape(start.shared.shape), full[split:].reshape(start.own.shape)
        )

    def loss(values: Doubles) -> tuple[float, Doubles]:
        found = unpack(values)
        slopes = np.zeros_like(found.own)
        total = add_source_losses(data, found.coefs, slopes)
        slope = np.concatenate([slopes.sum(axis=0).ravel(), slopes.ravel()]) + ridge * full
        return total + 0.5 * float(ridge @ full**2), (slope * scale)[free]

    first = np.concatenate([part.ravel() for part in start])[free] / scale[free]
    options: Any = {"maxiter": max_iter, "gtol": tol * np.sqrt(data.weights.sum()), "ftol": 1e-12}
    best = minimize(loss, first, jac=True, method="L-BFGS-B", options=options)
    shared, own = unpack(best.x)
    return Pooled(shared.copy(), own.copy()), max(int(best.nit), 1)


def _masses(data: SourceRows, start: Pooled) -> Doubles:
    """Weight of the rows that each coefficient is used for; at least that of one mean row."""
    weights = np.array([data.weights[a:b].sum() for a, b in pairwise(data.starts)])
    least = data.weights.mean()
    shared = np.full(start.shared.size, weights.sum())
    per_source = start.own[0].size
    return np.concatenate([shared, np.repeat(np.maximum(weights, least), per_source)])


def held_out_loss(data: SourceRows, coefs: Doubles) -> float:
    """Log loss of rows, per unit of weight."""
    total: float = add_source_losses(data, coefs, np.zeros_like(coefs))
    return total / float(data.weights.sum())


INF = float("inf")
SHARED = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, INF)
OWN = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, INF)
SEARCH_TOL = 1e-3
SEARCH_ROWS = 20_000
"""Penalties say how coefficients vary, whatever the number of rows: so many are enough."""
MAX_TURNS = 4


class SourcedRows(NamedTuple):
    """Rows in any order, a one behind their columns, with numbers of classes and sources."""

    rows: NDArray[np.float64]
    labels: NDArray[np.int64]
    sources: NDArray[np.int64]
    weights: NDArray[np.float64]

    def by_source(self, n_sources: int, chosen: NDArray[np.intp] | None = None) -> SourceRows:
        """Sort the rows, or those chosen, by source."""
        order = np.argsort(self.sources if chosen is None else self.sources[chosen], kind="stable")
        order = order if chosen is None else chosen[order]
        starts = np.searchsorted(self.sources[order], np.arange(n_sources + 1))
        rows = np.ascontiguousarray(self.rows[order])
        return SourceRows(rows, self.labels[order], self.weights[order], starts.astype(np.int64))


class Grid(NamedTuple):
    """Penalties to choose from; one value where it is given."""

    shared: tuple[float, ...] = SHARED
    own: tuple[float, ...] = OWN


class _Part(NamedTuple):
    """Rows to learn from and rows to judge by."""

    train: SourceRows
    test: SourceRows


class _WarmFits:
    """Held-out log loss at penalties; fits start where the last one ended."""

    def __init__(self, parts: list[_Part], start: Pooled) -> None:
        self.parts = parts
        self.at = [start] * len(parts)

    def __call__(self, penalties: Penalties) -> float:
        """Average the log loss over the held-out rows."""
        total = weight = 0.0
        for k, (train, test) in enumerate(self.parts):
            self.at[k], _ = fit_pooled(train, penalties, self.at[k], tol=SEARCH_TOL)
            own = float(test.weights.sum())
            total += own * held_out_loss(test, self.at[k].coefs)
            weight += own
        return total / weight


class _Search:
    """Held-out loss at penalties, each looked at once."""

    def __init__(self, judge: Callable[[Penalties], float], grid: Grid) -> None:
        self.judge = judge
        self.grid = grid
        self.losses: dict[Penalties, float] = {}

    def loss(self, penalties: Penalties) -> float:
        """Look up the loss, or find it out."""
        if penalties not in self.losses:
            self.losses[penalties] = self.judge(penalties)
        return self.losses[penalties]

    def best(self, candidates: Iterable[Penalties]) -> Penalties:
        """Choose; of equals the more severe, which come last."""
        return min(reversed(list(candidates)), key=self.loss)

    def turn(self, found: Penalties) -> Penalties:
        """Choose one penalty at a time, until neither changes."""
        for _ in range(MAX_TURNS):
            before = found
            found = self.best(Penalties(found.shared, own) for own in self.grid.own)
            found = self.best(Penalties(shared, found.own) for shared in self.grid.shared)
            if found == before:
                break
        return found


def choose_penalties(
    data: SourcedRows, start: Pooled, folds: Sequence[Fold], grid: Grid
) -> Penalties:
    """Take the penalties with the least log loss on held-out rows."""
    n_sources = len(start.own)
    parts = [
        _Part(*(data.by_source(n_sources, side) for side in fold))
        for fold in folds
        if all(data.weights[side].sum() > 0 for side in fold)
    ]
    return search_penalties(_WarmFits(parts, start), n_sources, grid)


def search_penalties(judge: Callable[[Penalties], float], n_sources: int, grid: Grid) -> Penalties:
    """Search from two ends: sources that differ in their intercepts only, and in everything."""
    search = _Search(judge, grid)
    if n_sources == 1:  # deviations would be a second name for the same coefficients
        return search.best(Penalties(shared, INF) for shared in grid.shared)
    together = search.best(Penalties(shared, grid.own[-1]) for shared in grid.shared)
    apart = search.best(Penalties(grid.shared[-1], own) for own in grid.own)
    return search.best([search.turn(apart), search.turn(together)])


def search_folds(data: SourcedRows, n_folds: int, rng: np.random.Generator) -> list[Fold]:
    """Deal rows so that sources and classes keep their shares; of many, only some."""
    chosen, pairs = np.arange(len(data.labels)), source_classes(data.sources, data.labels)
    if len(chosen) > SEARCH_ROWS:
        chosen = deal_folds(pairs, -(-len(chosen) // SEARCH_ROWS), rng)[0].test
    folds = deal_folds(pairs[chosen], n_folds, rng)
    return [Fold(chosen[train], chosen[test]) for train, test in folds]
