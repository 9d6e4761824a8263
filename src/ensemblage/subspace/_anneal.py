"""Members whose coefficients are converged and whose masks are annealed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from ensemblage.kernels import StepBuffers, candidate_step, softmax_loss, step_buffers
from ensemblage.subspace._climb import (
    empties,
    first_member,
    proposals,
    step_length,
    weighted_accuracy,
)
from ensemblage.subspace._member import Member, Rows, member_logits

# Differences of accuracy below this share of the mean weight are rounding, not rows.
TIE = 1e-10
MAX_LBFGS = 200


def converge(rows: Rows, weights, member: Member, decay, tol=1e-5):
    """Climb to the top of the likelihood under a fixed mask, by L-BFGS.

    Parameters
    ----------
    rows : Rows
        Training rows.
    weights : ndarray of shape (n_rows,)
        Row weights of this member.
    member : Member
        Where to start; coefficients outside the mask stay as they are.
    decay : float
        Strength of the ridge penalty, in units of the weighted log-likelihood.
    tol : float, default=1e-5
        Largest slope at which to stop, relative to the sum of ``weights``.

    Returns
    -------
    Member
    """
    seen = np.ascontiguousarray(rows.features[member.support])
    shape = (rows.n_classes, len(seen) + 1)

    def loss(flat):
        parameters = flat.astype(seen.dtype, copy=False).reshape(shape)
        value, slope = softmax_loss(seen, rows.labels, weights, parameters, decay)
        return value, slope.ravel().astype(float, copy=False)

    start = np.column_stack([member.coef[:, member.support], member.intercept])
    options = {"maxiter": MAX_LBFGS, "gtol": tol * float(weights.sum()), "ftol": 1e-12}
    found = minimize(
        loss, start.ravel().astype(float), jac=True, method="L-BFGS-B", options=options
    )
    top = found.x.astype(seen.dtype).reshape(shape)
    coef = member.coef.copy()
    coef[:, member.support] = top[:, :-1]
    return member._replace(coef=coef, intercept=top[:, -1].copy(), n_iter=max(1, found.nit))


class _State(NamedTuple):
    """Where the annealing of one member stands."""

    member: Member
    logits: np.ndarray  # (n_classes, n_rows)
    accuracy: float


def _moved(state: _State, buffers: StepBuffers, flipped, accept):
    """State after a step under the current (or, if accepted, the proposed) mask."""
    n_classes = len(state.logits)
    part = slice(n_classes, None) if accept else slice(n_classes)
    coef = state.member.coef + buffers.coef_step[part]
    intercept = (state.member.intercept + buffers.intercept_step[part]).astype(coef.dtype)
    support = state.member.support
    if accept:
        support = support.copy()
        support[flipped] ^= True
    member = state.member._replace(coef=coef, intercept=intercept, support=support)
    return _State(member, buffers.logits[part].copy(), float(buffers.accuracy[int(accept)]))


def _accepts(buffers: StepBuffers, shrinks, price, tie):
    """Accept a better mask, or an equally good one that is smaller."""
    gain = buffers.accuracy[1] - buffers.accuracy[0] + price * shrinks
    return gain > tie or (gain >= -tie and shrinks > 0)


def _at_least_one(drawn, rng, n_features):
    for flipped in drawn:
        yield flipped if flipped.size else rng.integers(n_features, size=1)


def _explore(rows, weights, state, drawn, *, rate, decay, price, patience, max_iter):
    """Walk over masks; give the best state met and the accuracies on the way."""
    buffers = step_buffers(rows.n_classes, rows.features)
    tie = TIE * float(weights.sum())
    path, stale = [state.accuracy], 0
    best, best_value = state, state.accuracy - price * state.member.support.sum()
    for _, flipped in zip(range(max_iter), drawn, strict=False):
        stale += 1
        support = state.member.support
        if not empties(support, flipped):
            candidate_step(
                rows.features, rows.labels, weights, state.logits, state.member.coef, support,
                flipped, rate, decay, buffers,
            )  # fmt: skip
            shrinks = 2 * int(support[flipped].sum()) - flipped.size
            state = _moved(state, buffers, flipped, _accepts(buffers, shrinks, price, tie))
        path.append(state.accuracy)
        value = state.accuracy - price * state.member.support.sum()
        if value > best_value + tie:
            best, best_value, stale = state, value, 0
        if stale >= patience:
            break
    return best, path


def anneal(
    rows: Rows, weights, rng, *, flip_probability, size_penalty, decay, patience, tol, max_iter
):
    r"""Fit one member: converge, walk over masks, converge again under the best.

    Parameters
    ----------
    rows : Rows
        Training rows.
    weights : ndarray of shape (n_rows,)
        :math:`w_{km} / M`.
    rng : numpy.random.Generator
        For the start and the proposals.
    flip_probability : float
        :math:`p_\lambda`; at 0 all features stay.
    size_penalty : float
        What a feature must add to the accuracy to stay, per unit of mean weight.
    decay : float
        Strength of the ridge penalty, per unit of mean weight.
    patience : int
        Stop after so many proposals without a new best.
    tol : float
        Largest slope at which L-BFGS stops.
    max_iter : int
        At most so many proposals.

    Returns
    -------
    Member

    Notes
    -----
    A proposal :math:`\Lambda'` is accepted if
    :math:`A' - A + \rho \bar w (|\Lambda| - |\Lambda'|) > 0`, or on a tie if it is smaller.
    Both candidates take one step uphill before they are compared, as in Algorithm 1, so the
    coefficients follow the mask. Best is the largest :math:`A - \rho \bar w |\Lambda|`.
    """
    mean_weight = float(weights.sum())
    decay = decay * mean_weight
    member = converge(rows, weights, first_member(rows, rng), decay, tol)
    logits = member_logits(rows.features, member)
    state = _State(member, logits, weighted_accuracy(logits, rows.labels, weights))
    if flip_probability == 0:
        return member._replace(accuracy_path=np.array([state.accuracy]))
    n_features = len(member.support)
    drawn = _at_least_one(proposals(rng, n_features, flip_probability), rng, n_features)
    best, path = _explore(
        rows, weights, state, drawn, rate=step_length(rows), decay=decay,
        price=size_penalty * mean_weight, patience=patience, max_iter=max_iter,
    )  # fmt: skip
    member = converge(rows, weights, best.member, decay, tol)
    return member._replace(accuracy_path=np.array(path), n_iter=len(path) - 1)
