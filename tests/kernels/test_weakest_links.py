import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from ensemblage.kernels import CostedTree, link_strengths, parents_of
from kernels.trees import drawn_rows, grown
from reference.inner_tree import weakest_links


def costed(found):
    costs = found.impurity * found.weighted_n_node_samples / found.weighted_n_node_samples[0]
    return CostedTree(found.children_left, found.children_right, costs)


def test_by_hand():
    """Node 2 saves .1 for one leaf; then the root saves .4 for one, as all below is gone."""
    tree = CostedTree(
        np.array([1, -1, 3, -1, -1]), np.array([2, -1, 4, -1, -1]),
        np.array([1.0, 0.2, 0.4, 0.1, 0.2]),
    )  # fmt: skip
    np.testing.assert_allclose(link_strengths(tree), [0.4, 0, 0.1, 0, 0])
    assert parents_of(tree.left, tree.right).tolist() == [-1, 0, 0, 2, 2]


def test_a_root_weaker_than_what_is_below_takes_it_along():
    tree = CostedTree(
        np.array([1, -1, 3, -1, -1]), np.array([2, -1, 4, -1, -1]),
        np.array([1.0, 0.5, 0.5, 0.0, 0.0]),
    )  # fmt: skip
    np.testing.assert_allclose(link_strengths(tree), [0.25, 0, 0.25, 0, 0])


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_equals_the_slow_search_and_never_falls_towards_the_root(seed):
    X, y, _ = drawn_rows(seed)
    _, listed, found = grown(X, y, leaves=9)
    tree = costed(found)
    strengths = link_strengths(tree)
    slow = weakest_links(listed, tree.costs)
    np.testing.assert_allclose(strengths[list(slow)], list(slow.values()), atol=1e-12)
    parents = parents_of(tree.left, tree.right)
    assert (strengths[1:] <= strengths[parents[1:]]).all()


def test_the_alphas_are_scikit_learns():
    X, y = load_breast_cancer(return_X_y=True)
    grower = DecisionTreeClassifier(random_state=0)
    path = grower.cost_complexity_pruning_path(X, y).ccp_alphas
    ours = link_strengths(costed(grower.fit(X, y).tree_))
    assert np.unique(ours.round(12)).tolist() == np.unique(path.round(12)).tolist()
