"""Algorithm 1's inner loop as the paper has it."""

from __future__ import annotations

import numpy as np

from ensemblage.kernels import step_buffers
from ensemblage.subspace._member import Floats, Member, Rows
from ensemblage.subspace._settings import Walk
from ensemblage.subspace._steps import (
    empties,
    first_member,
    flipped_columns,
    moved,
    proposals,
    seen_units,
    state_of,
    try_flip,
)


def climb(rows: Rows, weights: Floats, rng: np.random.Generator, walk: Walk) -> Member:
    r"""Fit one member by Algorithm 1, lines 3 to 22; its row weights are :math:`w_{km} / M`.

    It stops at the first iteration that gains less than ``walk.tol``, the paper's ``thr``.
    """
    state = state_of(first_member(rows, rng), rows, weights)
    path = [state.accuracy]
    buffers = step_buffers(rows.n_outputs, rows.features)
    drawn = proposals(rng, rows.n_units, walk.flip_probability)
    n_iter = 0
    for n_iter, proposed in zip(  # noqa: B007  counts the last one too
        range(1, walk.max_iter + 1), drawn, strict=False
    ):
        # an empty mask is not a proposal
        nothing = empties(seen_units(rows, state), proposed)
        flipped = proposed[:0] if nothing else flipped_columns(rows, state, proposed)
        try_flip(rows, weights, state, flipped, walk, buffers)
        if buffers.accuracy.max() - state.accuracy < walk.tol:
            break
        better = bool(buffers.accuracy[0] < buffers.accuracy[1])
        state = moved(state, buffers, flipped, better)
        path.append(state.accuracy)
    return state.member._replace(accuracy_path=np.array(path), n_iter=n_iter)
