"""What is noted after a fit."""

import pytest

from ensemblage.datasets import load_dataset
from ensemblage.explain import what_was_learned
from ensemblage.explain._learned import _harder
from ensemblage.strata import StrataDescription, StratumDescription


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
def test_columns_first_then_what_the_method_found(quick_model, method, said):
    first, *lines = what_was_learned(quick_model(method))
    assert first == "4 columns, encoded as 4 features"
    assert any(said in line for line in lines)


def test_columns_have_their_own_names(quick_model):
    iris = load_dataset("iris")
    model = quick_model("bayesnet")
    lines = what_was_learned(model, iris.feature_names)
    told = [line for line in lines if " depends on " in line]
    assert told
    assert all(line.startswith(("sepal", "petal")) for line in told)


def test_harder_strata_are_named():
    easy = StratumDescription(0, "age low (20)", 0.5, 0.1, ())
    hard = StratumDescription(1, "age high (61)", 0.5, 0.3, ())
    described = StrataDescription((easy, hard), 10, 0.2, "training")
    assert list(_harder(described)) == [
        "harder than others: age high (61) (error 30.0% on training rows, all rows 20.0%)"
    ]
