"""The state of rows on disk, in a file beside them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocks.fitted_bits import blobs
from ensemblage.blocks import MemoryBlocks, NpyBlocks, _spill, merge, open_blocks
from ensemblage.strata import HISS


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, blobs())
    return path


def count_up(block, width):
    before = 0 if block.carry is None else block.carry.sum()
    return np.full((width, len(block.rows)), before + 1.0), (block.start,)


@given(st.integers(1, 60), st.integers(1, 20), st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_carries_come_back_as_they_were(tmp_path_factory, n_rows, block_rows, widths):
    folder = tmp_path_factory.mktemp("rows")
    X = np.arange(2.0 * n_rows).reshape(n_rows, 2)
    np.save(folder / "rows.npy", X)
    sources = MemoryBlocks(X, None, block_rows), NpyBlocks(folder / "rows.npy", block_rows)
    for width in widths:  # carries may grow
        here, there = (merge(source.advance(count_up, width)) for source in sources)
        assert here == there
    here, there = (list(source.map(lambda block: block.carry)) for source in sources)
    for mine, theirs in zip(here, there, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert [each.name for each in folder.iterdir()] == ["rows.npy"]


def test_a_full_disk_is_told_before_the_first_pass_ends(rows, monkeypatch):
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(_spill.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(OSError, match=r"takes 48 kB, and .* has 1 kB left: make room, or name"):
        HISS(2, 0.3).fit(open_blocks(rows, block_rows=6000))


def test_a_folder_that_is_not_there_any_more_is_named(rows, tmp_path):
    spill = tmp_path / "spill"
    spill.mkdir()
    source = open_blocks(rows, spill_folder=spill)
    spill.rmdir()
    with pytest.raises(OSError, match=r"name a folder that you may write to"):
        HISS(2, 0.3).fit(source)


@pytest.mark.parametrize(
    ("size", "words"), [(7, "7 bytes"), (72_000, "72 kB"), (6.4e8, "640 MB"), (2e11, "200 GB")]
)
def test_sizes_have_units(size, words):
    assert _spill.write_size(size) == words


def test_a_row_file_is_whole_or_not_there(tmp_path):
    path = tmp_path / "out.npy"
    file = _spill.RowFile(path, 3)
    file.commit()  # nothing was written
    assert not path.exists()
    file.write(slice(0, 2), np.ones((2, 2)))
    assert not path.exists()
    file.write(np.array([2, 0]), np.full((2, 2), 5.0))
    file.commit()
    np.testing.assert_array_equal(np.load(path), [[5, 5], [1, 1], [5, 5]])
    file.write(slice(0, 1), np.ones(1))
    file.discard()
    assert [each.name for each in tmp_path.iterdir()] == ["out.npy"]
    assert np.load(path).shape == (3, 2)
