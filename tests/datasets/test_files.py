import gzip
import io
import sys

import pytest

from ensemblage.datasets import (
    ReadOptions,
    TargetNotGivenError,
    naming_file,
    read_table,
)
from ensemblage.datasets._files import display_name


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", "x\ty\n1\t2\n"),
        ("a.tsv", "x,y\n1,2\n"),
        ("a.csv", "x;y\n1;2\n"),
        ("a.csv", "x\ty\n1\t2\n"),
        ("a.csv", b"\xef\xbb\xbfx,y\n1,2\n"),
        ("a.csv", "x,y\n1,2\n".encode("utf-16")),
        ("A.CSV", "x,y\n1,2"),
        ("a.arff", "@attribute x real\n@attribute y real\n@data\n1,2\n"),
        ("a.dat", "@relation keel\n@attribute x real\n@attribute y real\n@data\n1,2\n"),
        ("a.csv.gz", gzip.compress(b"x,y\n1,2\n", mtime=0)),
        (
            "a.arff.gz",
            gzip.compress(b"@attribute x real\n@attribute y real\n@data\n1,2\n", mtime=0),
        ),
        ("a.csv", gzip.compress(b"x,y\n1,2\n", mtime=0)),
    ],
)
def test_suffixes_and_encodings(tmp_path, name, content):
    table = read_table(write(tmp_path, name, content))
    assert table.names == ("x", "y")
    assert table.to_array().tolist() == [[1.0, 2.0]]


def test_invalid_paths(tmp_path):
    write(tmp_path, "data.csv", "x\n1\n")
    with pytest.raises(ValueError, match=r"There is no file .*dta\.csv\. Did you mean 'data\.csv'"):
        read_table(tmp_path / "dta.csv")
    with pytest.raises(ValueError, match=r"no folder .*nowhere either"):
        read_table(tmp_path / "nowhere" / "a.csv")
    with pytest.raises(ValueError, match="is a folder"):
        read_table(tmp_path)
    with pytest.raises(
        ValueError, match=r"a\.json has an unknown format: expected the suffix \.csv"
    ):
        read_table(write(tmp_path, "a.json", "{}"))


def test_standard_input(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(b"x;y\n1;a\n"))
    monkeypatch.setattr(sys, "stdin", stdin)
    table = read_table("-", options=ReadOptions(separator=";"))
    assert table.names == ("x", "y")


def test_errors_name_the_file_once():
    message = r"^In a\.csv: no target$"
    with pytest.raises(TargetNotGivenError, match=message), naming_file("folder/a.csv"):
        raise TargetNotGivenError("no target")
    with pytest.raises(ValueError, match=r"^a\.csv is empty$"), naming_file("a.csv"):
        raise ValueError("a.csv is empty")
    assert display_name("-") == "standard input"
