"""Notes on entries, each once."""

from ensemblage.runs import ResultRow, entry_notes


def entry(row, column, note):
    return ResultRow(row, column, None, 0.5, None, 1, note=note)


def test_a_note_names_rows_entries_or_all():
    grid = [entry(row, column, "Odd." if (row, column) != ("b", "y") else "Late.")
            for row in "ab" for column in "xy"]  # fmt: skip
    assert entry_notes(grid) == ["a and b (x): Odd.", "b (y): Late."]
    assert entry_notes([entry("a", "x", "Odd."), entry("a", "y", "Odd.")]) == ["All rows: Odd."]
    assert entry_notes([entry("a", "x", "")]) == []
