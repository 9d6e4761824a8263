import json
import math
import sys
from dataclasses import FrozenInstanceError
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scikit_posthocs
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import friedmanchisquare, rankdata, wilcoxon

from ensemblage.evaluation import compare_methods, holm
from ensemblage.evaluation._compare_methods import (
    cohen_d,
    compare_pairs,
    escape,
    exact_rank_pvalue,
    rank_biserial,
    rank_rows,
    signed_rank_test,
)
from ensemblage.papers._declaration import read_printed


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.9]) == pytest.approx([1.0, 1.0])


def slow_holm(pvalues):
    adjusted = {}
    largest = 0.0
    for step, (pvalue, index) in enumerate(sorted((p, i) for i, p in enumerate(pvalues))):
        largest = max(largest, min(1.0, (len(pvalues) - step) * pvalue))
        adjusted[index] = largest
    return [adjusted[i] for i in range(len(pvalues))]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_equals_the_loop_and_never_lowers(pvalues):
    ours = holm(pvalues)
    assert ours == pytest.approx(slow_holm(pvalues))
    assert (ours >= pvalues).all()
    assert (ours <= 1).all()


def test_equal_scores_give_no_warning():
    assert signed_rank_test(np.ones(6), np.ones(6)) == (0.0, 1.0)


def test_signed_ranks_by_hand():
    # differences 1, 2, -3: the lower sum is 3, and 5 of the 8 signs give 3 or less
    assert signed_rank_test(np.array([1.0, 2, 0]), np.array([0.0, 0, 3])) == (3.0, 1.0)
    # all five above: 1 of 32, on either side
    assert signed_rank_test(np.arange(1.0, 6), np.zeros(5)) == (0.0, 2 / 32)


@pytest.mark.parametrize("n", [2, 6, 30, 50, 51, 80])
def test_signed_ranks_equal_scipy_without_ties(n):
    first, second = np.random.default_rng(n).normal(size=(2, n))
    theirs = wilcoxon(first, second)
    assert signed_rank_test(first, second) == pytest.approx(tuple(theirs), rel=1e-9)


@given(hnp.arrays(np.float64, st.integers(1, 9), elements=st.integers(-3, 3)))
def test_signed_ranks_equal_all_signs_tried(differences):
    kept = differences[differences != 0]
    ranks = rankdata(np.abs(kept))
    sums = [np.dot(signs, ranks) for signs in product([0, 1], repeat=len(kept))]
    observed = ranks[kept > 0].sum()
    low, high = np.mean(np.array(sums) <= observed), np.mean(np.array(sums) >= observed)
    _, ours = signed_rank_test(differences, np.zeros(len(differences)))
    assert ours == pytest.approx(min(1.0, 2 * min(low, high)))


def test_a_row_by_hand():
    scores = np.array([[0.1, 0.3], [0.2, 0.2], [0.4, 0.5], [0.3, 0.1]])
    (row,) = compare_pairs(scores, ("a", "b"), greater_is_better=False, alpha=0.05)
    assert (row.wins, row.ties, row.losses) == (2, 1, 1)
    # errors: the first is lower by 0.025 on average, so it is ahead
    assert row.advantage == pytest.approx(0.025)
    assert row.rank_difference == pytest.approx(-0.25)
    assert row.nemenyi_statistic == pytest.approx(0.5)
    assert row.significant is False


def test_cohen_d_by_hand():
    # mean 2, deviations -1, 0, 1: the standard deviation is one
    assert cohen_d(np.array([1.0, 2.0, 3.0])) == pytest.approx(2)
    assert cohen_d(np.zeros(4)) == 0
    assert cohen_d(np.full(5, 0.1)) is None


def test_rank_biserial_by_hand():
    # ranks 1 and 3 for, 2 against, and a tie that counts for nothing: (4 - 2) / 6
    assert rank_biserial(np.array([1.0, -2.0, 3.0, 0.0])) == pytest.approx(1 / 3)
    assert rank_biserial(np.zeros(3)) == 0


@given(hnp.arrays(np.float64, st.integers(2, 12), elements=st.integers(-5, 5)))
def test_effect_sizes_change_sign_with_the_order_of_methods(leads):
    assert -1 <= rank_biserial(leads) <= 1
    assert rank_biserial(-leads) == pytest.approx(-rank_biserial(leads))
    d, turned = cohen_d(leads), cohen_d(-leads)
    assert (d is None) == (turned is None) == bool(leads[0] and not np.ptp(leads))
    assert d is None or turned == pytest.approx(-d)


@given(hnp.arrays(np.float64, st.integers(2, 12), elements=st.integers(-5, 5)))
def test_rank_biserial_follows_from_wilcoxons_statistic(leads):
    left = np.count_nonzero(leads)
    lower, _ = signed_rank_test(leads, np.zeros_like(leads))
    expected = 1 - 4 * lower / (left * (left + 1)) if left else 0.0
    assert abs(rank_biserial(leads)) == pytest.approx(expected)


def test_table_by_hand():
    # b leads by .1, .2 and .1: mean .1333, deviation .0577; three of three is p = .25
    found = compare_methods({"a_1": [0.5, 0.6, 0.7], "b": [0.6, 0.8, 0.8]})
    assert found.to_latex().splitlines() == [
        r"\begin{tabular}{lrrrrrr}",
        r"\toprule",
        r"Method & Mean rank & W/T/L & Difference & $d$ & $r$ & $p$ \\",
        r"\midrule",
        r"b & 1.00 &  &  &  &  &  \\",
        r"a\_1 & 2.00 & 0/0/3 & $-0.1333$ & $-2.31$ & $-1.00$ & $0.250$ \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_significant_pvalues_are_bold():
    found = compare_methods({"good": [*range(1, 21)], "bad": [*range(-20, 0)]})
    assert r"& $-1.00$ & $\mathbf{< .001}$ \\" in found.to_latex()


def test_equal_differences_have_no_d():
    assert "0/0/4 & $-1.0000$ & -- &" in compare_methods([[1, 0]] * 4).to_latex()


def test_caption_and_label():
    text = compare_methods([[1, 0]] * 4).to_latex(caption="50 % of it", label="tab:it")
    assert text.startswith(
        "\\begin{table}\n\\centering\n\\caption{50 \\% of it}\n\\label{tab:it}\n"
    )
    assert text.endswith("\\end{tabular}\n\\end{table}\n")


@given(st.text(alphabet="ab\\~^&%$#_{} ", max_size=8))
def test_special_characters_are_escaped(text):
    left = escape(text)
    for written in (r"\textbackslash{}", r"\textasciitilde{}", r"\textasciicircum{}"):
        left = left.replace(written, "")
    for letter in "&%$#_{}":
        left = left.replace(f"\\{letter}", "")
    assert not set(left) & set("\\~^&%$#_{}")


def test_order_is_by_rank():
    found = compare_methods({"low": [1, 2, 3], "high": [5, 6, 7], "mid": [3, 3, 4]})
    lines = found.to_latex().splitlines()[4:7]
    assert [line.split(" & ")[0] for line in lines] == ["high", "mid", "low"]


@pytest.mark.parametrize("greater", [True, False])
def test_signs_of_differences_of_errors(greater):
    scores = {"good": [0.1, 0.2], "bad": [0.4, 0.5]}
    if greater:
        scores = {name: [-value for value in values] for name, values in scores.items()}
    assert "0/0/2 & $-0.3000$" in compare_methods(scores, greater_is_better=greater).to_latex()


score_tables = hnp.arrays(
    np.float64, st.tuples(st.integers(2, 7), st.integers(2, 5)), elements=st.integers(0, 4)
)


def random_table(seed):
    """A table of a size of its own; two in three have many ties."""
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(3, 30)), int(rng.integers(3, 10)))
    scores = rng.normal(size=shape) + rng.normal(size=shape[1]) * rng.choice([0.0, 0.5, 2.0])
    return scores if seed % 3 == 0 else scores.round(seed % 3 - 1)


@pytest.mark.parametrize("seed", range(200))
def test_equal_to_scipy_and_scikit_posthocs(seed):
    scores = random_table(seed)
    ours = compare_methods(scores)
    statistic, pvalue = friedmanchisquare(*scores.T)
    assert ours.friedman_statistic == pytest.approx(statistic, rel=1e-9, abs=1e-9)
    if len(scores) >= 6 or scores.shape[1] > 6:
        assert ours.friedman_pvalue == pytest.approx(pvalue, rel=1e-9, abs=1e-9)
    else:  # where theirs is an approximation, and ours is not
        exact = exact_rank_pvalue(rank_rows(scores, greater_is_better=True))
        assert ours.friedman_pvalue == ours.iman_davenport_pvalue == exact
    theirs = scikit_posthocs.posthoc_nemenyi_friedman(-scores).to_numpy()
    upper = np.triu_indices(scores.shape[1], 1)
    np.testing.assert_allclose(
        [row.nemenyi_pvalue for row in ours.pairwise], theirs[upper], rtol=1e-9, atol=1e-9
    )
    # where their p-value falls below alpha, our ranks are more than the critical difference apart
    apart = [abs(row.rank_difference) > ours.critical_difference for row in ours.pairwise]
    np.testing.assert_array_equal(apart, theirs[upper] < 0.05)


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_wilcoxon_with_holm_equals_scikit_posthocs(seed):
    scores = random_table(seed)  # without ties
    theirs = scikit_posthocs.posthoc_wilcoxon(scores.T, p_adjust="holm").to_numpy()
    upper = np.triu_indices(scores.shape[1], 1)
    np.testing.assert_allclose(
        [row.holm_pvalue for row in compare_methods(scores).pairwise], theirs[upper], atol=1e-9
    )


def columns_of(table, *columns):
    printed = read_printed(table)
    return {column: [printed.value(row, column) for row in printed.rows] for column in columns}


def nemenyi(found, first, second):
    for row in found.pairwise:
        if {row.first, row.second} == {first, second}:
            return row.nemenyi_statistic
    raise KeyError


PLAIN, INNER, INNER_BEST = "plain network", "inner, improving settings", "inner, best setting"


BAGGING, BAGGING_BEST = "bagging, all sizes", "bagging, best size"


def test_table_1_of_the_inner_ensembles_paper():
    average = compare_methods(columns_of("inner-table1", PLAIN, INNER, BAGGING))
    assert round(average.friedman_statistic, 2) == 26.14
    assert round(nemenyi(average, PLAIN, INNER), 2) == 2.83
    assert round(nemenyi(average, INNER, BAGGING), 2) == 2.27
    assert round(average.critical_value, 2) == 2.34
    best = compare_methods(columns_of("inner-table1", PLAIN, INNER_BEST, BAGGING_BEST))
    assert round(best.friedman_statistic, 2) == 22.29
    assert round(nemenyi(best, PLAIN, INNER_BEST), 1) == 3.4
    assert round(nemenyi(best, INNER_BEST, BAGGING_BEST), 2) == 1.13


AVERAGE = ("K-means", INNER, "graph-based, all settings", "linkage, all settings")


BEST = ("K-means", INNER_BEST, "graph-based, best setting", "linkage, best setting")


@pytest.mark.parametrize(
    ("table", "columns", "printed", "corrected", "q_values"),
    [
        ("inner-table2", AVERAGE, 9.66, 12.28, (2.75, 1.06, 0.14)),
        ("inner-table2", BEST, 16.5, 18.47, (3.88, 2.12, 1.06)),
        ("inner-table3", AVERAGE, 11.5, 13.91, (2.89, 0.07, 0.84)),
        ("inner-table3", BEST, 17.0, 19.77, (3.81, 0.56, 1.55)),
    ],
)
def test_tables_2_and_3_of_the_inner_ensembles_paper(table, columns, printed, corrected, q_values):
    scores = columns_of(table, *columns)
    as_printed = compare_methods(scores, tie_correction=False)
    assert as_printed.friedman_statistic == pytest.approx(printed, abs=1e-9)
    found = compare_methods(scores)
    assert round(found.friedman_statistic, 2) == corrected
    # the paper cuts digits off where one would round
    inner = columns[1]
    ours = [nemenyi(found, inner, other) for other in (columns[0], *columns[2:])]
    assert [math.floor(100 * q) / 100 for q in ours] == list(q_values)


def test_names_come_from_frames_and_mappings():
    values = {"tree": [1.0, 2.0, 3.0], "forest": [2.0, 3.0, 1.0]}
    expected = compare_methods(values)
    assert expected.methods == ("tree", "forest")
    assert compare_methods(pd.DataFrame(values)) == expected
    assert compare_methods(pl.DataFrame(values)) == expected
    table = np.array(list(values.values())).T
    assert compare_methods(table, names=["tree", "forest"]) == expected
    assert compare_methods(table).methods == ("method 0", "method 1")


@given(score_tables)
def test_results_are_finite_with_any_ties(scores):
    found = compare_methods(scores)
    json.dumps([found.pairwise, found.mean_ranks], allow_nan=False)
    assert sum(found.mean_ranks.values()) == pytest.approx(
        scores.shape[1] * (scores.shape[1] + 1) / 2
    )
    assert found.sentence().endswith(".")
    for row in found.pairwise:
        assert row.wins + row.ties + row.losses == len(scores)
        assert 0 <= row.wilcoxon_pvalue <= row.holm_pvalue <= 1


@given(score_tables)
def test_errors_equal_negated_accuracies(scores):
    up, down = compare_methods(scores), compare_methods(-scores, greater_is_better=False)
    assert up.mean_ranks == down.mean_ranks
    assert [row.wins for row in up.pairwise] == [row.wins for row in down.pairwise]
    assert [row.advantage for row in up.pairwise] == pytest.approx(
        [row.advantage for row in down.pairwise]
    )


def test_all_tied_do_not_differ_significantly():
    found = compare_methods(np.ones((6, 3)))
    assert (found.friedman_statistic, found.friedman_pvalue) == (0.0, 1.0)
    assert (found.iman_davenport_statistic, found.iman_davenport_pvalue) == (0.0, 1.0)
    assert found.sentence() == (
        "The 3 methods do not differ significantly over 6 datasets (p = 1); method 0 has the best "
        "mean rank, 2.00."
    )


def test_two_methods():
    found = compare_methods({"a": [1.0] * 6, "b": [0.0] * 6})
    assert found.critical_value == pytest.approx(1.959964, abs=1e-5)
    assert found.iman_davenport_pvalue == pytest.approx(1 / 32)
    assert found.sentence() == (
        "The 2 methods differ over 6 datasets (p = 0.031): a has the best mean rank, 1.00, "
        "significantly better than b."
    )


def test_a_difference_without_significant_pairs():
    scores = [[3, 1, 0, 2], [1, 3, 0, 2], [2, 1, 0, 3], [2, 1, 0, 3], [3, 0, 2, 1], [2, 3, 0, 1]]
    found = compare_methods(scores)
    assert found.iman_davenport_pvalue < 0.05
    assert "no other method ranks significantly worse" in found.sentence()


def test_frame_and_order():
    found = compare_methods({"low": [1, 2, 3, 1], "high": [5, 6, 7, 8], "mid": [3, 3, 4, 3]})
    assert found.ranking() == ["high", "mid", "low"]
    frame = found.to_frame()
    assert list(frame["first"]) == ["low", "low", "high"]
    assert frame.loc[0, "losses"] == 4
    assert found.cliques()[0][0] == "high"


def test_without_pandas_the_rows_are_still_there(monkeypatch):
    found = compare_methods([[1, 2], [2, 1]])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"needs pandas.*`pairwise` holds the same rows"):
        found.to_frame()


def test_the_result_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        compare_methods([[1, 2], [2, 1]]).alpha = 0.1


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        ([[1, 2]], {}, "scores has 1 datasets and 2 methods; there must be at least 2 rows"),
        ([[1], [2]], {}, "and 1 methods; there must be at least 2 rows and 2 columns"),
        ([1, 2, 3], {}, r"scores has shape \(3,\); expected \(n_datasets, n_methods\)"),
        ([[1, np.nan], [1, 2]], {}, "scores holds nan at row 0, column 1"),
        ([[1, 2], [-np.inf, 2]], {}, "scores holds -inf at row 1, column 0"),
        ([["iris", 1], ["wine", 2]], {}, "scores must be numeric.*Drop columns"),
        ({"a": [1, 2], "b": [1]}, {}, "columns of different lengths, {'a': 2, 'b': 1}"),
        ({}, {}, "scores has shape"),
        ([[1, 2], [2, 1]], {"names": ["a"]}, "names has 1 entries for 2 methods"),
        ([[1, 2], [2, 1]], {"names": ["a", "a"]}, "The method 'a' occurs more than once"),
        ({1: [1, 2], "1": [2, 1]}, {}, "The method '1' occurs more than once"),
        ([[1, 2], [2, 1]], {"alpha": 5}, "alpha=5 must lie between 0 and 1"),
    ],
)
def test_invalid_scores_are_refused(scores, options, message):
    with pytest.raises(ValueError, match=message):
        compare_methods(scores, **options)
