import numpy as np
import pytest

from ensemblage.pool import EnsemblageClassifier, EnsemblageRegressor
from ensemblage.pool._pool_base import PoolMixin

POOLS = [
    EnsemblageClassifier(["logistic", "svm"], cv=2, random_state=0),
    EnsemblageRegressor(["ridge", "svr"], cv=2, random_state=0),
]


@pytest.mark.parametrize("pool", POOLS, ids=["classes", "numbers"])
def test_pools_of_both_kinds_tell_what_they_are_made_of(pool):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=80)).round(0 if pool is POOLS[0] else 9)
    model = pool.fit(X, y)
    assert isinstance(model, PoolMixin)
    assert model.held_out_.target.n_outputs == model._ask(X).shape[2]
    assert [each.place for each in model.contributions()] == []  # without anchors nobody is left
    points = model.frontier()
    assert [len(each.members) for each in points] == [*range(len(points), 0, -1)]
    fastest = min(each.latency for each in points)
    assert len(model.prune(fastest).estimators_) < 1 + len(model.estimators_)
    with pytest.raises(ValueError, match="fastest of the pools"):
        model.prune(fastest / 1000)
