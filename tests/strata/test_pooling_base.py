import numpy as np

from ensemblage.strata import PartialPoolingClassifier, PartialPoolingRegressor
from ensemblage.strata._pooled_fit import Penalties
from ensemblage.strata._pooling_base import Scaling
from ensemblage.strata._pooling_search import OWN, Grid


def test_coefficients_go_back_into_units():
    X, weights = np.array([[0.0, 5.0], [2.0, 5.0]]), np.ones(2)
    scaling = Scaling.of(X, weights)
    assert scaling.scale.tolist() == [1.0, 1.0]  # the second does not vary
    np.testing.assert_array_equal(scaling.rows(X), [[-1, 0, 1], [1, 0, 1]])
    slopes, level = scaling.in_units(np.array([3.0, 0.0, 10.0]))
    assert (slopes.tolist(), level) == ([3.0, 0.0], 7.0)


def test_penalties_are_given_or_chosen_from_a_grid():
    for kind in (PartialPoolingClassifier, PartialPoolingRegressor):
        assert kind(shared_penalty=1, own_penalty=2)._given() == Penalties(1.0, 2.0)
        assert kind(shared_penalty=1)._given() == Grid((1.0,), OWN)
