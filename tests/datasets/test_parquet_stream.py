import datetime as dt

import numpy as np
import pytest

from ensemblage.datasets import open_table, read_table

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def stored(tmp_path):
    """Numeric, string, dictionary and date columns with missing values, in uneven row groups."""
    path = tmp_path / "rows.parquet"
    columns = {
        "x": pa.array([1.5, None, 3, 4, 5, 6, 7, 8]),
        "n": pa.array(range(8), pa.int32()),
        "w": pa.array(["a", "NA", None, " b ", "?", "", "c", "d"]),
        "d": pa.array(["u", "v"] * 4).dictionary_encode(),
        "t": pa.array([dt.date(2021, 1, day) for day in range(1, 9)]),
    }
    table = pa.table(columns)
    with parquet.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table.slice(0, 3))
        writer.write_table(table.slice(0, 0))
        writer.write_table(table.slice(3))
    return path


def test_blocks_equal_the_whole_table(stored):
    whole, found = read_table(stored), open_table(stored, block_rows=2)
    assert (found.in_blocks, found.n_rows, found.notes) == (True, 8, ())
    tables = [*found.read()]
    assert max(table.n_rows for table in tables) == 2
    for j, column in enumerate(whole.columns):
        np.testing.assert_array_equal(np.concatenate([t.columns[j] for t in tables]), column)


def test_small_files_and_dates_as_text_are_read_whole(stored):
    assert not open_table(stored).in_blocks
    dated = stored.parent / "dated.parquet"
    parquet.write_table(pa.table({"t": ["3/4/2021", "13/4/2021"] * 3}), dated)
    assert not open_table(dated, kinds={"t": "date"}, block_rows=2).in_blocks
    assert open_table(stored, kinds={"t": "date"}, block_rows=2).in_blocks


def test_errors_name_the_file(stored, tmp_path):
    with pytest.raises(ValueError, match=r"In rows\.parquet: Column 'w' contains 'a', which is n"):
        [*open_table(stored, kinds={"w": "numeric"}, block_rows=2).read()]
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(stored.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"damaged\.parquet is not a Parquet file, or it is dam"):
        open_table(damaged, block_rows=2)
    infinite = tmp_path / "infinite.parquet"
    parquet.write_table(pa.table({"x": [1.0] * 5 + [float("inf")]}), infinite)
    with pytest.raises(ValueError, match=r"In infinite\.parquet: Column 'x' contains infinity"):
        [*open_table(infinite, block_rows=2).read()]
