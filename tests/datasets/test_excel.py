import datetime as dt
import io
import sys
import zipfile

import numpy as np
import pytest

from ensemblage.datasets import ReadOptions, read_table

openpyxl = pytest.importorskip("openpyxl")
pytest.importorskip("python_calamine")


def workbook(path, *rows, merge=None, sheets=()):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    if merge:
        book.active.merge_cells(merge)
    for name in sheets:
        book.create_sheet(name).append([name, "x"])
        book[name].append([1, 2])
    book.save(path)
    return path


def test_all_kinds_of_values(tmp_path):
    path = workbook(
        tmp_path / "a.xlsx",
        ["size", "when", "seen", "ok", "job", "007"],
        [
            1.5,
            dt.date(2021, 4, 3),
            dt.datetime.fromisoformat("2021-04-03T10:30"),
            True,
            "cook",
            "1",
        ],
        [None, None, None, False, None, 12345678901],
        [3, dt.date(2021, 4, 4), "n/a", None, "smith", 3],
    )
    table = read_table(path)
    assert table.kinds == ("numeric", "date", "date", "categorical", "categorical", "numeric")
    np.testing.assert_array_equal(table.column("size"), [1.5, np.nan, 3.0])
    assert table.column("when")[0] == np.datetime64("2021-04-03", "ms")
    assert table.column("seen")[0] == np.datetime64("2021-04-03T10:30", "ms")
    assert table.column("ok").tolist() == ["TRUE", "FALSE", None]
    assert table.column("007").tolist() == [1.0, 12345678901.0, 3.0]


def test_title_and_empty_rows_are_skipped(tmp_path):
    rows = (["Our study"], [], ["a", "b", "c"], [1, 2, "x"], [], [3, 4, "y"])
    table = read_table(workbook(tmp_path / "a.xlsx", *rows, merge="A1:C1"))
    assert table.names == ("a", "b", "c")
    assert table.n_rows == 2
    assert table.notes == ("Skipped 1 line above the table, such as 'Our study'.",)


def test_sheets_are_chosen_by_name_or_number(tmp_path):
    path = workbook(tmp_path / "a.xlsx", ["a", "b"], [1, 2], sheets=["Two", "Three"])
    first = read_table(path)
    assert first.names == ("a", "b")
    assert "for another one, set `sheet`: Two, Three" in first.notes[0]
    assert read_table(path, options=ReadOptions(sheet="Three")).names == ("Three", "x")
    assert read_table(path, options=ReadOptions(sheet="2")).names == ("Two", "x")
    with pytest.raises(
        ValueError, match=r"In a\.xlsx: There is no sheet 'Tow'\. Did you mean 'Two'"
    ):
        read_table(path, options=ReadOptions(sheet="Tow"))


def test_merged_cells_are_refused(tmp_path):
    rows = (["size", None, "class"], ["before", "after", None], [1, 2, "x"], [3, 4, "y"])
    path = workbook(tmp_path / "a.xlsx", *rows, merge="A1:B1")
    with pytest.raises(ValueError, match=r"In a\.xlsx: Cell A1 of sheet 'Sheet' is merged"):
        read_table(path)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "a.xlsx"
    whole = workbook(tmp_path / "b.xlsx", ["a"], [1]).read_bytes()
    for data in (b"no", whole[:400], b""):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"a\.xlsx is not a spreadsheet, or it is damaged"):
            read_table(path)


def test_zip_bomb_is_refused(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", bytes(70 * 2**20))
    (tmp_path / "a.xlsx").write_bytes(buffer.getvalue())
    with pytest.raises(ValueError, match="unpacks to more than 100 times its size"):
        read_table(tmp_path / "a.xlsx")


def test_missing_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    remedy = r'Reading a spreadsheet needs python_calamine, .*"ensemblage\[excel\]"\. Or save'
    with pytest.raises(ImportError, match=remedy):
        read_table(workbook(tmp_path / "a.xlsx", ["a"], [1]))
