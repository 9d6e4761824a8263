"""Rows of Parquet files read by Dask workers."""

import numpy as np
import pytest

from ensemblage.blocks import ParquetParts
from ensemblage.blocks._dask import read_part

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def path(tmp_path):
    table = pa.table({"b": np.arange(10.0), "text": list("abcdefghij"), "a": np.arange(10)})
    parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=4)
    return tmp_path / "rows.parquet"


@pytest.mark.parametrize(("start", "stop"), [(0, 10), (3, 9), (4, 5), (9, 10)])
def test_a_part_may_span_row_groups_and_files(path, start, stop):
    stored = [path, path], ["a", "b"], np.dtype(np.float32)
    rows = read_part(start + 5, stop + 5, *stored)
    assert rows.dtype == np.float32
    wanted = np.tile(np.arange(10.0), 2)[start + 5 : stop + 5]
    np.testing.assert_array_equal(rows, np.column_stack([wanted, wanted]))


@pytest.mark.filterwarnings("default")
def test_all_parts_are_the_rows_of_the_file(path):
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ):
        source = ParquetParts(path, ["a", "b"])
        rows = np.concatenate([block.rows for block in source.map(_itself)])
        other = source.transformed(np.negative)
        total = other.reduce(_sum)
    assert source.feature_names == ["a", "b"]
    np.testing.assert_array_equal(rows, np.repeat(np.arange(10.0)[:, None], 2, axis=1))
    assert total == (-90.0,)


def _itself(block):
    return block


def _sum(block):
    return (block.rows.sum(),)
