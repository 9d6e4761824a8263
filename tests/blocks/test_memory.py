import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.blocks import Block, MemoryBlocks, merge


def row_sums(block: Block):
    return block.weights.sum(), block.weights @ block.rows


def count_up(block: Block):
    before = np.zeros(len(block.rows)) if block.carry is None else block.carry
    return before + 1, (block.start,)


def test_blocks_come_in_order_and_cover_each_row_once():
    rows = np.arange(20.0).reshape(10, 2)
    source = MemoryBlocks(rows, block_rows=4)
    seen = list(source.map(lambda block: (block.start, block.rows)))
    assert [start for start, _ in seen] == [0, 4, 8]
    np.testing.assert_array_equal(np.concatenate([part for _, part in seen]), rows)
    assert source.shape == (10, 2)


@given(st.integers(1, 40), st.integers(1, 50))
def test_totals_do_not_depend_on_the_block_size(n_rows, block_rows):
    rows = np.arange(3.0 * n_rows).reshape(n_rows, 3)
    weights = np.arange(1.0, n_rows + 1)
    weight, sums = merge(MemoryBlocks(rows, weights, block_rows).map(row_sums))
    assert weight == weights.sum()
    np.testing.assert_allclose(sums, weights @ rows)


def test_a_carry_stays_with_its_rows():
    source = MemoryBlocks(np.zeros((5, 1)), block_rows=2)
    assert list(source.advance(count_up)) == [(0,), (2,), (4,)]
    assert merge(source.advance(count_up)) == (6,)
    carries = list(source.map(lambda block: block.carry))
    np.testing.assert_array_equal(np.concatenate(carries), np.full(5, 2.0))
    assert [len(carry) for carry in carries] == [2, 2, 1]


def test_a_memory_mapped_array_is_read_in_slices(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, np.arange(12.0).reshape(6, 2))
    mapped = np.load(path, mmap_mode="r")
    weight, sums = merge(MemoryBlocks(mapped, block_rows=4).map(row_sums))
    assert weight == 6
    np.testing.assert_array_equal(sums, [30.0, 36.0])
