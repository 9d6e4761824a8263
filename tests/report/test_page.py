"""Cells and marks."""

import pytest

from ensemblage.report import Cell, Column
from ensemblage.report._cells import NOTHING, mark_best, mark_best_of, number_cell, share_cell


def test_a_number_with_its_error_and_a_true_minus():
    cell = number_cell(-0.12345, 3, 0.01)
    assert (cell.text, cell.quiet, cell.value) == ("\N{MINUS SIGN}0.123", "± 0.010", -0.12345)
    assert number_cell(None, 3) == share_cell(None) == NOTHING
    assert share_cell(0.256).text == "25.6%"


@pytest.mark.parametrize(("greater", "best"), [(True, [0, 2]), (False, [1])])
def test_the_best_is_marked_and_equals_as_shown_share_it(greater, best):
    cells = [number_cell(value, 2) for value in (0.901, 0.5, 0.899, None)]
    marked = mark_best_of(cells, greater_is_better=greater)
    assert [k for k, cell in enumerate(marked) if cell.best] == best


def test_there_is_no_best_among_equals():
    cells = [number_cell(value, 1) for value in (0.51, 0.52, None)]
    assert not any(cell.best for cell in mark_best_of(cells, greater_is_better=True))


def test_only_columns_with_a_direction_are_marked():
    columns = [Column("name"), Column("score", numeric=True, greater_is_better=True),
               Column("seconds", numeric=True)]  # fmt: skip
    rows = [[Cell("a"), Cell("1", 1.0), Cell("9", 9.0)], [Cell("b"), Cell("2", 2.0), Cell("1", 1)]]
    marked = mark_best(columns, rows)
    assert [[cell.best for cell in row] for row in marked] == [
        [False, False, False], [False, True, False],
    ]  # fmt: skip
