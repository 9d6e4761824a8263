import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.bayes._coding import MIN_COMPILED_ROWS, bin_of
from ensemblage.bayes._discretizer_kernels import bin_numbers, cut_row, mdlp_cut_points
from reference.mdlp import cut_points


def cuts_of(values, labels, weights=None):
    values, labels = np.asarray(values, dtype=float), np.asarray(labels)
    weights = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=float)
    order = np.argsort(values, kind="stable")
    return mdlp_cut_points(
        values[order], labels[order].astype(np.int64), weights[order], int(labels.max()) + 1
    )


def test_two_pure_halves_are_cut_in_the_middle():
    np.testing.assert_array_equal(cuts_of([1, 2, 3, 4, 7, 8, 9, 10], [0] * 4 + [1] * 4), [5.5])


def test_a_gain_below_the_description_length_gives_no_cut():
    # 2 of 4 rows: the gain is 1 bit, the price (log2 3 + log2 7 - 2) / 4 = 0.6: cut;
    # with the classes mixed the gain of 0.19 is below its price
    np.testing.assert_array_equal(cuts_of([1, 2, 3, 4], [0, 0, 1, 1]), [2.5])
    assert len(cuts_of([1, 2, 3, 4], [0, 1, 0, 1])) == 0


def test_neighbouring_floats_are_separated():
    low = 1.0
    high = np.nextafter(low, 2)
    cut = cuts_of([low] * 8 + [high] * 8, [0] * 8 + [1] * 8)
    assert low <= cut[0] < high


def test_huge_values_do_not_overflow():
    assert np.isfinite(cuts_of([-1.7e308] * 8 + [1.7e308] * 8, [0] * 8 + [1] * 8)).all()
    assert np.isfinite(cuts_of([1.6e308] * 8 + [1.7e308] * 8, [0] * 8 + [1] * 8)).all()


@pytest.mark.parametrize("seed", range(40))
def test_equals_the_plain_recursion(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, rng.integers(2, 5), size=rng.integers(2, 120))
    values = np.round(rng.normal(size=len(labels)) + labels * rng.uniform(0, 2), 1)
    np.testing.assert_allclose(cuts_of(values, labels), cut_points(values, labels.tolist()))


@given(st.integers(0, 500), st.integers(2, 60))
def test_a_weight_of_two_is_two_rows(seed, n_rows):
    rng = np.random.default_rng(seed)
    values, labels = rng.integers(0, 12, n_rows) / 4, rng.integers(0, 3, n_rows)
    labels[0] = 2
    weights = rng.integers(1, 4, n_rows)
    np.testing.assert_array_equal(
        cuts_of(values, labels, weights), cuts_of(values.repeat(weights), labels.repeat(weights))
    )


@given(st.integers(0, 500))
def test_rising_values_keep_their_cuts_between_the_same_rows(seed):
    rng = np.random.default_rng(seed)
    values, labels = rng.normal(size=50), rng.integers(0, 2, 50)
    labels[:2] = 0, 1
    bins = np.searchsorted(cuts_of(values, labels), values)
    stretched = np.exp(values)
    np.testing.assert_array_equal(bins, np.searchsorted(cuts_of(stretched, labels), stretched))


def test_the_compiled_kernel_is_the_python_one():
    rng = np.random.default_rng(0)
    values = np.sort(rng.normal(size=80))
    labels = (values + rng.normal(size=80) > 0).astype(np.int64)
    arguments = (values, labels, np.ones(80), *np.empty((4, 2)))
    assert 0 < cut_row(*arguments) == cut_row.python(*arguments)


@given(st.lists(st.floats(-5, 5), max_size=40), st.lists(st.floats(-5, 5), max_size=30))
def test_bins_are_the_cuts_below_a_value(values, cuts):
    values, cuts = np.array([*values, *cuts, np.nan]), np.unique(cuts).astype(float)
    expected = [-1 if np.isnan(v) else int((cuts < v).sum()) for v in values]
    assert bin_numbers(values, cuts).tolist() == expected
    assert bin_numbers.python(values, cuts).tolist() == expected
    assert bin_of(values, cuts).tolist() == expected  # by NumPy


@pytest.mark.parametrize(
    "cuts", [[-1.7e308, 0.0, 1.7e308], [1.0, np.nextafter(1.0, 2)], [5e-324], []]
)
def test_bins_of_extreme_cuts(cuts):
    cuts = np.array(cuts, dtype=float)
    values = np.array([-1.7e308, -1.0, 0.0, 5e-324, 1.0, np.nextafter(1.0, 2), 2.0, 1.79e308])
    np.testing.assert_array_equal(bin_numbers(values, cuts), np.searchsorted(cuts, values))


@pytest.mark.parametrize("n_rows", [MIN_COMPILED_ROWS - 1, MIN_COMPILED_ROWS])
def test_few_and_many_values_have_the_same_bins(n_rows):
    rng = np.random.default_rng(0)
    values, cuts = rng.integers(-9, 9, n_rows) / 2, np.arange(-3.0, 3.0)
    values[:3] = np.nan, np.inf, -np.inf
    bins = bin_of(values, cuts)
    assert bins.dtype == np.int32
    np.testing.assert_array_equal(bins, bin_numbers(values, cuts))
