import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.blocks import MemoryBlocks, NpyBlocks, of_carries


def doubled(block):
    return 2 * block.rows, (block.weights.sum(), len(block.rows))


@given(st.integers(1, 60), st.integers(1, 20))
def test_values_of_rows_are_kept_in_their_order(tmp_path_factory, n_rows, block_rows):
    folder = tmp_path_factory.mktemp("rows")
    X = np.arange(2.0 * n_rows).reshape(n_rows, 2)
    np.save(folder / "rows.npy", X)
    source = NpyBlocks(folder / "rows.npy", block_rows, out=folder / "out.npy")
    kept, total = MemoryBlocks(X, None, block_rows).collect(doubled)
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
    for source in (MemoryBlocks(X, None, block_rows), NpyBlocks(folder / "rows.npy", block_rows)):
        some = source.begin(weights).select(indices)
        assert some.shape == (len(indices), 2)
        np.testing.assert_array_equal(some.weights, weights[indices])
        read = list(some.map(lambda block: block.rows))
        np.testing.assert_array_equal(np.concatenate(read), X[indices])
        assert all(len(part) == block_rows for part in read[:-1])


def test_ones_that_were_not_given_are_ones():
    source = MemoryBlocks(np.zeros((5, 1)), block_rows=2)
    parts = list(source.map(lambda block: block.weights))
    assert [part.tolist() for part in parts] == [[1, 1], [1, 1], [1]]
    assert all(part.strides == (8,) for part in parts)
    assert source.stand_in.shape == (5, 1)


@of_carries
def sizes(block):
    return block.start, block.rows.shape, block.weights.sum(), block.carry


def test_kernels_of_carries_read_no_rows(tmp_path):
    np.save(tmp_path / "rows.npy", np.ones((5, 3)))
    source = NpyBlocks(tmp_path / "rows.npy", block_rows=2)
    (tmp_path / "rows.npy").unlink()
    found = list(source.map(sizes))
    assert found == [(0, (2, 3), 2.0, None), (2, (2, 3), 2.0, None), (4, (1, 3), 1.0, None)]
