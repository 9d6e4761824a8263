import numpy as np
import pytest
from sklearn.datasets import (
    load_breast_cancer,
    load_iris,
    load_wine,
    make_classification,
    make_moons,
)

from ensemblage.subspace._member import as_rows, standardise
from ensemblage.subspace._sequence import fit_sequence
from ensemblage.subspace._settings import Settings, step_length
from reference.joint_subspace import algorithm_1

DATASETS = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "cancer": lambda: tuple(a[:150] for a in load_breast_cancer(return_X_y=True)),
    "moons": lambda: make_moons(120, noise=0.3, random_state=0),
    "four classes": lambda: make_classification(
        120, 12, n_informative=6, n_classes=4, random_state=0
    ),
}


def both(name, seed, n_members=3, p_lambda=0.2, tol=1e-4):
    X, y = DATASETS[name]()
    rows = as_rows(X, y, y.max() + 1, standardise(X))
    eta = step_length(rows)
    seeds = [1000 * seed + k for k in range(n_members)]
    settings = Settings("paper", p_lambda, 0.0, eta, 1.0, 50, tol, 500)
    ours = list(fit_sequence(rows, seeds, settings))
    return ours, algorithm_1(rows.features.T, y, rows.n_outputs, seeds, p_lambda, eta, tol)


@pytest.mark.parametrize("name", DATASETS)
def test_equals_algorithm_1_literally(name):
    flips = 0
    for seed in range(20):
        for member, (theta, bias, mask) in zip(*both(name, seed), strict=True):
            np.testing.assert_array_equal(member.support, mask)
            np.testing.assert_allclose(member.coef, theta, atol=1e-10)
            np.testing.assert_allclose(member.intercept, bias, atol=1e-10)
            flips += int((~mask).sum())
    assert flips > 0  # or the masks were never tried
