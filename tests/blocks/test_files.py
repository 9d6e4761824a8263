import logging
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from blocks.fitted_bits import CASES, bits, blobs
from ensemblage.blocks import MemoryBlocks, NpyBlocks, merge, open_blocks
from ensemblage.blocks import _files as _spill
from ensemblage.inner import InnerKMeans
from ensemblage.strata import HISS


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, blobs())
    return path


def count_up(block, width):
    before = 0 if block.state is None else block.state.sum()
    return np.full((width, len(block.rows)), before + 1.0), (block.start,)


@given(st.integers(1, 60), st.integers(1, 20), st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_states_are_restored(tmp_path_factory, n_rows, block_rows, widths):
    folder = tmp_path_factory.mktemp("rows")
    X = np.arange(2.0 * n_rows).reshape(n_rows, 2)
    np.save(folder / "rows.npy", X)
    sources = (
        MemoryBlocks(X, None, block_rows=block_rows),
        NpyBlocks(folder / "rows.npy", block_rows=block_rows),
    )
    for width in widths:  # states may grow
        here, there = (merge(source.map_with_state(count_up, width)) for source in sources)
        assert here == there
    here, there = (list(source.map(lambda block: block.state)) for source in sources)
    for mine, theirs in zip(here, there, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert [each.name for each in folder.iterdir()] == ["rows.npy"]


def test_a_full_disk_raises_before_the_first_pass_ends(rows, monkeypatch):
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(_spill.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(OSError, match=r"needs 48 kB, and .* has 1 kB free: free disk space"):
        HISS(2, 0.3).fit(open_blocks(rows, block_rows=6000))


def test_a_removed_folder_raises(rows, tmp_path):
    spill = tmp_path / "spill"
    spill.mkdir()
    source = open_blocks(rows, spill_folder=spill)
    spill.rmdir()
    with pytest.raises(OSError, match=r"set a writable folder"):
        HISS(2, 0.3).fit(source)


@pytest.mark.parametrize(
    ("size", "text"), [(7, "7 bytes"), (72_000, "72 kB"), (6.4e8, "640 MB"), (2e11, "200 GB")]
)
def test_sizes_have_units(size, text):
    assert _spill.format_size(size) == text


def test_a_row_file_is_written_atomically(tmp_path):
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


BLOCK = 256


may_not_converge = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@may_not_converge
@pytest.mark.parametrize("name", CASES)
def test_a_file_is_bit_identical_to_memory(name, rows, tmp_path):
    model, given = CASES[name]
    here = clone(model).fit(MemoryBlocks(blobs(), block_rows=BLOCK), **given)
    out = tmp_path / "out.npy"
    there = clone(model).fit(open_blocks(rows, block_rows=BLOCK, out=out), **given)
    assert bits(here) == bits(there)
    kept = np.load(out)
    if isinstance(model, InnerKMeans):
        np.testing.assert_array_equal(kept["label"], here.labels_)
        np.testing.assert_array_equal(kept["vote"], here.votes_)
        assert not hasattr(there, "labels_")
    else:
        np.testing.assert_array_equal(kept, here.memberships_)
        assert not hasattr(there, "memberships_")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.npy", "rows.npy"]


@may_not_converge
def test_a_path_is_bit_identical_to_the_array(rows):
    for model in (HISS(3, 0.3, max_iter=3, random_state=0), InnerKMeans(3, random_state=0)):
        here, there, path = (clone(model).fit(X) for X in (blobs(), str(rows), rows))
        assert bits(here) == bits(there) == bits(path)
        np.testing.assert_array_equal(here.transform(blobs()), there.transform(blobs()))


@may_not_converge
@pytest.mark.parametrize("kind", ["<f4", ">f8", "<i4", "u1", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_numeric_dtypes_and_both_orders_are_read(kind, order, tmp_path):
    X = np.asarray(np.abs(blobs(500)) * 3, dtype=kind, order=order)
    np.save(tmp_path / "rows.npy", X)
    source = NpyBlocks(tmp_path / "rows.npy", block_rows=64)
    read = np.concatenate(list(source.map(lambda block: block.rows)))
    assert read.dtype == (np.float32 if kind == "<f4" else np.float64)
    np.testing.assert_array_equal(read, X)


def test_folder_and_size_of_the_state_are_logged(rows, caplog):
    with caplog.at_level(logging.INFO, "ensemblage"):
        HISS(3, 0.3, max_iter=2, tol=1e3, random_state=0).fit(rows)
    (logged,) = [each for each in caplog.messages if "state" in each]
    # 3 strata, 4 bytes, in one slot for each block of 8000 rows
    assert (
        logged == f"The state of the rows is stored in {rows.parent}, in a temporary file of 72 kB."
    )


def test_a_non_finite_value_is_named_by_file_row_and_column(rows):
    X = blobs()
    X[4321, 2] = np.nan
    np.save(rows, X)
    for model in (HISS(2, 0.3), InnerKMeans(2)):
        with pytest.raises(
            ValueError, match=r"Column 2 is nan in row 4321 of .*rows\.npy \(counted"
        ):
            model.fit(rows)
        assert not hasattr(model, "n_features_in_")
    X[4321, 2], X[5, 1] = 1.0, -np.inf
    np.save(rows, X)
    with pytest.raises(ValueError, match=r"Column 1 is -inf in row 5 of .*impute it, or remove"):
        HISS(2, 0.3).fit(rows)


@pytest.mark.parametrize("change", ["append", "replace", "remove", "cut"])
def test_a_file_that_changes_raises_and_leaves_no_output(change, rows, tmp_path, monkeypatch):
    from ensemblage.strata import _gaussian

    def change_then(*arguments):
        if change == "append":
            with rows.open("ab") as file:
                file.write(b"more")
        elif change == "replace":
            np.save(rows, blobs(seed=1))
            os.utime(rows, ns=(0, 0))
        elif change == "cut":
            os.truncate(rows, 5000)
        else:
            rows.unlink()
        return initial_means(*arguments)

    initial_means = _gaussian.initial_means
    monkeypatch.setattr(_gaussian, "initial_means", change_then)
    model = HISS(2, 0.3)
    with pytest.raises(ValueError, match=r"rows\.npy changed during fit"):
        model.fit(open_blocks(rows, out=tmp_path / "out.npy"))
    assert vars(model) == vars(HISS(2, 0.3))
    assert {path.name for path in tmp_path.iterdir()} <= {"rows.npy"}


def test_an_interrupt_leaves_no_file(rows, tmp_path, monkeypatch):
    from ensemblage.strata import _hiss

    def write_and_interrupt(*arguments):
        exact_memberships(*arguments)
        raise KeyboardInterrupt

    exact_memberships = _hiss.exact_memberships
    monkeypatch.setattr(_hiss, "exact_memberships", write_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        HISS(2, 0.3).fit(open_blocks(rows, out=tmp_path / "out.npy"))
    assert [path.name for path in tmp_path.iterdir()] == ["rows.npy"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"out": "memberships.csv"}, r"out='memberships\.csv' must be the name of a \.npy file"),
        ({"out": "no/where/o.npy"}, r"The folder of out=.* does not exist"),
        ({"spill_folder": "no/where"}, r"spill_folder='no/where' is not a folder"),
        ({"columns": ["a"]}, r"have no names: omit columns"),
        ({"block_rows": 0}, r"block_rows=0 must be at least 1"),
    ],
)
def test_invalid_options_raise(options, message, rows):
    with pytest.raises(ValueError, match=message):
        open_blocks(rows, **options)
    with pytest.raises(ValueError, match="is the input file"):
        open_blocks(rows, out=rows)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (np.array(["a", "b"])[:, None], r"has dtype <U1, expected a numeric dtype"),
        (np.arange(4.0), r"must contain a two-dimensional array"),
        (np.empty((0, 3)), r"rows\.npy has no rows"),
        (b"something else", r"is not a numeric \.npy file"),
    ],
)
def test_files_without_numeric_rows_raise(content, message, tmp_path):
    path = tmp_path / "rows.npy"
    path.write_bytes(content) if isinstance(content, bytes) else np.save(path, content)
    with pytest.raises(ValueError, match=message):
        HISS(2, 0.3).fit(path)
