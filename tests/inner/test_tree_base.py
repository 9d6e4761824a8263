from inspect import signature

import pytest
from sklearn.datasets import load_diabetes, load_iris

from ensemblage.inner import InnerTreeClassifier, InnerTreeRegressor
from ensemblage.inner._tree_base import BaseInnerTree


@pytest.mark.parametrize("kind", [InnerTreeClassifier, InnerTreeRegressor])
def test_both_trees_have_the_same_parameters_but_for_the_criterion(kind):
    shared, own = signature(BaseInnerTree).parameters, signature(kind).parameters
    assert list(shared) == list(own)
    other = [name for name in own if own[name].default != shared[name].default]
    assert other in ([], ["criterion"])
    assert set(own) == set(kind._parameter_constraints)
    assert all(f"{name} : " in kind.__doc__ for name in own)


@pytest.mark.parametrize(
    ("kind", "load"), [(InnerTreeClassifier, load_iris), (InnerTreeRegressor, load_diabetes)]
)
def test_a_notebook_shows_the_drawing_of_a_fitted_tree(kind, load):
    tree = kind(max_leaves=3, n_views=3, random_state=0)
    assert "ensemblage-tree" not in tree._repr_html_()
    tree.fit(*load(return_X_y=True))
    for told in (tree._repr_mimebundle_()["text/html"], tree._repr_html_()):
        assert told.endswith(tree.to_html())
        assert told.count("<style>.ensemblage-tree") == 1
    assert tree.to_html().count("<g>") == len(tree.tree_.left)
