"""What methods cost, roughly."""

from ensemblage.methods import METHODS
from ensemblage.methods._method_costs import SECONDS, cell_cost, expected_seconds


def test_every_method_has_a_cost():
    assert set(METHODS) <= set(SECONDS)


def test_steep_methods_grow_faster_than_the_rows():
    assert expected_seconds(METHODS["forest"], 4000) == 4 * expected_seconds(
        METHODS["forest"], 1000
    )
    assert expected_seconds(METHODS["svm"], 4000) == 8 * expected_seconds(METHODS["svm"], 1000)


def test_cells_of_a_method_are_alike():
    one, two = (cell_cost({"method": "svm", "fold": k}, seconds={"svm": 2.0}) for k in (0, 1))
    assert one == two == ("svm", 2.0)
