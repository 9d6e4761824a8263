import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.blocks import (
    Block,
    BlockSource,
    MemoryBlocks,
    NpyBlocks,
    add_fields,
    merge,
    state_only,
)


def test_partial_statistics_are_merged_in_order():
    assert merge(iter(["a", "b", "c"]), lambda left, right: left + right) == "abc"
    assert add_fields((1, 2), (10, 20)) == (11, 22)
    with pytest.raises(ValueError, match="zip"):
        add_fields((1,), (1, 2))


def test_block_source_is_abstract():
    with pytest.raises(TypeError, match="abstract class BlockSource"):
        BlockSource()


def doubled(block):
    return 2 * block.rows, (block.weights.sum(), len(block.rows))


@given(st.integers(1, 60), st.integers(1, 20))
def test_row_values_are_stored_in_order(tmp_path_factory, n_rows, block_rows):
    folder = tmp_path_factory.mktemp("rows")
    X = np.arange(2.0 * n_rows).reshape(n_rows, 2)
    np.save(folder / "rows.npy", X)
    source = NpyBlocks(folder / "rows.npy", block_rows=block_rows, out=folder / "out.npy")
    kept, total = MemoryBlocks(X, None, block_rows=block_rows).collect(doubled)
    np.testing.assert_array_equal(kept, 2 * X)
    assert total == (n_rows, n_rows)
    with source.begin() as rows:
        assert rows.collect(doubled) == (None, total)
        assert not (folder / "out.npy").exists()
    np.testing.assert_array_equal(np.load(folder / "out.npy"), 2 * X)


@given(st.integers(2, 80), st.integers(1, 20), st.data())
def test_selected_rows_are_those_of_memory(tmp_path_factory, n_rows, block_rows, data):
    chosen = data.draw(st.lists(st.integers(0, n_rows - 1), min_size=1, unique=True))
    indices = np.sort(np.array(chosen))
    folder = tmp_path_factory.mktemp("rows")
    X = np.arange(2.0 * n_rows).reshape(n_rows, 2)
    np.save(folder / "rows.npy", X)
    weights = np.arange(1.0, n_rows + 1)
    for source in (
        MemoryBlocks(X, None, block_rows=block_rows),
        NpyBlocks(folder / "rows.npy", block_rows=block_rows),
    ):
        some = source.begin(weights).select(indices)
        assert some.shape == (len(indices), 2)
        np.testing.assert_array_equal(some.weights, weights[indices])
        read = list(some.map(lambda block: block.rows))
        np.testing.assert_array_equal(np.concatenate(read), X[indices])
        assert all(len(part) == block_rows for part in read[:-1])


def test_default_weights_are_ones():
    source = MemoryBlocks(np.zeros((5, 1)), block_rows=2)
    parts = list(source.map(lambda block: block.weights))
    assert [part.tolist() for part in parts] == [[1, 1], [1, 1], [1]]
    assert all(part.strides == (8,) for part in parts)
    assert source.placeholder.shape == (5, 1)


@state_only
def sizes(block):
    return block.start, block.rows.shape, block.weights.sum(), block.state


def test_state_only_kernels_read_no_rows(tmp_path):
    np.save(tmp_path / "rows.npy", np.ones((5, 3)))
    source = NpyBlocks(tmp_path / "rows.npy", block_rows=2)
    (tmp_path / "rows.npy").unlink()
    found = list(source.map(sizes))
    assert found == [(0, (2, 3), 2.0, None), (2, (2, 3), 2.0, None), (4, (1, 3), 1.0, None)]


def row_sums(block: Block):
    return block.weights.sum(), block.weights @ block.rows


def count_up(block: Block):
    before = np.zeros(len(block.rows)) if block.state is None else block.state
    return before + 1, (block.start,)


def test_blocks_are_in_order_and_contain_each_row_once():
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
    weight, sums = merge(MemoryBlocks(rows, weights, block_rows=block_rows).map(row_sums))
    assert weight == weights.sum()
    np.testing.assert_allclose(sums, weights @ rows)


def test_a_state_stays_with_its_rows():
    source = MemoryBlocks(np.zeros((5, 1)), block_rows=2)
    assert list(source.map_with_state(count_up)) == [(0,), (2,), (4,)]
    assert merge(source.map_with_state(count_up)) == (6,)
    states = list(source.map(lambda block: block.state))
    np.testing.assert_array_equal(np.concatenate(states), np.full(5, 2.0))
    assert [len(state) for state in states] == [2, 2, 1]


def test_a_memory_mapped_array_is_read_in_slices(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, np.arange(12.0).reshape(6, 2))
    mapped = np.load(path, mmap_mode="r")
    weight, sums = merge(MemoryBlocks(mapped, block_rows=4).map(row_sums))
    assert weight == 6
    np.testing.assert_array_equal(sums, [30.0, 36.0])
