import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ensemblage.kernels import (
    ShrunkPaths,
    node_means,
    node_sums,
    parents_of,
    shrinkage_factors,
    shrunk_losses,
)
from kernels.trees import drawn_rows, grown, stump, targets
from reference.inner_tree import memberships, predict

STRENGTHS = np.array([0.0, 3.0])


def test_by_hand():
    """Of ten rows, six to four, the left leaf is 1 : 0; at strength 10 it moves half the way."""
    tree = stump([1.0, 2.0])
    changes = np.array([[0.6, 0.4], [0.4, -0.4], [-0.6, 0.6]])
    factors = shrinkage_factors(
        np.array([10.0, 6.0, 4.0]), parents_of(tree.left, tree.right), np.array([0.0, 10.0])
    )
    assert factors[1].tolist() == [1.0, 0.5]
    paths = ShrunkPaths(changes, factors, np.array([0, 1, 1]), 2)
    row = np.array([[1.5]], dtype=np.float32)
    for kernel in (shrunk_losses, shrunk_losses.python):
        losses = kernel(tree, row, targets([0], n_classes=2), paths)
        expected = [[0.6, 0.6], [0.6 - 0.1, 0.6 - 0.05]]  # half of the row on each side
        np.testing.assert_allclose(losses, -np.log(expected))
        squared = kernel(tree, row, targets([1.0]), paths)
        np.testing.assert_allclose(squared, (np.array(expected) - 1) ** 2)


def test_an_empty_node_has_its_parents_mean():
    means, weights = node_means(stump([1.0]), np.array([[1.0, 3.0], [1.0, 3.0], [0.0, 0.0]]), True)
    assert means.tolist() == [[0.25, 0.75]] * 3
    assert weights.tolist() == [4, 4, 0]


def test_what_cannot_be_costs_much_but_not_infinitely():
    tree = stump([1.0])
    changes = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    paths = ShrunkPaths(changes, np.ones((3, 1)), np.array([0, 1, 1]), 2)
    row = np.array([[0.0]], dtype=np.float32)
    losses = shrunk_losses(tree, row, targets([1], n_classes=2), paths)
    np.testing.assert_allclose(losses, -np.log(np.finfo(float).eps))


@pytest.mark.parametrize("n_classes", [0, 3])
@given(seed=st.integers(0, 10_000))
@example(seed=137)  # a node without rows
@settings(max_examples=20)
def test_equals_the_slow_walk_over_pruned_trees(n_classes, seed):
    X, y, rng = drawn_rows(seed)
    tree, listed, _ = grown(X, y, leaves=6)
    spread = rng.integers(-2, 3, size=(len(tree.left), 4))
    tree = tree._replace(thresholds=np.sort(tree.thresholds + spread, axis=1))
    rows = targets(y, rng.gamma(2.0, size=len(y)), n_classes)
    means, weights = node_means(tree, node_sums(tree, X, rows), n_classes > 0)
    parents = parents_of(tree.left, tree.right)
    changes = means - means[np.maximum(parents, 0)]
    changes[0] = means[0]
    # prune from the last node on: what is inner at step s has a number below s
    inner = np.flatnonzero(tree.left >= 0)
    steps = np.array([0, *(1 + np.searchsorted(inner, parents[1:]))])
    factors = shrinkage_factors(weights, parents, STRENGTHS)
    losses = shrunk_losses(tree, X, rows, ShrunkPaths(changes, factors, steps, len(inner) + 1))
    for step in range(len(inner) + 1):
        pruned = set(inner[step:].tolist())
        for s, strength in enumerate(STRENGTHS):
            total = 0.0
            for x, label, weight in zip(X.astype(float), y, rows.weights, strict=True):
                shares = memberships(listed, tree.thresholds, x)
                told = predict(listed, means, weights, strength, pruned, shares)
                if n_classes:
                    total -= weight * np.log(max(told[label], np.finfo(float).eps))
                else:
                    total += weight * (told[0] - label) ** 2
            assert losses[step, s] == pytest.approx(total, rel=1e-9)
