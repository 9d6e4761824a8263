from itertools import islice

import numpy as np
import pytest

from ensemblage.kernels import step_buffers
from ensemblage.subspace._member import Member, Rows
from ensemblage.subspace._settings import Walk
from ensemblage.subspace._steps import empties, moved, proposals, state_of, try_flip

WALK = Walk(0.5, rate=1.0, price=0.0, decay=0.0, patience=1, tol=0.0, max_iter=1)


def two_rows():
    features = np.array([[1.0, -1.0], [0.0, 0.0]])
    rows = Rows(features, np.array([0, 1]), np.array([0.5, 0.5]), 2, 2.0)
    nothing = Member(np.zeros((2, 2)), np.zeros(2), np.array([True, True]), np.empty(0), 0)
    return rows, nothing


@pytest.mark.parametrize(
    ("support", "flipped", "empty"),
    [([1, 0], [0], True), ([1, 1], [0, 1], True), ([1, 0], [0, 1], False), ([1, 1], [], False)],
)
def test_empty_masks_are_seen(support, flipped, empty):
    assert empties(np.array(support, bool), np.array(flipped, int)) is empty


def test_a_certain_flip_proposes_everything():
    drawn = islice(proposals(np.random.default_rng(0), 3, 1.0), 100)
    assert all(flipped.tolist() == [0, 1, 2] for flipped in drawn)


def test_a_step_by_hand():
    rows, nothing = two_rows()
    state = state_of(nothing, rows, rows.weights)
    assert state.accuracy == 0.5  # of equal logits the first class wins
    buffers = step_buffers(2, rows.features)
    flipped = np.array([1])
    try_flip(rows, rows.weights, state, flipped, WALK, buffers)
    # each class's slope is the mean of (truth - 1/2) x: one half for the first feature
    stayed, went = (moved(state, buffers, flipped, accept) for accept in (False, True))
    np.testing.assert_allclose(stayed.member.coef, [[0.5, 0.0], [-0.5, 0.0]])
    np.testing.assert_allclose(stayed.logits, [[0.5, -0.5], [-0.5, 0.5]])
    assert stayed.accuracy == went.accuracy == 1.0
    assert stayed.member.support.tolist() == [True, True]
    assert went.member.support.tolist() == [True, False]
