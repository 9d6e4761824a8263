"""Mean ranks in words."""

from ensemblage.report._rank_figure import critical_difference_figure


def test_the_diagram_says_the_ranks_for_those_who_cannot_see_it():
    scores = [[0.9, 0.5, 0.1]] * 4
    block = critical_difference_figure("abc", scores, greater_is_better=True, over="4 datasets")
    assert "Mean ranks over 4 datasets: a 1.00, b 2.00, c 3.00." in block.alt
    flipped = critical_difference_figure("abc", scores, greater_is_better=False, over="4 datasets")
    assert "c 1.00, b 2.00, a 3.00." in flipped.alt
