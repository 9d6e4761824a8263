"""Members whose coefficients are converged and whose masks are annealed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import minimize

from ensemblage.kernels import StepBuffers, step_buffers
from ensemblage.subspace._member import Array, Floats, Indices, Member, Rows
from ensemblage.subspace._settings import Walk
from ensemblage.subspace._steps import (
    State,
    empties,
    first_member,
    flipped_columns,
    moved,
    proposals,
    seen_units,
    state_of,
    try_flip,
)

# Differences of accuracy below this share of the mean weight are rounding, not rows.
TIE = 1e-10
MAX_LBFGS = 200


def converge(
    rows: Rows, weights: Floats, member: Member, decay: float, tol: float = 1e-5
) -> Member:
    """Climb to the top of the likelihood under a fixed mask, by L-BFGS unless it can be solved for.

    Coefficients outside the mask stay as they are. ``decay`` is in units of the weighted
    log-likelihood, and ``tol`` the largest slope at which to stop, per unit of the weights' sum.
    """
    seen = np.ascontiguousarray(rows.features[member.support])
    if rows.objective.optimum is not None:
        top = rows.objective.optimum(seen, rows.targets, weights, decay).astype(seen.dtype)
        return _with_parameters(member, top, 1)
    shape = (rows.n_outputs, len(seen) + 1)

    def loss(flat: Array) -> tuple[float, Array]:
        parameters = flat.astype(seen.dtype, copy=False).reshape(shape)
        value, slope = rows.objective.loss(seen, rows.targets, weights, parameters, decay)
        return value, slope.ravel().astype(float, copy=False)

    start = np.column_stack([member.coef[:, member.support], member.intercept])
    found = minimize(
        loss, start.ravel().astype(float), jac=True, method="L-BFGS-B",
        options={"maxiter": MAX_LBFGS, "gtol": tol * float(weights.sum()), "ftol": 1e-12},
    )  # fmt: skip
    return _with_parameters(member, found.x.astype(seen.dtype).reshape(shape), max(1, found.nit))


def _with_parameters(member: Member, parameters: Floats, n_iter: int) -> Member:
    """Put parameters, the intercept last, where the mask is."""
    coef = member.coef.copy()
    coef[:, member.support] = parameters[:, :-1]
    return member._replace(coef=coef, intercept=parameters[:, -1].copy(), n_iter=n_iter)


def _accepts(buffers: StepBuffers, shrinks: int, price: float, tie: float) -> bool:
    """Accept a better mask, or an equally good one that is smaller."""
    gain = float(buffers.accuracy[1] - buffers.accuracy[0]) + price * shrinks
    return gain > tie or (gain >= -tie and shrinks > 0)


def _at_least_one(
    drawn: Iterator[Indices], rng: np.random.Generator, n_units: int
) -> Iterator[Indices]:
    for flipped in drawn:
        yield flipped if flipped.size else rng.integers(n_units, size=1)


def _explore(
    rows: Rows, weights: Floats, state: State, drawn: Iterator[Indices], walk: Walk
) -> tuple[State, list[float]]:
    """Walk over masks; give the best state met and the accuracies on the way."""
    buffers = step_buffers(rows.n_outputs, rows.features)
    tie = TIE * float(weights.sum())
    path, stale = [state.accuracy], 0
    best, best_value = state, state.accuracy - walk.price * seen_units(rows, state).sum()
    for _, flipped in zip(range(walk.max_iter), drawn, strict=False):
        stale += 1
        seen = seen_units(rows, state)
        if not empties(seen, flipped):
            columns = flipped_columns(rows, state, flipped)
            try_flip(rows, weights, state, columns, walk, buffers)
            shrinks = 2 * int(seen[flipped].sum()) - flipped.size
            accept = _accepts(buffers, shrinks, walk.price, tie)
            state = moved(state, buffers, columns, accept)
        path.append(state.accuracy)
        value = state.accuracy - walk.price * seen_units(rows, state).sum()
        if value > best_value + tie:
            best, best_value, stale = state, value, 0
        if stale >= walk.patience:
            break
    return best, path


def anneal(rows: Rows, weights: Floats, rng: np.random.Generator, walk: Walk) -> Member:
    r"""Fit one member: converge, walk over masks, converge again under the best.

    Its row weights are :math:`w_{km} / M`. A proposal :math:`\Lambda'` is accepted if
    :math:`A' - A + \rho \bar w (|\Lambda| - |\Lambda'|) > 0`, or on a tie if it is smaller.
    Both candidates take one step uphill before they are compared, as in Algorithm 1, so the
    coefficients follow the mask. Best is the largest :math:`A - \rho \bar w |\Lambda|`. Without
    flips all features stay.
    """
    mean_weight = float(weights.sum())
    walk = walk._replace(decay=walk.decay * mean_weight, price=walk.price * mean_weight)
    member = converge(rows, weights, first_member(rows, rng), walk.decay, walk.tol)
    state = state_of(member, rows, weights)
    if walk.flip_probability == 0:
        return member._replace(accuracy_path=np.array([state.accuracy]))
    drawn = _at_least_one(proposals(rng, rows.n_units, walk.flip_probability), rng, rows.n_units)
    best, path = _explore(rows, weights, state, drawn, walk)
    member = converge(rows, weights, best.member, walk.decay, walk.tol)
    return member._replace(accuracy_path=np.array(path), n_iter=len(path) - 1)
