import numpy as np
import pytest

from ensemblage.datasets import ReadOptions
from ensemblage.persistence import SavedModel, SourceColumn
from ensemblage.studies import read_rows

SAVED = SavedModel(
    None,
    ("size", "code", "when"),
    ("numeric", "categorical", "date"),
    "class",
    ignored=("id", "site"),
)


def write(folder, text):
    path = folder / "new.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_rows_are_read_with_the_kinds_of_the_model(tmp_path):
    path = write(tmp_path, "site;when;code;size;class\nA;03.04.2021;1;1,5;01\nB;-;2;2;1\n")
    rows = read_rows(SAVED, path)
    assert rows.X[0].tolist() == [1.5, "1", 18720.0]
    assert np.isnan(rows.X[1, 2])
    assert rows.table.column("class").tolist() == ["01", "1"]
    assert rows.notes[0] == "Read with separator ';' and decimal mark ','."
    assert rows.notes[-1] == "Columns ignored, as in training: 'site'."


def test_unknown_columns_are_refused_by_file_and_name(tmp_path):
    path = write(tmp_path, "when,code,size,ids\n2021-04-03,1,1,5\n")
    with pytest.raises(ValueError, match=r"In new\.csv: Columns .* not fitted on: ids\. Remove"):
        read_rows(SAVED, path)
    assert read_rows(SAVED, path, keep=["ids"]).X.shape == (1, 3)
    with pytest.raises(ValueError, match=r"In new\.csv: There is no column 'idx'\. Did you mean"):
        read_rows(SAVED, path, keep=["idx"])
    with pytest.raises(ValueError, match=r"In new\.csv: Columns that the model requires .*: code"):
        read_rows(SAVED, write(tmp_path, "when,cod,size\n2021-04-03,1,1\n"))
    with pytest.raises(ValueError, match=r"In new\.csv: Column 'size' contains 'big'"):
        read_rows(SAVED, write(tmp_path, "when,code,size\n2021-04-03,1,big\n"))


def test_read_options(tmp_path):
    path = write(tmp_path, "when,code,size\n03/04/2021,1,1\n")
    day = read_rows(SAVED, path, options=ReadOptions(dates="day-first")).X[0, 2]
    month = read_rows(SAVED, path, options=ReadOptions(dates="month-first")).X[0, 2]
    assert (day, month) == (18720.0, 18690.0)


def test_kept_columns_are_text(tmp_path):
    path = write(tmp_path, "id;size;code;when;what\n007;1,5;01;2021-04-03;x\n8;2;2;2021-04-04;\n")
    rows = read_rows(SAVED, path, keep=["id", "size", "when", "what"])
    assert rows.kept == {
        "id": ["007", "8"],
        "size": ["1.5", "2"],
        "when": ["2021-04-03", "2021-04-04"],
        "what": ["x", None],
    }
    assert rows.X[0].tolist() == [1.5, "01", 18720.0]


SOURCE_AWARE = SavedModel(
    None, ("size",), ("numeric",), "class", source=SourceColumn("site", ("01", "Rome"))
)


def test_sources_are_read_as_text(tmp_path):
    rows = read_rows(SOURCE_AWARE, write(tmp_path, "site,size,class\n01,1,no\nRome,2,no\n"))
    assert rows.sources.tolist() == ["01", "Rome"]
    assert rows.notes == ()


def test_unknown_and_missing_sources_are_noted(tmp_path):
    rows = read_rows(SOURCE_AWARE, write(tmp_path, "site,size\nLima,1\nRome,2\n,3\nLima,4\n"))
    assert rows.sources.tolist() == ["Lima", "Rome", None, "Lima"]
    (note,) = rows.notes
    assert note == (
        "Unknown sources, predicted without the source: 'Lima' (2 rows), missing (1 row). "
        "`ensemblage adapt` adapts a model to a new source, by a few labelled rows."
    )
    rows = read_rows(SOURCE_AWARE, write(tmp_path, "size\n1\n2\n"))
    assert rows.sources is None
    assert "There is no column 'site'" in rows.notes[-1]
