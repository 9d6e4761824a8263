"""Text in blocks beside the whole: the same values, notes and refusals."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from ensemblage.datasets import Reading, read_table
from ensemblage.datasets._reading_options import Request
from ensemblage.datasets.streams import _text_stream, open_table
from ensemblage.datasets.streams._text_stream import IrregularError, survey_text

AWKWARD = Path(__file__).parents[2] / "awkward"
FILES = sorted(path for end in ("csv", "txt", "data", "dat") for path in AWKWARD.glob(f"*.{end}"))
# Comments, titles, names of rows or inches: all of it is needed to understand these.
WHOLE = {"commented-header.txt", "comments.csv", "inches.csv", "keel.dat", "row-names.csv",
         "title.csv"}  # fmt: skip


@pytest.fixture(autouse=True)
def short_head(monkeypatch):
    """Let four lines decide, since the files are short."""
    monkeypatch.setattr(_text_stream, "HEAD_LINES", 4)
    monkeypatch.setattr(_text_stream, "LONG", 1)


def answer(read):
    try:
        return read()
    except ValueError as error:
        return str(error)


def in_blocks(path, block_rows=2, **options):
    found = open_table(path, block_rows=block_rows, **options)
    tables = [*found.read()]
    columns = [np.concatenate(each) for each in zip(*(t.columns for t in tables), strict=True)]
    return found, tables, columns


def assert_same(path, **options):
    whole = answer(lambda: read_table(path, **options))
    blocks = answer(lambda: in_blocks(path, **options))
    if isinstance(whole, str):
        assert blocks == whole
        return None
    found, tables, columns = blocks
    assert (tables[0].names, found.n_rows) == (whole.names, whole.n_rows)
    assert sorted(found.notes) == sorted(whole.notes)
    for ours, theirs in zip(columns, whole.columns, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_awkward_tables_read_in_blocks_as_whole(path):
    found = assert_same(path)
    assert found is None or found.in_blocks == (path.name not in WHOLE)


def test_what_comes_late_decides_for_the_first_rows(tmp_path):
    rows = ["1.234;3/4/2021;x"] * 6 + ["1.234,5;13/4/2021;x", "-;1/2/2021;"]
    path = tmp_path / "late.csv"
    path.write_text("\n".join(["size;seen;job", *rows]), encoding="utf-8")
    found = assert_same(path)
    assert found.in_blocks
    first = next(found.read())
    assert first.column("size")[0] == 1234.0
    assert str(first.column("seen")[0])[:10] == "2021-04-03"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_encodings_and_packed_files(tmp_path, encoding):
    text = "größe,job\r\n" + "".join(f"{i},Köchin{i % 3}\r\n" for i in range(9))
    plain, packed = tmp_path / "a.csv", tmp_path / "a.csv.gz"
    plain.write_bytes(text.encode(encoding))
    packed.write_bytes(gzip.compress(text.encode(encoding)))
    assert assert_same(plain).in_blocks
    assert assert_same(packed).in_blocks
    assert assert_same(plain, reading=Reading(encoding=encoding)).in_blocks


@pytest.mark.parametrize(
    "last",
    ["from the registry", "# end,,", "1,2", "7,8,9,", "7,8,9,10", '7,8,"nine', '7,8,"ni"ne', "\x1a",
     "# end,,\nsource: me\n"],
)  # fmt: skip
def test_ends_of_files(tmp_path, last):
    path = tmp_path / "ends.csv"
    path.write_text("a,b,c\n" + "1,2,x\n" * 8 + last, encoding="utf-8")
    assert_same(path)


def test_kinds_and_reading_that_are_given_count(tmp_path):
    path = tmp_path / "kinds.csv"
    path.write_text("code,size\n" + "".join(f"0{i},1,{i}\n" for i in range(8)), encoding="utf-8")
    assert_same(path, kinds={"code": "word"})
    path.write_text("code;size\n" + "".join(f"0{i};1,{i}\n" for i in range(8)), encoding="utf-8")
    assert_same(path, kinds={"code": "word"}, reading=Reading(decimal=","))
    assert_same(path, kinds={"code": "number", "size": "date"})


def test_columns_without_a_name_may_get_values_late(tmp_path):
    path = tmp_path / "unnamed.csv"
    path.write_text("a,b,\n" + "1,2,\n" * 8 + "1,2,3\n", encoding="utf-8")
    assert not assert_same(path).in_blocks


def test_progress_is_told_in_megabytes_and_a_short_file_is_irregular(tmp_path):
    path, heard = tmp_path / "a.csv", []
    path.write_text("a,b\n" + "1,2\n" * 50, encoding="utf-8")
    survey_text(path, Request("a.csv"), 10, tabs=False, progress=lambda *far: heard.append(far))
    assert heard[-1] == (0, 0)
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(IrregularError):
        survey_text(path, Request("a.csv"), 10, tabs=False)
