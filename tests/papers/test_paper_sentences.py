"""Sentences say what the rows say, and nothing where there is nothing."""

from ensemblage.papers._paper_sentences import (
    closeness,
    complete_scores,
    friedman,
    gain_sentence,
    who_wins,
)
from ensemblage.runs import ResultRow
from papers.rows import ROWS


def test_differences_to_the_paper():
    assert closeness(ROWS) == [
        "Mean absolute difference to the paper: a 0.025 (2 rows), b 0.100 (1 rows)."
    ]
    stand_in = ResultRow("x", "a", 0.1, 0.9, None, 1, comparable=False)
    assert closeness([stand_in]) == []


def test_only_complete_rows_compete():
    assert complete_scores(ROWS, ("a", "b"))[0] == ["one", "two"]
    (less,) = who_wins(ROWS, ("a", "b"), greater_is_better=False)
    assert less == "Best (ties count for all) of 2 complete rows: a on 1, b on 1."
    assert who_wins(ROWS[4:], ("a", "b"), greater_is_better=True) == []


def test_tests_need_enough_datasets():
    assert gain_sentence("one", "other", []) == []
    assert "p =" not in gain_sentence("one", "other", [0.1, 0.2])[0]
    assert "better on 6, Wilcoxon p = 0.031" in gain_sentence("one", "other", range(1, 7))[0]
    assert friedman(ROWS, ("a", "b", "c")) == []
