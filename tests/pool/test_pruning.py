import numpy as np
import pytest

from ensemblage.fusion import LogPool
from ensemblage.pool._pruning import frontier, fuse_again
from pool.test_contributions import record

SECONDS = {"strata": 0.01, "one": 0.1, "two": 0.2}


def test_who_costs_most_for_what_it_adds_goes_first():
    points = frontier(record(), SECONDS, LogPool())
    assert points[0].members == ("strata", "one", "two")
    assert points[-1].members == ("strata",)
    assert points[0].latency == pytest.approx(0.31)
    assert points[-1].latency == 0.01
    assert len(points) == 3


def test_the_loss_is_that_of_the_fusion_fitted_again():
    kept = record()
    outputs = kept.outputs[[0, 2]].astype(float)
    fused = LogPool().fit(outputs, kept.y).combine(outputs)
    expected = -np.log(fused[np.arange(200), kept.y]).mean()
    points = frontier(kept, {"strata": 0.01, "two": 0.2}, LogPool())
    assert points[0].members == ("strata", "two")
    assert points[0].log_loss == pytest.approx(expected)
    again = fuse_again(kept, ["strata", "two"], LogPool())
    np.testing.assert_array_equal(again.combine(outputs), fused)
