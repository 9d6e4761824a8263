import io
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.datasets import read_table
from ensemblage.datasets._delimited import parse_delimited


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_csv_with_quotes_blanks_and_line_ends(tmp_path):
    path = write(tmp_path, "a.csv", 'x , y\r\n 1 ,"a, ""b"""\r\n\r\n2,\r\n')
    table = read_table(path)
    assert table.names == ("x", "y")
    assert table.column("x").tolist() == [1.0, 2.0]
    assert table.column("y").tolist() == ['a, "b"', None]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", "x\ty\n1\t2\n"),
        ("a.csv", "x;y\n1;2\n"),
        ("a.csv", "x\ty\n1\t2\n"),
        ("a.csv", b"\xef\xbb\xbfx,y\n1,2\n"),
        ("a.csv", "x,y\n1,2\n".encode("utf-16")),
        ("A.CSV", "x,y\n1,2"),
    ],
)
def test_separators_and_encodings(tmp_path, name, content):
    table = read_table(write(tmp_path, name, content))
    assert table.names == ("x", "y")
    assert table.to_array().tolist() == [[1.0, 2.0]]


def test_a_column_without_a_name_gets_one(tmp_path):
    assert read_table(write(tmp_path, "a.csv", ",x\n0,1\n")).names == ("column_1", "x")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "a.csv is empty"),
        (" \n\n", "a.csv is empty"),
        ("x,y\n", "a.csv has a header line but no rows"),
        ("x,y\n1,2\n3\n", "Line 3 of a.csv has 1 cells, but the header has 2"),
        ("x,y\n1,2,3\n", "Line 2 of a.csv has 3 cells"),
        ("x,x\n1,2\n", "In a.csv: Column names must differ, but 'x' occurs"),
        ('x,y\n1,"2\n3,4\n', "Line 3 of a.csv cannot be read .* quotation mark"),
        (b"x,y\n1,2\n3,\xe9\n", r"Line 3 of a.csv is not UTF-8 text \(byte 0xe9\)"),
        ("x,y\n1," + "z" * 200_000, "Line 2 of a.csv cannot be read .*field larger"),
    ],
)
def test_bad_csv_names_the_line(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        read_table(write(tmp_path, "a.csv", content))


def test_places_that_are_no_file(tmp_path):
    write(tmp_path, "data.csv", "x\n1\n")
    with pytest.raises(ValueError, match=r"There is no file .*dta\.csv\. Did you mean 'data\.csv'"):
        read_table(tmp_path / "dta.csv")
    with pytest.raises(ValueError, match=r"no folder .*nowhere either"):
        read_table(tmp_path / "nowhere" / "a.csv")
    with pytest.raises(ValueError, match="is a folder"):
        read_table(tmp_path)
    with pytest.raises(ValueError, match=r"of no known format: the name must end in \.csv"):
        read_table(write(tmp_path, "a.xlsx", "PK"))


def test_standard_input(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(b"x,y\n1,a\n"))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert read_table("-").names == ("x", "y")


@given(st.text())
def test_any_text_is_a_table_or_a_value_error(text):
    try:
        table = parse_delimited(text, "text")
    except ValueError:
        return
    assert table.n_rows > 0


ARFF = """% a comment
@RELATION play
@attribute 'the outlook' {sunny, 'over cast', rainy}
@attribute temp numeric
@attribute note string
@attribute class {yes,no}
@data
sunny, 85, 'it\\'s hot', no
'over cast',?,"x, y",yes
% another
rainy,1e2,?,yes
"""


def test_arff(tmp_path):
    table = read_table(write(tmp_path, "play.arff", ARFF))
    assert table.names == ("the outlook", "temp", "note", "class")
    assert table.kinds == ("word", "number", "word", "word")
    assert table.column("the outlook").tolist() == ["sunny", "over cast", "rainy"]
    np.testing.assert_array_equal(table.column("temp"), [85.0, np.nan, 100.0])
    assert table.column("note").tolist() == ["it's hot", "x, y", None]
    assert table.categories["the outlook"] == ("sunny", "over cast", "rainy")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "sunny, 85",
            "foggy, 85",
            r"Line 8 of a\.arff has 'foggy' for 'the outlook'; declared are",
        ),
        ("rainy,1e2,?,yes", "rainy,1e2", "Line 11 .* has 2 values, but 4 attributes"),
        ("rainy,1e2", "rainy,hot", "Column 'temp' holds 'hot'"),
        ("rainy,1e2,?,yes", "{0 rainy}", "sparse ARFF"),
        ("rainy,1e2,?", "rainy,1e2,'x", "quotation mark that is not closed"),
        ("@RELATION play", "x,y", "Line 2 of a.arff is not an ARFF declaration"),
        (ARFF, "", "declares no @attribute"),
        (ARFF[ARFF.index("sunny, 85") :], "", "no rows after @data"),
    ],
)
def test_bad_arff_names_the_line(tmp_path, old, new, message):
    with pytest.raises(ValueError, match=message):
        read_table(write(tmp_path, "a.arff", ARFF.replace(old, new)))


def test_arff_equals_csv_on_real_data(tmp_path, shared):
    text = (shared / "data" / "vote.csv").read_text(encoding="utf-8")
    header, *rows = text.splitlines()
    lines = [f"@attribute {name} string" for name in header.split(",")]
    rows = [",".join(cell or "?" for cell in row.split(",")) for row in rows]
    arff = read_table(write(tmp_path, "v.arff", "\n".join(["@relation v", *lines, "@data", *rows])))
    csv = read_table(shared / "data" / "vote.csv")
    assert arff.names == csv.names
    assert arff.to_array().tolist() == csv.to_array().tolist()


def test_parquet(tmp_path):
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
        read_table(write(tmp_path, "a.parquet", "no"))
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
    with pytest.raises(ImportError, match=r"needs pyarrow: install ensemblage\[all\]"):
        read_table(write(tmp_path, "a.parquet", "no"))
