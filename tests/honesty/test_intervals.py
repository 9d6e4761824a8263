"""Coverage of 90 % prediction intervals on fresh rows, from few training rows to many."""

import numpy as np
import pytest

from ensemblage.pool import EnsemblageRegressor
from ensemblage.strata import StrataEnsembleRegressor
from ensemblage.studies import predict
from ensemblage.subspace import JointSubspaceRegressor

pytestmark = pytest.mark.slow

REGRESSORS = {
    "strata": StrataEnsembleRegressor(random_state=0),
    "pool": EnsemblageRegressor(["ridge"], random_state=0),
    "joint": JointSubspaceRegressor(3, random_state=0),
}


def drawn_coverages(regressor, n_rows, n_draws, slope):
    """Share of fresh rows inside the intervals, for each drawn training set."""
    found = []
    for draw in range(n_draws):
        rng = np.random.default_rng([n_rows, draw])
        X = rng.normal(size=(n_rows + 500, 3))
        y = slope * (X[:, 0] + X[:, 1] / 2) + rng.normal(size=len(X))
        model = regressor.fit(X[:n_rows], y[:n_rows])
        low, high = predict(model, X[n_rows:]).intervals.T
        found.append(((low <= y[n_rows:]) & (y[n_rows:] <= high)).mean())
    return np.array(found)


@pytest.mark.parametrize("slope", [0.0, 1.0])
@pytest.mark.parametrize(
    ("name", "n_rows", "n_draws"),
    [("strata", 20, 300), ("pool", 20, 300), ("joint", 20, 150), ("pool", 50, 150),
     ("strata", 50, 150), ("joint", 50, 150)],
)  # fmt: skip
def test_intervals_of_few_rows_cover_as_much_as_they_say(name, n_rows, n_draws, slope):
    found = drawn_coverages(REGRESSORS[name], n_rows, n_draws, slope)
    assert found.mean() >= 0.9 - 2 * found.std(ddof=1) / np.sqrt(n_draws)
    assert found.mean() >= 0.89


@pytest.mark.parametrize(("name", "n_draws"), [("strata", 30), ("pool", 60), ("joint", 20)])
def test_intervals_of_many_rows_are_not_much_wider_than_needed(name, n_draws):
    found = drawn_coverages(REGRESSORS[name], 200, n_draws, 1.0)
    assert 0.89 <= found.mean() <= 0.93
