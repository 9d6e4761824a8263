from dataclasses import replace

import numpy as np
import pytest

from ensemblage.inner._fitted_tree import FittedTree
from ensemblage.inner._tree_choice import NodeValues
from ensemblage.messages import DamagedStateError
from kernels.trees import stump


@pytest.fixture
def tree():
    values = np.array([[0.5, 0.5], [0.8, 0.2], [0.2, 0.8]])
    return FittedTree.make(stump([1.0, 2.0, 4.0]), NodeValues(values, np.array([10.0, 5.0, 5.0])))


def test_what_it_says(tree):
    X = np.array([[0.0], [1.5], [9.0]], dtype=np.float32)
    np.testing.assert_allclose(tree.predict(X)[:, 0], [0.8, 2 / 3 * 0.8 + 1 / 3 * 0.2, 0.2])
    assert tree.memberships(X).leaves.tolist() == [1, 1, 2, 2]
    assert tree.is_leaf.tolist() == [False, True, True]
    assert tree.depths.tolist() == [0, 1, 1]
    assert tree.importances(2).tolist() == [1, 0]
    assert tree.crisp().predict(X)[:, 0].tolist() == [0.8, 0.8, 0.2]
    tree.__check_state__()


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"left": np.array([1, -1])}, "shape"),
        ({"left": np.array([0, -1, -1])}, "not one parent"),
        ({"left": np.array([2, -1, -1])}, "not one parent"),
        ({"left": np.array([7, -1, -1])}, "not one parent"),
        ({"left": np.array([-1, -1, -1])}, "not whole"),
        ({"left": np.array([1.0, -1, -1])}, "no array of integer"),
        ({"right": np.array([-5, -1, -1])}, "below"),
        ({"feature": np.array([-1, -1, -1])}, "not whole"),
        ({"missing_left": np.array([0, 0, 0])}, "truth"),
        ({"thresholds": np.array([[2.0, 1.0], [0, 0], [0, 0]])}, "ascend"),
        ({"thresholds": np.array([[np.nan, 1.0], [0, 0], [0, 0]])}, "finite"),
        ({"thresholds": np.zeros((3, 0))}, "no nodes"),
        ({"values": np.zeros((2, 2))}, "shape"),
        ({"weights": np.array([1.0, -1.0, 0.0])}, "below"),
    ],
)
def test_forged_nodes_are_refused(tree, changes, what):
    with pytest.raises(DamagedStateError, match=what):
        replace(tree, **changes).__check_state__()


def test_loops_are_refused():
    nodes = np.array([3, 2, -1, -1, -1]), np.array([4, 1, -1, -1, -1])
    tree = FittedTree(
        *nodes, np.array([0, 0, -1, -1, -1]), np.zeros(5, bool), np.zeros((5, 1)),
        np.zeros((5, 1)), np.ones(5),
    )  # fmt: skip
    with pytest.raises(DamagedStateError, match="before its parent"):
        tree.__check_state__()
