"""Mean ranks in words and ties."""

from ensemblage.report._rank_figure import critical_difference_figure

SCORES = [[0.9, 0.5, 0.1]] * 4


def ranked(*, greater):
    return critical_difference_figure(SCORES, "abc", {"b"}, greater=greater, over="4 datasets")


def test_the_diagram_says_the_ranks_for_those_who_cannot_see_it():
    assert "Mean ranks over 4 datasets: a 1.00, b 2.00, c 3.00." in ranked(greater=True).alt
    assert "c 1.00, b 2.00, a 3.00." in ranked(greater=False).alt


def test_ties_and_the_librarys_methods_are_marked():
    block = ranked(greater=True)
    # three methods on four rows: 2.343 * sqrt(3 * 4 / (6 * 4)) = 1.66
    assert round(block.critical_difference, 2) == 1.66
    assert [each.ties for each in block.methods] == [(True, False), (True, True), (False, True)]
    assert [each.ours for each in block.methods] == [False, True, False]
