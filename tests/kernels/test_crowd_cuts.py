import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ensemblage.kernels import (
    ENTROPY,
    GINI,
    POISSON,
    SQUARED,
    CutRule,
    bin_sums,
    bins_of,
    candidate_cuts,
    count_draws,
    cut_gains,
    rows_of_side,
)
from kernels.trees import targets
from reference.inner_tree import cuts_in_window, impurity

CRITERIA = {"gini": GINI, "entropy": ENTROPY, "squared_error": SQUARED, "poisson": POISSON}


def numbers(*values):
    return np.array(values, dtype=np.float32)


def test_cuts_by_hand():
    x = numbers(1, 2, 2, 4, 8, 9, np.nan, 10)
    # seven known rows, four of them below 5: ranks 4 +- 1.75 are those of 4 | 8 and 8 | 9
    cuts = candidate_cuts(x, np.ones(8), own=5.0, window=0.25)
    assert cuts.values.tolist() == [3.0, 5.0, 8.5]
    assert cuts.own == 1


def test_no_window_leaves_the_trees_own_cut():
    cuts = candidate_cuts(numbers(1, 2, 3), np.ones(3), own=1.5, window=0.0)
    assert cuts.values.tolist() == [1.5]


def test_values_that_scikit_learn_takes_for_equal_are_not_cut_apart():
    cuts = candidate_cuts(numbers(0, 1e-8, 1, 2), np.ones(4), own=0.5, window=1.0)
    assert cuts.values.tolist() == [0.5, 1.5]


@pytest.mark.parametrize("x", [[], [np.nan, np.nan], [3.0]])
def test_where_nothing_can_be_cut(x):
    cuts = candidate_cuts(numbers(*x), np.ones(len(x)), own=2.0, window=0.5)
    assert cuts.values.tolist() == [2.0]


@given(st.integers(0, 10_000))
def test_many_cuts_are_thinned_to_a_byte(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=2000).astype(np.float32)
    own = float(rng.choice(x[x < x.max()]))
    cuts = candidate_cuts(x, rng.gamma(1.0, size=2000), own, window=0.4)
    assert len(cuts.values) <= 255
    assert (np.diff(cuts.values) > 0).all()
    assert cuts.values[cuts.own] == own


@given(st.integers(0, 10_000), st.floats(0, 1))
@example(1040, 0.6666666666666616)
def test_cuts_equal_the_slow_ones(seed, window):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 12, size=30).astype(np.float32)
    x[rng.random(30) < 0.2] = np.nan
    weights = rng.integers(1, 4, size=30).astype(float)
    slow = cuts_in_window(x.tolist(), weights, 5.5, window)
    fast = candidate_cuts(x, weights, 5.5, window)
    assert fast.values.tolist() == sorted([*slow, 5.5])


@given(st.integers(0, 10_000), st.floats(0, 1))
def test_rows_of_one_weight_are_ranked_as_rows_of_any(seed, window):
    """Only the former are sorted without their places."""
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=600) * 10).round(seed % 4).astype(np.float32)
    x[rng.random(600) < 0.1] = np.nan
    x[0] = np.inf
    ones = candidate_cuts(x, np.ones(600), 1.5, window)
    twos = candidate_cuts(x, np.full(600, 2.0), 1.5, window)
    assert ones.own == twos.own
    assert ones.values.tolist() == twos.values.tolist()


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_bins_are_places_among_the_cuts(seed, n_cuts):
    rng = np.random.default_rng(seed)
    cuts = np.unique(rng.integers(-99, 99, size=n_cuts) / 2)
    x = numbers(*rng.integers(-50, 50, size=40), -np.inf, np.inf)
    assert bins_of(x, cuts, True).tolist() == np.searchsorted(cuts, x).tolist()


def test_draws_are_counted_up_to_a_byte():
    drawn = np.array([1, 3, 1] + [2] * 300, dtype=np.uint32)
    for kernel in (count_draws, count_draws.python):
        counts = np.zeros(4, dtype=np.uint8)
        kernel(drawn, counts)
        assert counts.tolist() == [0, 2, 255, 1]


def test_bins_by_hand():
    cuts = np.array([1.0, 2.0])
    x = numbers(0, 1, 1.5, 2, 3, np.nan)
    for kernel in (bins_of, bins_of.python):
        assert kernel(x, cuts, True).tolist() == [0, 0, 1, 1, 2, 0]
        assert kernel(x, cuts, False).tolist() == [0, 0, 1, 1, 2, 2]


def test_gains_by_hand():
    """Rows a a b b in four bins; the second view has drawn the third row only, thrice."""
    bins = np.array([0, 1, 2, 3], dtype=np.uint8)
    counts = np.array([[1, 0], [1, 0], [1, 3], [1, 0]], dtype=np.uint8)
    labels = targets([0, 0, 1, 1], n_classes=2)
    for sum_up, judge in ((bin_sums, cut_gains), (bin_sums.python, cut_gains.python)):
        sums = sum_up(bins, counts, labels, 4)
        assert sums[:, 0].tolist() == counts.tolist()
        assert sums[:, 2].tolist() == [[0, 0], [0, 0], [1, 3], [1, 0]]
        gains = judge(sums, 0, CutRule(GINI, 1))
        # 1 + (1 + 4) / 3 of the own cut, against 2 + 2 of the pure one and 5 / 3 + 1
        np.testing.assert_allclose(gains[0], [0, 4 - 8 / 3, -np.inf])
        np.testing.assert_allclose(gains[1], [0, -np.inf, -np.inf])
        assert judge(sums, 0, CutRule(GINI, 3))[0].tolist() == [0, -np.inf, -np.inf]


@pytest.mark.parametrize("criterion", CRITERIA)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=25)
def test_gains_are_what_the_impurity_falls_by(criterion, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, size=12)
    weights = rng.gamma(2.0, size=12)
    counts = rng.integers(0, 3, size=(12, 4)).astype(np.uint8)
    bins = rng.integers(0, 6, size=12).astype(np.uint8)
    n_classes = 0 if criterion in {"squared_error", "poisson"} else 3
    sums = bin_sums(bins, counts, targets(y, weights, n_classes), 6)
    gains = cut_gains(sums, 2, CutRule(CRITERIA[criterion], 1))
    for e in range(4):
        drawn = weights * counts[:, e]

        def cost(cut, drawn=drawn):
            sides = np.flatnonzero(bins <= cut), np.flatnonzero(bins > cut)
            return sum(impurity(side, drawn, y, 3, criterion) for side in sides)

        for cut in range(5):
            if np.isfinite(gains[e, cut]):
                assert gains[e, cut] == pytest.approx(cost(2) - cost(cut), abs=1e-9)
            else:
                left = counts[bins <= cut, e].sum()
                empty = min(left, counts[:, e].sum() - left) == 0
                some = counts[:, e] * y
                zero = min(some[bins <= cut].sum(), some[bins > cut].sum()) == 0
                assert empty or (criterion == "poisson" and zero) or cost(cut) > cost(2) - 1e-9


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_a_row_drawn_twice_is_two_rows_and_a_weight_of_two(seed):
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, 5, size=20).astype(np.uint8)
    y = rng.integers(0, 2, size=20)
    times = rng.integers(1, 4, size=20)
    every = np.repeat(np.arange(20), times)
    rule = CutRule(GINI, 1)
    ones = np.ones((len(every), 1), dtype=np.uint8)
    copies = cut_gains(bin_sums(bins[every], ones, targets(y[every], n_classes=2), 5), 1, rule)
    drawn = times[:, None].astype(np.uint8)
    counted = cut_gains(bin_sums(bins, drawn, targets(y, n_classes=2), 5), 1, rule)
    weighted = cut_gains(bin_sums(bins, ones[:20], targets(y, times, 2), 5), 1, rule)
    assert copies.tolist() == counted.tolist() == weighted.tolist()


def test_rows_go_where_their_views_send_them():
    bins = np.array([0, 1, 2], dtype=np.uint8)
    counts = np.array([[1, 0], [2, 1], [1, 1]], dtype=np.uint8)
    chosen = np.array([0, 1])  # the views differ on the middle row
    for kernel in (rows_of_side, rows_of_side.python):
        left, right = kernel(bins, counts, chosen, True), kernel(bins, counts, chosen, False)
        assert left.places.tolist() == [0, 1]
        assert left.counts.tolist() == [[1, 0], [0, 1]]
        assert right.places.tolist() == [1, 2]
        assert right.counts.tolist() == [[2, 0], [1, 1]]


@given(st.integers(0, 10_000))
def test_no_draw_is_lost_on_the_way(seed):
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, 5, size=30).astype(np.uint8)
    counts = rng.integers(0, 3, size=(30, 4)).astype(np.uint8)
    counts[:, 0] += counts.sum(axis=1) == 0
    chosen = rng.integers(0, 4, size=4)
    total = np.zeros_like(counts)
    for side in (True, False):
        part = rows_of_side(bins, counts, chosen, side)
        total[part.places] += part.counts
    assert (total == counts).all()
