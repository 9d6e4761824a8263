import pytest

from ensemblage.papers._paper_table import find_table
from ensemblage.papers.inner._inner_selection import (
    ALL,
    BEST,
    IMPROVING,
    SettingValues,
    selection_rows,
    setting_values,
    share_row,
)
from ensemblage.runs import Cell, CellResult

PLAIN = {0: 0.5, 1: 0.5}
GRID = SettingValues([{0: 0.4, 1: 0.4}, {0: 0.6, 1: 0.8}, {0: 0.6, 1: 0.6}], 3)


def test_all_settings_those_that_improved_and_the_best():
    rows = selection_rows(find_table("inner-table2"), "iris", GRID, PLAIN)
    ours = {row.column: row.ours for row in rows}
    assert ours == pytest.approx({ALL: 3.4 / 6, IMPROVING: 0.65, BEST: 0.7})
    assert [row.paper for row in rows] == [None, 0.75, 0.80]
    assert [row.failures for row in rows] == [3, 3, 3]


def test_the_share_that_improved():
    row = share_row("iris", "with replacement", GRID, PLAIN, 48.0)
    assert row.ours == pytest.approx(200 / 3)
    assert (row.paper, row.repeats, row.failures) == (48.0, 3, 3)
    assert share_row("iris", "with replacement", GRID, {}, None).ours is None


def test_a_setting_without_values_is_left_out():
    cell = Cell("e", {"repeat": 0})
    done, broken = CellResult(cell, {"a": 1.0}, 0.1), CellResult(cell, {}, 0.1, "ValueError: no")
    assert setting_values([[done], [broken], []], "a") == ([{0: 1.0}], 1)
