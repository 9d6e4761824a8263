import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.datasets import ReadOptions, _chunked, one_block, open_table, read_table
from ensemblage.datasets._chunked import (
    MAX_SHAPES,
    IrregularError,
    TextBlocks,
    TextDigest,
    rows_per_block,
)
from ensemblage.datasets._options import Request
from ensemblage.datasets._value_types import type_columns

NUMBERS = st.sampled_from(["1,5", "2.5", "1.234", "1,234", "12", "1.234,5", "$3", "4%", "-", "n/a"])


DATES = st.sampled_from(["3/4/2021", "13/4/2021", "3/14/2021", "01.12.2020", "2021-03-01", "?"])


COLUMN = st.one_of(st.lists(each, min_size=1, max_size=12) for each in (NUMBERS, DATES))
AWKWARD = Path(__file__).parents[1] / "awkward"
FILES = sorted(path for end in ("csv", "txt", "data", "dat") for path in AWKWARD.glob(f"*.{end}"))
# Files with comments, titles, row names or inches, which have to be read whole.
WHOLE = {"commented-header.txt", "comments.csv", "inches.csv", "keel.dat", "row-names.csv",
         "title.csv"}  # fmt: skip


def digest(texts, kind=None, block=3):
    found = TextDigest(kind)
    for start in range(0, len(texts), block):
        found.add(texts[start : start + block])
    return found.texts


def test_digest_keeps_the_first_text_of_each_shape():
    assert digest(["12345.5", "98765.1", "0.5", "12345.25"], "numeric") == [
        "12345.5", "0.5", "12345.25"
    ]  # fmt: skip
    assert digest(["13.04.2021", "14.05.2021", "03.04.2021"]) == ["13.04.2021", "03.04.2021"]


def test_digest_of_categorical_columns_and_of_many_shapes():
    assert digest(["", "NA", "x", "y"], "categorical", block=10) == ["x", "y"]
    assert digest(["", "x", "y"], "categorical", block=2) == ["x"]
    many = ["".join(chr(97 + int(digit)) for digit in str(i)) for i in range(3 * MAX_SHAPES)]
    assert len(digest(many, block=1000)) == MAX_SHAPES


def test_texts_with_a_unit_separator_are_kept():
    assert digest(["a\x1fb", "12", "34"]) == ["a\x1fb", "12", "34"]


@given(columns=st.lists(COLUMN, min_size=1, max_size=4))
def test_digest_gives_the_parsers_of_the_whole_column(columns):
    """The parsers parse any part of a column as the whole column."""
    named = {f"c{j}": texts for j, texts in enumerate(columns)}
    whole = type_columns(named, Request("a.csv"))
    found = type_columns({name: digest(texts) for name, texts in named.items()}, Request("a.csv"))
    assert found.parsers == whole.parsers
    assert found.notes == whole.notes
    for parser, column, texts in zip(found.parsers, whole.columns, columns, strict=True):
        parts = [parser.read(texts[i : i + 2]) for i in range(0, len(texts), 2)]
        np.testing.assert_array_equal(np.concatenate(parts), column)


def test_parser_refuses_other_kinds():
    (parser,) = type_columns({"a": ["1", "2"]}, Request("a.csv")).parsers
    with pytest.raises(ValueError, match="Column 'a' contains 'x', which is not a finite number"):
        parser.read(["x"])


@pytest.fixture(autouse=True)
def short_head(monkeypatch):
    """Use four lines as head, since the files are short."""
    monkeypatch.setattr(_chunked, "HEAD_LINES", 4)
    monkeypatch.setattr(_chunked, "LONG_TEXT", 1)


def read_or_message(read):
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
    whole = read_or_message(lambda: read_table(path, **options))
    blocks = read_or_message(lambda: in_blocks(path, **options))
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


def test_late_rows_decide_the_format_of_the_first(tmp_path):
    rows = ["1.234;3/4/2021;x"] * 6 + ["1.234,5;13/4/2021;x", "-;1/2/2021;"]
    path = tmp_path / "late.csv"
    path.write_text("\n".join(["size;seen;job", *rows]), encoding="utf-8")
    found = assert_same(path)
    assert found.in_blocks
    first = next(found.read())
    assert first.column("size")[0] == 1234.0
    assert str(first.column("seen")[0])[:10] == "2021-04-03"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_encodings_and_compressed_files(tmp_path, encoding):
    text = "größe,job\r\n" + "".join(f"{i},Köchin{i % 3}\r\n" for i in range(9))
    plain, packed = tmp_path / "a.csv", tmp_path / "a.csv.gz"
    plain.write_bytes(text.encode(encoding))
    packed.write_bytes(gzip.compress(text.encode(encoding)))
    assert assert_same(plain).in_blocks
    assert assert_same(packed).in_blocks
    assert assert_same(plain, options=ReadOptions(encoding=encoding)).in_blocks


@pytest.mark.parametrize(
    "last",
    ["from the registry", "# end,,", "1,2", "7,8,9,", "7,8,9,10", '7,8,"nine', '7,8,"ni"ne', "\x1a",
     "# end,,\nsource: me\n"],
)  # fmt: skip
def test_ends_of_files(tmp_path, last):
    path = tmp_path / "ends.csv"
    path.write_text("a,b,c\n" + "1,2,x\n" * 8 + last, encoding="utf-8")
    assert_same(path)


def test_given_kinds_and_options(tmp_path):
    path = tmp_path / "kinds.csv"
    path.write_text("code,size\n" + "".join(f"0{i},1,{i}\n" for i in range(8)), encoding="utf-8")
    assert_same(path, kinds={"code": "categorical"})
    path.write_text("code;size\n" + "".join(f"0{i};1,{i}\n" for i in range(8)), encoding="utf-8")
    assert_same(path, kinds={"code": "categorical"}, options=ReadOptions(decimal=","))
    assert_same(path, kinds={"code": "numeric", "size": "date"})


def test_unnamed_columns_with_late_values(tmp_path):
    path = tmp_path / "unnamed.csv"
    path.write_text("a,b,\n" + "1,2,\n" * 8 + "1,2,3\n", encoding="utf-8")
    assert not assert_same(path).in_blocks


def test_progress_in_megabytes_and_short_file_is_irregular(tmp_path):
    path, steps = tmp_path / "a.csv", []
    path.write_text("a,b\n" + "1,2\n" * 50, encoding="utf-8")
    TextBlocks(path, Request("a.csv"), 10, tabs=False, progress=lambda *step: steps.append(step))
    assert steps[-1] == (0, 0)
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(IrregularError):
        TextBlocks(path, Request("a.csv"), 10, tabs=False)


def write(path, rows):
    path.write_text("a,b\n" + "1,2\n" * rows, encoding="utf-8")
    return path


def test_small_files_and_other_formats_are_one_block(tmp_path, monkeypatch):
    path = write(tmp_path / "a.csv", 50)
    assert [table.n_rows for table in open_table(path).read()] == [50]
    arff = tmp_path / "a.arff"
    arff.write_text("@relation r\n@attribute x numeric\n@data\n1\n2\n", encoding="utf-8")
    found = open_table(arff, block_rows=1)
    assert (found.in_blocks, found.n_rows) == (False, 2)
    monkeypatch.setattr(_chunked, "LARGE_FILE_BYTES", 100)
    monkeypatch.setattr(_chunked, "HEAD_LINES", 5)
    monkeypatch.setattr(_chunked, "LONG_TEXT", 1)
    assert open_table(path).in_blocks


def test_file_that_changes_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_chunked, "HEAD_LINES", 5)
    monkeypatch.setattr(_chunked, "LONG_TEXT", 1)
    path = write(tmp_path / "a.csv", 50)
    found = open_table(path, block_rows=7)
    write(path, 49)
    with pytest.raises(ValueError, match=r"In a\.csv: The file changed while it was read"):
        [*found.read()]


def test_wide_tables_have_fewer_rows_per_block():
    assert [rows_per_block(n) for n in (1, 100, 10**6)] == [65_536, 20_971, 1024]


def test_table_in_memory_is_one_block(tmp_path):
    table = next(open_table(write(tmp_path / "a.csv", 3)).read())
    assert [*one_block(table).read()] == [table]
