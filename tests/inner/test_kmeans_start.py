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
