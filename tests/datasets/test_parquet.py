import datetime as dt
import decimal
import sys

import numpy as np
import pytest

from ensemblage.datasets import read_table


def not_parquet(folder):
    path = folder / "a.parquet"
    path.write_bytes(b"no")
    return path


def test_kinds_and_missing_values(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {
        "i": pa.array([1, None, 3]), "f": [0.5, float("nan"), 2.0], "b": [True, False, None],
        "s": ["a", "NA", None], "d": pa.array(["x", "y", "x"]).dictionary_encode(),
    }  # fmt: skip
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet")
    assert table.kinds == ("numeric", "numeric", "categorical", "categorical", "categorical")
    np.testing.assert_array_equal(table.column("i"), [1.0, np.nan, 3.0])
    assert table.column("b").tolist() == ["True", "False", None]
    assert table.column("s").tolist() == ["a", None, None]
    assert table.categories == {"d": ("x", "y")}
    forced = read_table(tmp_path / "a.parquet", kinds={"i": "categorical"})
    assert forced.column("i").tolist() == ["1", None, "3"]


def test_dates_decimals_and_digits_as_text(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    day, moment = dt.date(2021, 4, 3), dt.datetime(2021, 4, 3, 10, tzinfo=dt.UTC)
    codes = pa.array(["NA", "b", None]).dictionary_encode()
    columns = {
        "day": [day, None, day],
        "moment": pa.array([moment, None, moment], pa.timestamp("us", "Europe/Berlin")),
        "money": [decimal.Decimal("1.50"), None, decimal.Decimal(2)],
        "code": ["1", "2", "10"], "written": ["2021-04-03", None, "-"], "kind": codes,
        "empty": pa.nulls(3), "half": pa.array([1, 2, None], pa.uint8()),
    }  # fmt: skip
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet")
    kinds = (
        "date",
        "date",
        "numeric",
        "categorical",
        "categorical",
        "categorical",
        "numeric",
        "numeric",
    )
    assert table.kinds == kinds
    assert table.column("day")[0] == np.datetime64("2021-04-03", "ms")
    assert table.column("moment")[0] == np.datetime64("2021-04-03T10:00", "ms")
    np.testing.assert_array_equal(table.column("money"), [1.5, np.nan, 2.0])
    assert table.column("code").tolist() == ["1", "2", "10"]
    # a declared category is not missing
    assert table.column("kind").tolist() == ["NA", "b", None]
    known = read_table(tmp_path / "a.parquet", kinds={"code": "numeric", "day": "categorical"})
    assert known.column("code").tolist() == [1.0, 2.0, 10.0]
    assert known.column("day").tolist() == ["2021-04-03", None, "2021-04-03"]


def test_duplicate_names_are_renamed(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    parquet.write_table(table, tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").names == ("x", "x_2")


def test_damaged_and_too_large_files_are_refused(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"x": np.arange(1000.0)}), path)
    whole = path.read_bytes()
    for data in (whole[:100], whole[:-20], b"PAR1" + bytes(300) + whole[-300:], b""):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"a\.parquet is not a Parquet file, or it is damaged"):
            read_table(path)
    parquet.write_table(pa.table({"x": np.zeros(12_000_000)}), path)
    with pytest.raises(ValueError, match="has 12000000 rows and 1 columns, too many"):
        read_table(path)


def test_invalid_parquet_files(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    with pytest.raises(ValueError, match=r"a\.parquet is not a Parquet file"):
        read_table(not_parquet(tmp_path))
    for values, message in (
        ([[1], [2]], "Column 'x' has the nested type list"),
        ([1.0, np.inf], "infinity"),
    ):
        parquet.write_table(pa.table({"x": values}), tmp_path / "b.parquet")
        with pytest.raises(ValueError, match=message):
            read_table(tmp_path / "b.parquet")
    parquet.write_table(pa.table({"x": ["a"]}), tmp_path / "c.parquet")
    with pytest.raises(ValueError, match="expected numbers"):
        read_table(tmp_path / "c.parquet", kinds={"x": "numeric"})
    parquet.write_table(pa.table({"x": pa.array([], pa.int64())}), tmp_path / "d.parquet")
    with pytest.raises(ValueError, match="has no rows"):
        read_table(tmp_path / "d.parquet")


def test_missing_pyarrow_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    remedy = r'needs pyarrow, .* "ensemblage\[all\]"\. Or save the data as CSV'
    with pytest.raises(ImportError, match=remedy):
        read_table(not_parquet(tmp_path))
