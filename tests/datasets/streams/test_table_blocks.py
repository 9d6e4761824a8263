import pytest

from ensemblage.datasets import streams
from ensemblage.datasets.streams import _table_blocks, _text_stream, open_table
from ensemblage.datasets.streams._table_blocks import rows_per_block


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
    monkeypatch.setattr(_table_blocks, "LARGE", 100)
    monkeypatch.setattr(_text_stream, "HEAD_LINES", 5)
    monkeypatch.setattr(_text_stream, "LONG", 1)
    assert open_table(path).in_blocks


def test_a_file_that_changes_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_text_stream, "HEAD_LINES", 5)
    monkeypatch.setattr(_text_stream, "LONG", 1)
    path = write(tmp_path / "a.csv", 50)
    found = open_table(path, block_rows=7)
    write(path, 49)
    with pytest.raises(ValueError, match=r"In a\.csv: The file changed while it was read"):
        [*found.read()]


def test_wide_tables_have_shorter_blocks():
    assert [rows_per_block(n) for n in (1, 100, 10**6)] == [65_536, 20_971, 1024]


def test_a_table_that_is_at_hand_is_one_block(tmp_path):
    table = next(open_table(write(tmp_path / "a.csv", 3)).read())
    assert [*streams.one_block(table).read()] == [table]
