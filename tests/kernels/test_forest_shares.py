import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemblage.kernels import PackedTrees, forest_shares
from ensemblage.kernels._forest_shares import _add_leaves
from reference.forest_shares import shares

# the first tree asks for the second feature, then for the first; the second is a leaf
BY_HAND = PackedTrees(
    np.array([0, -4], np.int32),
    np.array([1, 0], np.int32),
    np.array([0.5, 2.0], np.float32),
    np.array([[-1, 1], [-2, -3]], np.int32),
    np.array([[1, 0], [0, 1], [0.5, 0.5], [0.25, 0.75]], np.float32),
)


def drawn(seed, n_trees, n_classes):
    """Trees in which children come after their parent, of three features."""
    rng = np.random.default_rng(seed)
    roots, children, n_leaves = [], [], 0
    for _ in range(n_trees):
        size, ends = int(rng.integers(0, 6)), [(roots, len(roots))]
        roots.append(None)
        for _ in range(size):
            holder, side = ends.pop(int(rng.integers(len(ends))))
            holder[side] = len(children)
            children.append([None, None])
            ends += [(children[-1], 0), (children[-1], 1)]
        for holder, side in ends:
            n_leaves += 1
            holder[side] = -n_leaves
    n_nodes = len(children)
    leaves = rng.dirichlet(np.ones(n_classes), n_leaves).astype(np.float32)
    return PackedTrees(
        np.array(roots, np.int32),
        rng.integers(0, 3, n_nodes).astype(np.int32),
        rng.normal(size=n_nodes).astype(np.float32),
        np.array(children, np.int32).reshape(-1, 2),
        leaves,
    )


def test_by_hand():
    rows = np.array([[0, 0.5], [2, 1], [3, 1]], np.float32)
    expected = [[0.625, 0.375], [0.125, 0.875], [0.375, 0.625]]
    assert forest_shares(BY_HAND, rows).tolist() == expected


def test_no_rows():
    assert forest_shares(BY_HAND, np.empty((0, 2), np.float32)).shape == (0, 2)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(0, 9))
def test_equals_the_slow_walk_and_adds_up_to_one(seed, n_trees, n_rows):
    trees = drawn(seed, n_trees, 3)
    rows = np.random.default_rng(seed + 1).normal(size=(n_rows, 3)).astype(np.float32)
    found = forest_shares(trees, rows)
    np.testing.assert_allclose(found, np.reshape(shares(trees, rows), (n_rows, 3)), atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)
    plain = np.zeros((n_rows, 3))
    if n_rows:
        _add_leaves.python(trees, rows, plain)
    np.testing.assert_array_equal(plain / n_trees, found)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.permutations(range(7)))
def test_the_order_of_rows_does_not_matter(seed, order):
    trees = drawn(seed, 4, 2)
    rows = np.random.default_rng(seed).normal(size=(7, 3)).astype(np.float32)
    np.testing.assert_array_equal(
        forest_shares(trees, rows[order]), forest_shares(trees, rows)[order]
    )
