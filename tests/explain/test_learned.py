"""What is noted after a fit."""

import pytest

from ensemblage.explain import what_was_learned


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
