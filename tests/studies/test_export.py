"""Results as CSV and Parquet."""

import sys

import pytest

from ensemblage.studies import Cell, CellResult, export_results, result_columns


def results():
    one = Cell("e", {"dataset": "iris", "x": 1, "params": {"C": [1, 2]}})
    two = Cell("e", {"dataset": "wine, red", "x": 2})
    three = Cell("e", {"dataset": "glass", "x": 3})
    return [
        CellResult(one, {"score": 1 / 3, "ok": True, "mixed": 1}, 0.5),
        CellResult(two, {"score": 1, "ok": False, "mixed": "a"}, 0.25),
        CellResult(three, {}, 0.1, "ValueError: no"),
    ]


def test_csv_has_a_line_per_cell(tmp_path):
    export_results(results(), tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_text(encoding="utf-8") == (
        "experiment,params.dataset,params.x,params.params,values.score,values.ok,values.mixed,"
        "error\n"
        'e,iris,1,"{""C"": [1, 2]}",0.3333333333333333,true,1,\n'
        'e,"wine, red",2,,1,false,a,\n'
        "e,glass,3,,,,,ValueError: no\n"
    )


def test_parquet_keeps_types(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    export_results(results(), tmp_path / "o.parquet")
    table = parquet.read_table(tmp_path / "o.parquet").to_pydict()
    assert table["values.score"] == [1 / 3, 1.0, None]
    assert table["params.x"] == [1, 2, 3]
    assert table["values.ok"] == [True, False, None]
    assert table["values.mixed"] == ["1", "a", None]


def test_provenance_comes_when_asked_for(tmp_path):
    assert {"seconds", "key", "data"} <= set(result_columns(results(), provenance=True))
    assert not {"seconds", "key", "data"} & set(result_columns(results()))


def test_no_results_make_a_file_too(tmp_path):
    for name in ("o.csv", "o.parquet"):
        export_results([], tmp_path / name)
        assert (tmp_path / name).stat().st_size > 0
    assert (tmp_path / "o.csv").read_text(encoding="utf-8") == "experiment,error\n"


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"must end in .csv or .parquet, not in '.xlsx'"):
        export_results([], tmp_path / "o.xlsx")


def test_without_pyarrow_it_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="needs pyarrow: pip install pyarrow, or export"):
        export_results([], tmp_path / "o.parquet")
    assert list(tmp_path.iterdir()) == []
