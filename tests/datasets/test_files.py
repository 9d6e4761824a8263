import io
import sys

import pytest

from ensemblage.datasets import read_table


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
