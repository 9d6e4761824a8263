"""What is noted after a fit."""

import pytest

from ensemblage.datasets import load_dataset
from ensemblage.explain import what_was_learned
from ensemblage.methods import make_model


@pytest.mark.filterwarnings("ignore:.*hold one class only")
@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("logistic", "chosen by inner folds: C = "),
        ("forest", " trees, "),
        ("boosting", " boosting rounds"),
        ("strata", " strata of "),
        ("bayesnet", "a network of 5 nodes and "),
        ("subspace", " members on "),
    ],
)
def test_columns_first_then_what_the_method_found(method, said):
    iris = load_dataset("iris")
    model = make_model(method, iris.kinds, seed=0).fit(iris.X, iris.y)
    first, *lines = what_was_learned(model)
    assert first == "4 columns, encoded as 4 features"
    assert any(said in line for line in lines)
