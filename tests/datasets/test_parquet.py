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
    assert table.kinds == ("number", "number", "word", "word", "word")
    np.testing.assert_array_equal(table.column("i"), [1.0, np.nan, 3.0])
    assert table.column("b").tolist() == ["True", "False", None]
    assert table.column("s").tolist() == ["a", None, None]
    forced = read_table(tmp_path / "a.parquet", kinds={"i": "word"})
    assert forced.column("i").tolist() == ["1", None, "3"]


def test_bad_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    with pytest.raises(ValueError, match=r"a\.parquet is not a Parquet file"):
        read_table(not_parquet(tmp_path))
    for values, message in (([[1], [2]], "Column 'x' holds list"), ([1.0, np.inf], "infinity")):
        parquet.write_table(pa.table({"x": values}), tmp_path / "b.parquet")
        with pytest.raises(ValueError, match=message):
            read_table(tmp_path / "b.parquet")
    parquet.write_table(pa.table({"x": ["a"]}), tmp_path / "c.parquet")
    with pytest.raises(ValueError, match="numbers are expected"):
        read_table(tmp_path / "c.parquet", kinds={"x": "number"})
    parquet.write_table(pa.table({"x": pa.array([], pa.int64())}), tmp_path / "d.parquet")
    with pytest.raises(ValueError, match="has no rows"):
        read_table(tmp_path / "d.parquet")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    remedy = r'needs pyarrow, .* "ensemblage\[all\]"\. Or save the data as CSV'
    with pytest.raises(ImportError, match=remedy):
        read_table(not_parquet(tmp_path))
