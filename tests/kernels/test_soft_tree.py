import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemblage.kernels import leaf_memberships, node_sums, predict_softly, views_right
from kernels.trees import GAPS, drawn_rows, grown, stump, targets
from reference.inner_tree import memberships

X = np.array([[0.0], [1.0], [1.5], [5.0], [np.nan]], dtype=np.float32)


def soft(tree, rng, n_views=5):
    """Spread the thresholds of a tree."""
    spread = rng.integers(-2, 3, size=(len(tree.left), n_views))
    return tree._replace(thresholds=np.sort(tree.thresholds + spread, axis=1))


def test_shares_by_hand():
    thresholds = np.array([1.0, 1.0, 2.0, 4.0])
    for kernel in (views_right, views_right.python):
        assert [kernel(thresholds, x, False) for x in (0.0, 1.0, 1.5, 3.0, 4.0, 5.0)] == [
            0, 0, 2, 3, 3, 4
        ]  # fmt: skip
        assert kernel(thresholds, np.nan, True) == 0
        assert kernel(thresholds, np.nan, False) == 4


def test_sums_predictions_and_memberships_by_hand():
    tree = stump([1.0, 1.0, 2.0, 4.0])
    y = targets([0, 0, 1, 1, 1], weights=[1, 1, 2, 1, 1], n_classes=2)
    for kernel in (node_sums, node_sums.python):
        assert kernel(tree, X, y).tolist() == [[2, 4], [2, 1], [0, 3]]
        as_numbers = kernel(tree, X, targets([0, 0, 1, 1, 1], weights=[1, 1, 2, 1, 1]))
        assert as_numbers.tolist() == [[6, 4], [3, 1], [3, 3]]
    values = np.array([[9.0], [0.0], [1.0]])
    for kernel in (predict_softly, predict_softly.python):
        assert kernel(tree, X, values).ravel().tolist() == [0, 0, 0.5, 1, 1]
    for kernel in (leaf_memberships, leaf_memberships.python):
        found = kernel(tree, X)
        assert found.starts.tolist() == [0, 1, 2, 4, 5, 6]
        assert found.leaves.tolist() == [1, 1, 1, 2, 2, 2]
        assert found.shares.tolist() == [1, 1, 0.5, 0.5, 1, 1]


@given(st.integers(0, 10_000))
@settings(max_examples=40)
def test_memberships_equal_the_slow_ones_and_add_up_to_one(seed):
    rows, y, rng = drawn_rows(seed)
    tree, listed, _ = grown(rows, y, leaves=7)
    tree = soft(tree, rng)
    found = leaf_memberships(tree, rows)
    sums = node_sums(tree, rows, targets(y, n_classes=3))
    slow = np.array([memberships(listed, tree.thresholds, x) for x in rows.astype(float)])
    np.testing.assert_allclose(sums.sum(axis=1), slow.sum(axis=0), atol=1e-9)
    for i in range(len(rows)):
        own = slice(found.starts[i], found.starts[i + 1])
        assert found.shares[own].sum() == pytest.approx(1.0)
        assert len(set(found.leaves[own])) == len(found.leaves[own])
        np.testing.assert_allclose(found.shares[own], slow[i][found.leaves[own]], atol=1e-12)


@given(st.integers(0, 10_000))
@settings(max_examples=20)
def test_equal_thresholds_are_scikit_learns_tree(seed):
    rows, y, _ = drawn_rows(seed, missing=GAPS)
    tree, _, theirs = grown(rows, y, leaves=6)
    tree = tree._replace(thresholds=np.repeat(tree.thresholds, 4, axis=1))
    sums = node_sums(tree, rows, targets(y, n_classes=3))[:, np.unique(y)]
    values = sums / sums.sum(axis=1, keepdims=True)
    assert (values == theirs.value[:, 0]).all()
    assert (predict_softly(tree, rows, values) == theirs.predict(rows).reshape(len(rows), -1)).all()
