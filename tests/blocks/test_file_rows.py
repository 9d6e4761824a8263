"""Rows in ``.npy`` files give the bits of rows in memory, and bad ones a sentence."""

import logging
import os

import numpy as np
import pytest
from sklearn.base import clone

from blocks.fitted_bits import CASES, bits, blobs
from ensemblage.blocks import MemoryBlocks, NpyBlocks, open_blocks
from ensemblage.inner import InnerKMeans
from ensemblage.strata import HISS

BLOCK = 256
may_not_rest = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, blobs())
    return path


@may_not_rest
@pytest.mark.parametrize("name", CASES)
def test_a_file_gives_the_bits_of_memory(name, rows, tmp_path):
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


@may_not_rest
def test_a_path_alone_gives_the_bits_of_the_array(rows):
    for model in (HISS(3, 0.3, max_iter=3, random_state=0), InnerKMeans(3, random_state=0)):
        here, there, path = (clone(model).fit(X) for X in (blobs(), str(rows), rows))
        assert bits(here) == bits(there) == bits(path)
        np.testing.assert_array_equal(here.transform(blobs()), there.transform(blobs()))


@may_not_rest
@pytest.mark.parametrize("kind", ["<f4", ">f8", "<i4", "u1", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_numbers_in_any_order_are_read(kind, order, tmp_path):
    X = np.asarray(np.abs(blobs(500)) * 3, dtype=kind, order=order)
    np.save(tmp_path / "rows.npy", X)
    source = NpyBlocks(tmp_path / "rows.npy", block_rows=64)
    read = np.concatenate(list(source.map(lambda block: block.rows)))
    assert read.dtype == (np.float32 if kind == "<f4" else np.float64)
    np.testing.assert_array_equal(read, X)


def test_the_place_and_size_of_the_state_are_said(rows, caplog):
    with caplog.at_level(logging.INFO, "ensemblage"):
        HISS(3, 0.3, max_iter=2, tol=1e3, random_state=0).fit(rows)
    (said,) = [each for each in caplog.messages if "state" in each]
    # 3 strata, 4 bytes, in one slot for each block of 8000 rows
    assert said == f"The state of the rows is kept in {rows.parent}, in a temporary file of 72 kB."


def test_a_bad_value_is_named_by_file_row_and_column(rows):
    X = blobs()
    X[4321, 2] = np.nan
    np.save(rows, X)
    for model in (HISS(2, 0.3), InnerKMeans(2)):
        with pytest.raises(ValueError, match=r"Column 2 is nan in row 4321 of .*rows\.npy, count"):
            model.fit(rows)
        assert not hasattr(model, "n_features_in_")
    X[4321, 2], X[5, 1] = 1.0, -np.inf
    np.save(rows, X)
    with pytest.raises(ValueError, match=r"Column 1 is -inf in row 5 of .*fill it in, or leave"):
        HISS(2, 0.3).fit(rows)


@pytest.mark.parametrize("change", ["append", "replace", "remove", "cut"])
def test_a_file_that_changes_is_refused_and_nothing_is_left(change, rows, tmp_path, monkeypatch):
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
        return start_means(*arguments)

    start_means = _gaussian.start_means
    monkeypatch.setattr(_gaussian, "start_means", change_then)
    model = HISS(2, 0.3)
    with pytest.raises(ValueError, match=r"rows\.npy changed while a model was fitted to it"):
        model.fit(open_blocks(rows, out=tmp_path / "out.npy"))
    assert vars(model) == vars(HISS(2, 0.3))
    assert {path.name for path in tmp_path.iterdir()} <= {"rows.npy"}


def test_an_interrupt_leaves_no_file(rows, tmp_path, monkeypatch):
    from ensemblage.strata import _hiss

    def write_and_interrupt(*arguments):
        fit_by_prices(*arguments)
        raise KeyboardInterrupt

    fit_by_prices = _hiss.fit_by_prices
    monkeypatch.setattr(_hiss, "fit_by_prices", write_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        HISS(2, 0.3).fit(open_blocks(rows, out=tmp_path / "out.npy"))
    assert [path.name for path in tmp_path.iterdir()] == ["rows.npy"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"out": "memberships.csv"}, r"out='memberships\.csv' must be the name of a \.npy file"),
        ({"out": "no/where/o.npy"}, r"is in no folder that exists"),
        ({"spill_folder": "no/where"}, r"spill_folder='no/where' is no folder"),
        ({"columns": ["a"]}, r"have no names: leave columns out"),
        ({"block_rows": 0}, r"block_rows=0 must be at least 1"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message, rows):
    with pytest.raises(ValueError, match=message):
        open_blocks(rows, **options)
    with pytest.raises(ValueError, match="is the file that the rows are in"):
        open_blocks(rows, out=rows)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (np.array(["a", "b"])[:, None], r"holds <U1; numbers are needed"),
        (np.arange(4.0), r"must hold one matrix"),
        (np.empty((0, 3)), r"rows\.npy has no rows"),
        (b"something else", r"is no \.npy file of numbers"),
    ],
)
def test_files_without_rows_of_numbers_are_refused(content, message, tmp_path):
    path = tmp_path / "rows.npy"
    path.write_bytes(content) if isinstance(content, bytes) else np.save(path, content)
    with pytest.raises(ValueError, match=message):
        HISS(2, 0.3).fit(path)
