import numpy as np
import pytest

from ensemblage.blocks import MemoryBlocks
from ensemblage.inner._kmeans_start import random_rows, spread_rows

ROWS = np.array([[0.0, 0.0], [0.1, 0.0], [9.0, 0.0], [9.1, 0.0], [0.0, 9.0], [0.0, 9.1]])


@pytest.mark.parametrize("seed", range(5))
def test_spread_rows_take_one_of_each_cloud(seed):
    centers = spread_rows(MemoryBlocks(ROWS), 3, np.random.default_rng(seed))
    assert {(x > 5, y > 5) for x, y in centers} == {(False, False), (True, False), (False, True)}


def test_rows_without_weight_are_not_drawn():
    source = MemoryBlocks(ROWS, np.array([0.0, 1.0, 0.0, 1.0, 0.0, 1.0]), block_rows=2)
    drawn = random_rows(source, 3, np.random.default_rng(0))
    assert sorted(map(tuple, drawn)) == sorted(map(tuple, ROWS[1::2]))


def test_too_few_weights_leave_every_row_to_choose_from():
    source = MemoryBlocks(ROWS, np.array([1.0, 0, 0, 0, 0, 0]))
    drawn = random_rows(source, 4, np.random.default_rng(0))
    assert len({tuple(row) for row in drawn}) == 4


def test_of_many_rows_some_with_weight_are_drawn_for_the_start(monkeypatch):
    monkeypatch.setattr("ensemblage.inner._kmeans_start.START_ROWS", 40)
    monkeypatch.setattr("ensemblage.inner._kmeans_start.ROWS_PER_CLUSTER", 2)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 2)) + 50 * np.eye(3, 2)[rng.integers(3, size=500)]
    weights = (rows[:, 0] > 0).astype(float)
    for source in (MemoryBlocks(rows, weights, 64), MemoryBlocks(rows, block_rows=64)):
        centers = spread_rows(source, 3, np.random.default_rng(1))
        found = [np.flatnonzero((rows == center).all(axis=1)) for center in centers]
        assert all(len(each) == 1 for each in found)
        assert all(source.weights[each[0]] > 0 for each in found)
        again = spread_rows(source, 3, np.random.default_rng(1))
        np.testing.assert_array_equal(centers, again)
    assert len({(x > 25, y > 25) for x, y in centers}) == 3
