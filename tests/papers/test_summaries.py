"""Rows say what results say, sentences what rows say, and nothing where there is nothing."""

import pytest

from ensemblage.papers._summaries import (
    averaged,
    best_of,
    by_repeat,
    closeness,
    complete_scores,
    entry,
    friedman,
    gain_sentence,
    grouped,
    improving,
    mean_rows,
    paired_gain,
    win_counts,
)
from ensemblage.studies import Cell, CellResult, ResultRow
from papers.rows import ROWS


def test_an_entry_is_the_mean_and_its_error():
    row = entry("one", "a", {0: 1.0, 1: 3.0})
    assert (row.ours, row.standard_error, row.repeats) == (2.0, 1.0, 2)
    single = entry("one", "a", [1.0], failures=2)
    assert (single.ours, single.standard_error, single.failures) == (1.0, None, 2)
    assert entry("one", "a", {}).ours is None


def test_means_are_over_rows_that_can_be_compared():
    a, b = mean_rows([*ROWS, ResultRow("x", "a", 9.0, 9.0, None, 1, comparable=False)], ("a", "b"))
    assert (a.ours, a.paper, a.repeats) == (pytest.approx(0.35), pytest.approx(0.375), 2)
    assert b.paper is None  # the paper does not have all of them
    assert (a.is_mean, ROWS[0].is_mean) == (True, False)


def test_gains_are_paired_by_repeat():
    plain = {0: 1.0, 1: 2.0, 2: 9.0}
    assert paired_gain({0: 2.0, 1: 2.0}, plain) == 0.5
    assert paired_gain({7: 2.0}, plain) is None
    assert improving([{0: 0.5}, {1: 2.5}, {2: 9.0}], plain) == [{1: 2.5}]
    assert averaged([{0: 1.0, 1: 2.0}, {0: 3.0}]) == {0: 2.0, 1: 2.0}


def test_starts_of_several_cells_are_counted_on():
    cells = [Cell("e", {"method": "graph", "first": first}) for first in (0, 2)]
    results = [
        CellResult(cells[0], {"nmi": [0.1, 0.2]}, 0.1),
        CellResult(cells[1], {"nmi": [0.3]}, 0.1),
        CellResult(Cell("e", {"method": "graph", "first": 3}), {}, 0.1, "ValueError: no"),
    ]
    assert by_repeat(results, "nmi") == {0: 0.1, 1: 0.2, 2: 0.3}
    assert list(grouped(results, "method", "repeat")) == [("graph", None)]


def test_the_best_setting_has_the_highest_mean():
    assert best_of([{0: 1.0, 1: 2.0}, {0: 2.0, 1: 2.0}]) == {0: 2.0, 1: 2.0}
    assert best_of([]) == {}


def test_differences_to_the_paper():
    assert closeness(ROWS) == [
        "Mean absolute difference to the paper: a 0.025 (2 rows), b 0.100 (1 row)."
    ]
    stand_in = ResultRow("x", "a", 0.1, 0.9, None, 1, comparable=False)
    assert closeness([stand_in]) == []


def test_only_complete_rows_compete():
    assert complete_scores(ROWS, ("a", "b"))[0] == ["one", "two"]
    (less,) = win_counts(ROWS, ("a", "b"), greater_is_better=False)
    assert less == "Best of a, b on 2 complete rows (ties count for all): a on 1, b on 1."
    assert win_counts(ROWS[4:], ("a", "b"), greater_is_better=True) == []


def test_tests_need_enough_datasets():
    assert gain_sentence("one", "other", []) == []
    assert "p =" not in gain_sentence("one", "other", [0.1, 0.2])[0]
    assert "better on 6, Wilcoxon p = 0.031" in gain_sentence("one", "other", range(1, 7))[0]
    assert friedman(ROWS, ("a", "b", "c")) == []
