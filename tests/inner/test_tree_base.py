from inspect import signature

import pytest

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
