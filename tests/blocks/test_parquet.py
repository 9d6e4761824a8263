"""Fits on Parquet files are bit-identical to fits in memory; invalid files raise."""

import sys

import numpy as np
import pytest
from sklearn.base import clone

from blocks.fitted_bits import CASES, bits, blobs
from ensemblage.blocks import MemoryBlocks, ParquetBlocks, open_blocks
from ensemblage.inner import InnerKMeans
from ensemblage.strata import HISS

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")

BLOCK = 256
NAMES = list("abcd")
may_not_converge = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def write(path, rows=None, names=NAMES, group=700, **more):
    rows = blobs() if rows is None else rows
    columns = {name: rows[:, j] for j, name in enumerate(names)} | more
    pq.write_table(pa.table(columns), path, row_group_size=group)
    return path


@may_not_converge
@pytest.mark.parametrize("name", CASES)
def test_a_file_is_bit_identical_to_memory(name, tmp_path):
    model, given = CASES[name]
    path = write(tmp_path / "rows.parquet")
    here = clone(model).fit(MemoryBlocks(blobs(), block_rows=BLOCK), **given)
    there = clone(model).fit(open_blocks(path, block_rows=BLOCK), **given)
    assert bits(here) == bits(there)
    assert there.feature_names_in_.tolist() == NAMES
    assert [each.name for each in tmp_path.iterdir()] == ["rows.parquet"]


@may_not_converge
def test_a_path_is_bit_identical_to_the_dataframe(tmp_path):
    path = write(tmp_path / "rows.parquet")
    for model in (HISS(3, 0.3, max_iter=3, random_state=0), InnerKMeans(3, random_state=0)):
        here, there = clone(model).fit(pd.read_parquet(path)), clone(model).fit(path)
        assert bits(here) == bits(there)
        assert list(there.feature_names_in_) == list(here.feature_names_in_)


@may_not_converge
def test_folders_and_lists_are_read_in_order(tmp_path):
    X = blobs()
    paths = [
        write(tmp_path / f"part-{i}.parquet", X[part])
        for i, part in enumerate([slice(0, 1000), slice(1000, 1001), slice(1001, 6000)])
    ]
    write(tmp_path / "empty.pq", X[:0])
    for given in (tmp_path, str(tmp_path), paths, [str(path) for path in paths]):
        source = open_blocks(given, block_rows=500)
        parts = list(source.map(lambda block: block.rows))
        assert [len(part) for part in parts] == [500] * 12
        np.testing.assert_array_equal(np.concatenate(parts), X)
    assert source.describe_row(1001).startswith("row 0 of")
    assert source.describe_row(1001).endswith("part-2.parquet")
    whole = HISS(2, 0.3, max_iter=2, tol=1e3, random_state=0).fit(X)
    assert bits(whole) == bits(clone(whole).fit(tmp_path))


def test_columns_are_selected_and_ordered_by_name(tmp_path):
    text = np.array(["x", "y"] * 3000)
    path = write(tmp_path / "rows.parquet", text=text)
    source = open_blocks(path, columns=["c", "a"])
    assert source.feature_names == ["c", "a"]
    rows = np.concatenate(list(source.map(lambda block: block.rows)))
    np.testing.assert_array_equal(rows, blobs()[:, [2, 0]])
    with pytest.raises(
        ValueError, match=r"Column 'text' of .*rows\.parquet is .*string, expected num"
    ):
        HISS(2, 0.3).fit(path)
    with pytest.raises(ValueError, match=r"has no column 'e': choose among a, b, c, d, text"):
        open_blocks(path, columns=["a", "e"])
    with pytest.raises(ValueError, match=r"columns='a' must be a list of names"):
        open_blocks(path, columns="a")


def test_all_numeric_types_become_floats(tmp_path):
    path = tmp_path / "rows.parquet"
    table = pa.table(
        {
            "whole": pa.array([1, 2, 3], pa.int8()),
            "truth": [True, False, True],
            "exact": pa.array([1, 2, 3]).cast(pa.decimal128(21, 2)),
            "half": pa.array(np.array([1, 2, 3], np.float16)),
        }
    )
    pq.write_table(table, path)
    (rows,) = ParquetBlocks(path).map(lambda block: block.rows)
    assert rows.dtype == np.float64
    np.testing.assert_array_equal(rows, [[1, 1, 1, 1], [2, 0, 2, 2], [3, 1, 3, 3]])


def test_a_missing_value_is_named_by_file_and_row(tmp_path):
    write(tmp_path / "a.parquet", blobs(100))
    column = pa.array([None if i == 7 else i for i in range(50)])
    table = pa.table({name: np.ones(50) for name in "abc"} | {"d": column})
    pq.write_table(table, tmp_path / "b.parquet", row_group_size=20)
    with pytest.raises(ValueError, match=r"Column 'd' is nan in row 7 of .*b\.parquet \(counted"):
        InnerKMeans(2).fit(tmp_path)


def test_files_with_different_columns_raise(tmp_path):
    paths = write(tmp_path / "a.parquet"), write(tmp_path / "b.parquet", names=list("abce"))
    message = r"b\.parquet has no column 'd', which .*a\.parquet has: use files with the same"
    with pytest.raises(ValueError, match=message):
        HISS(2, 0.3).fit(paths)
    assert open_blocks(paths, columns=["a", "b"]).shape == (12000, 2)


def test_invalid_parquet_files_raise(tmp_path):
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(ValueError, match=r"rows\.parquet is not a Parquet file, or it is damaged"):
        HISS(2, 0.3).fit(path)
    with pytest.raises(
        FileNotFoundError, match=r"There is no file .*none\.parquet: check the name"
    ):
        HISS(2, 0.3).fit(tmp_path / "none.parquet")
    path.unlink()
    with pytest.raises(ValueError, match=r"has no Parquet files"):
        HISS(2, 0.3).fit(tmp_path)
    pq.write_table(pa.table({"a": np.empty(0)}), path)
    with pytest.raises(ValueError, match=r"rows\.parquet has no rows"):
        HISS(2, 0.3).fit(path)


def test_without_pyarrow_the_error_says_what_to_install(tmp_path, monkeypatch):
    path = write(tmp_path / "rows.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r'pip install "ensemblage\[all\]"\. Or save the rows as'):
        HISS(2, 0.3).fit(path)


def test_a_large_row_group_is_read_in_parts(tmp_path):
    X = np.random.default_rng(0).normal(size=(1_500_000, 4))
    path = write(tmp_path / "rows.parquet", X, group=len(X))
    before, most = pa.total_allocated_bytes(), 0
    for _ in ParquetBlocks(path).map(len):
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < X.nbytes / 2
