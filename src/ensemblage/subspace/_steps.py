"""What both solvers do: start, propose a mask, try it, and move."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ensemblage.kernels import MaskedMember, StepBuffers, StepRows
from ensemblage.subspace._member import Floats, Indices, Mask, Member, Rows, member_logits
from ensemblage.subspace._settings import Walk

START_SCALE = 0.01
DRAWN_AT_ONCE = 64


class State(NamedTuple):
    """Where the fit of one member stands."""

    member: Member
    logits: Floats  # (n_outputs, n_rows), or predictions
    accuracy: float  # weighted (eq. 7), or another objective's score


def first_member(rows: Rows, rng: np.random.Generator) -> Member:
    r"""Start of a member: :math:`\Theta^0 \sim N(0, 0.01^2)` and all features (line 3)."""
    n_columns, dtype = len(rows.features), rows.features.dtype
    coef = rng.normal(0.0, START_SCALE, (rows.n_outputs, n_columns)).astype(dtype)
    everything = np.ones(n_columns, dtype=bool)
    return Member(coef, np.zeros(rows.n_outputs, dtype), everything, np.empty(0), 0)


def state_of(member: Member, rows: Rows, weights: Floats) -> State:
    """Where a member stands on the rows, by its weights of them."""
    logits = member_logits(rows.features, member)
    return State(member, logits, rows.objective.score(logits, rows.targets, weights))


def proposals(rng: np.random.Generator, n_units: int, flip_probability: float) -> Iterator[Indices]:
    """Features to flip, one proposal after another (lines 6 and 7); some flip none."""
    while True:
        for drawn in rng.random((DRAWN_AT_ONCE, n_units)) < flip_probability:
            yield np.flatnonzero(drawn)


def seen_units(rows: Rows, state: State) -> Mask:
    """Mask of what is flipped as a whole: the features, or groups of them."""
    support = state.member.support
    return support if rows.units is None else support[rows.units.lead]


def flipped_columns(rows: Rows, state: State, flipped: Indices) -> Indices:
    """Columns that come or go with what is flipped."""
    if rows.units is None:
        return flipped
    return rows.units.flipped_columns(state.member.support, flipped)


def empties(support: Mask, flipped: Indices) -> bool:
    """Tell whether flipping would leave no feature."""
    kept = int(support.sum()) + flipped.size - 2 * int(support[flipped].sum())
    return kept == 0


def try_flip(
    rows: Rows, weights: Floats, state: State, flipped: Indices, walk: Walk, buffers: StepBuffers
) -> None:
    """Take a step uphill under the current and the proposed mask; results are in the buffers."""
    learned = StepRows(rows.features, rows.targets, weights)
    start = MaskedMember(state.member.coef, state.member.support, state.logits)
    rows.objective.step(learned, start, flipped, walk.rate, walk.decay, buffers)


def moved(state: State, buffers: StepBuffers, flipped: Indices, accept: bool) -> State:
    """State after a step under the current or, if accepted, the proposed mask."""
    n_outputs = len(state.logits)
    part = slice(n_outputs, None) if accept else slice(n_outputs)
    coef = state.member.coef + buffers.coef_step[part]
    intercept = (state.member.intercept + buffers.intercept_step[part]).astype(coef.dtype)
    support = state.member.support
    if accept:
        support = support.copy()
        support[flipped] ^= True
    member = state.member._replace(coef=coef, intercept=intercept, support=support)
    return State(member, buffers.logits[part].copy(), float(buffers.accuracy[int(accept)]))
