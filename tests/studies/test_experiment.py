import hashlib

from ensemblage.studies import Cell, ResultRow, entry_notes


def test_a_key_by_hand():
    cell = Cell("squares", {"x": 3, "a": "b"}, version=2, data="abc")
    text = '["squares",{"a":"b","x":3},2,"abc"]'
    assert cell.key == hashlib.sha256(text.encode()).hexdigest()
    assert cell.seed == int(cell.key[:8], 16) < 2**32


def test_the_order_of_parameters_does_not_count_but_their_values_do():
    assert Cell("e", {"a": 1, "b": 2}).key == Cell("e", {"b": 2, "a": 1}).key
    different = [
        Cell("e", {"a": 1}),
        Cell("f", {"a": 1}),
        Cell("e", {"a": 2}),
        Cell("e", {"a": 1}, 2),
    ]
    assert len({cell.key for cell in different}) == 4


def entry(row, column, note):
    return ResultRow(row, column, None, 0.5, None, 1, note=note)


def test_a_note_names_rows_entries_or_all():
    grid = [entry(row, column, "Odd." if (row, column) != ("b", "y") else "Late.")
            for row in "ab" for column in "xy"]  # fmt: skip
    assert entry_notes(grid) == ["a and b (x): Odd.", "b (y): Late."]
    assert entry_notes([entry("a", "x", "Odd."), entry("a", "y", "Odd.")]) == ["All rows: Odd."]
    assert entry_notes([entry("a", "x", "")]) == []
