import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.evaluation import interval_coverage, log_score

FINITE = st.floats(-50, 50)


def test_the_log_score_of_two_rows_by_hand():
    # log(2 pi) / 2 + log 2 + (1 / 2)² / 2 for an error of 1 with spread 2; log(2 pi) / 2 + 1 / 2
    expected = (0.9189385 + np.log(2) + 0.125 + 0.9189385 + 0.5) / 2
    assert log_score([3.0, 1.0], [2.0, 0.0], [2.0, 1.0]) == pytest.approx(expected)


@given(st.lists(st.tuples(FINITE, FINITE, st.floats(0.1, 5)), min_size=1, max_size=8))
def test_the_log_score_follows_its_formula_row_by_row(rows):
    slow = sum(
        0.5 * np.log(2 * np.pi * s**2) + (y - m) ** 2 / (2 * s**2) for y, m, s in rows
    ) / len(rows)
    assert log_score(*zip(*rows, strict=True)) == pytest.approx(slow)


def test_the_true_spread_has_the_best_log_score():
    y = np.random.default_rng(0).normal(0, 2, 500)
    scores = [log_score(y, np.zeros(500), np.full(500, s)) for s in (1.0, 2.0, 4.0)]
    assert scores[1] < min(scores[0], scores[2])
    assert np.isfinite(log_score([1.0], [1.0], [0.0]))


def test_intervals_hold_their_share_ends_included():
    assert interval_coverage([1.0, 2.0], [1.0, 3.0], [1.0, 4.0]) == 0.5
    y = np.random.default_rng(0).normal(3, 2, 20_000)
    reach = 2 * 1.6448536
    ends = np.full(20_000, 3 - reach), np.full(20_000, 3 + reach)
    assert interval_coverage(y, *ends) == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        (([1.0], [1.0, 2.0], [1.0]), "shapes"),
        (([], [], []), "shapes"),
        (([np.nan], [1.0], [1.0]), "finite"),
    ],
)
def test_what_does_not_fit_is_refused(columns, problem):
    with pytest.raises(ValueError, match=problem):
        log_score(*columns)
    with pytest.raises(ValueError, match=problem):
        interval_coverage(*columns)
