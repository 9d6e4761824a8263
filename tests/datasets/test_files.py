import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.datasets import read_table
from ensemblage.datasets._files import parse_delimited


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", "x\ty\n1\t2\n"),
        ("a.csv", "x;y\n1;2\n"),
        ("a.csv", "x\ty\n1\t2\n"),
        ("a.csv", b"\xef\xbb\xbfx,y\n1,2\n"),
        ("a.csv", "x,y\n1,2\n".encode("utf-16")),
        ("A.CSV", "x,y\n1,2"),
        ("a.arff", "@attribute x real\n@attribute y real\n@data\n1,2\n"),
    ],
)
def test_suffixes_and_encodings(tmp_path, name, content):
    table = read_table(write(tmp_path, name, content))
    assert table.names == ("x", "y")
    assert table.to_array().tolist() == [[1.0, 2.0]]


def test_what_is_not_text_names_the_line(tmp_path):
    path = write(tmp_path, "a.csv", b"x,y\n1,2\n3,\xe9\n")
    with pytest.raises(ValueError, match=r"Line 3 of a.csv is not UTF-8 text \(byte 0xe9\)"):
        read_table(path)


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


def test_quotes_blanks_and_line_ends():
    table = parse_delimited('x , y\r\n 1 ,"a, ""b"""\r\n\r\n2,\r\n', "a.csv")
    assert table.names == ("x", "y")
    assert table.column("x").tolist() == [1.0, 2.0]
    assert table.column("y").tolist() == ['a, "b"', None]


@pytest.mark.parametrize(
    ("text", "tabs"), [("x\ty\n1\t2\n", True), ("x;y\n1;2\n", False), ("x\ty\n1\t2\n", False)]
)
def test_separators(text, tabs):
    table = parse_delimited(text, "a", tabs=tabs)
    assert table.names == ("x", "y")
    assert table.to_array().tolist() == [[1.0, 2.0]]


def test_a_column_without_a_name_gets_one():
    assert parse_delimited(",x\n0,1\n", "a.csv").names == ("column_1", "x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.csv is empty"),
        (" \n\n", "a.csv is empty"),
        ("x,y\n", "a.csv has a header line but no rows"),
        ("x,y\n1,2\n3\n", "Line 3 of a.csv has 1 values, but the header has 2"),
        ("x,y\n1,2,3\n", "Line 2 of a.csv has 3 values"),
        ("x,x\n1,2\n", "In a.csv: Column names must differ, but 'x' occurs"),
        ('x,y\n1,"2\n3,4\n', "Line 3 of a.csv cannot be read .* quotation mark"),
        ("x,y\n1," + "z" * 200_000, "Line 2 of a.csv cannot be read .*field larger"),
    ],
)
def test_bad_text_names_the_line(text, message):
    with pytest.raises(ValueError, match=message):
        parse_delimited(text, "a.csv")


@given(st.text())
def test_any_text_is_a_table_or_a_value_error(text):
    try:
        table = parse_delimited(text, "text")
    except ValueError:
        return
    assert table.n_rows > 0
