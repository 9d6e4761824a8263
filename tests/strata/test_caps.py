import numpy as np
import pytest

from ensemblage.blocks import MemoryBlocks
from ensemblage.kernels import (
    Caps,
    Entries,
    Moments,
    Near,
    Windows,
    log_memberships,
    rows_near_caps,
)
from ensemblage.strata import HISS
from ensemblage.strata._cap_search import SizeRange, search_caps
from ensemblage.strata._caps import Seen, SizedRules, log_scales_of, next_windows, solve_caps
from ensemblage.strata._gaussian import Rule
from strata.carried import with_affinity


def test_log_scale_is_share_minus_pivot():
    assert log_scales_of(Caps(np.array([-3.0]), np.array([-0.5]))) == [2.5]


def look(affinity, windows):
    near = rows_near_caps(affinity, np.exp(affinity), np.ones(affinity.shape[1]), *windows)
    return Seen(windows, near)


def near_of(inside):
    nothing = np.zeros(0)
    none = Entries(nothing.astype(int), nothing, nothing)
    return Near(1.0, np.zeros(1), np.zeros(1), np.array([inside]), none)


def source_of(n_rows, dtype=np.float64):
    return MemoryBlocks(np.zeros((n_rows, 1), dtype))


def cap_at(height):
    return Caps(np.array([height]), np.zeros(1))


def test_a_window_goes_on_as_the_cap_went():
    # it moved from -4 to -3, and was missed by nothing; 1,280 rows: 64 are wanted, 32 were seen
    before = Rule(cap_at(-4.0), Windows(np.array([-3.1]), np.array([-2.9])))
    (lower,), (upper,) = next_windows(source_of(1280), cap_at(-3.0), before, near_of(32.0))
    assert (lower, upper) == pytest.approx((-2.2 - 0.2, -2.2 + 0.2))


def test_a_window_is_wider_where_the_last_cap_was_missed():
    before = Rule(cap_at(-3.0), Windows(np.array([-3.6]), np.array([-3.4])))
    (lower,), (upper,) = next_windows(source_of(1280), cap_at(-3.0), before, near_of(64.0))
    assert (lower, upper) == pytest.approx((-3.4, -2.6))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_edges_are_numbers_that_affinities_can_be(dtype):
    before = Rule(cap_at(-1e5), Windows(np.full(1, -1e5), np.full(1, -1e5)))
    windows = next_windows(source_of(1280, dtype), cap_at(-1e5 / 3), before, near_of(640.0))
    for edge in windows:
        assert edge == edge.astype(dtype)
    assert windows.upper > windows.lower


@pytest.mark.parametrize("guess", [-1e10, -300.0, -3.0, -0.01])
def test_a_bad_guess_costs_time_but_not_truth(guess):
    affinity = -np.random.default_rng(0).gamma(0.5, 20.0, size=(2, 3000))
    sizes, source = np.array([300.0, 2000.0]), with_affinity(affinity)
    windows = Windows(np.full(2, guess), np.full(2, guess + 0.5))
    np.testing.assert_allclose(
        log_scales_of(solve_caps(source, sizes, look(affinity, windows))),
        log_scales_of(search_caps(source, sizes)),
        atol=1e-12,
    )


def test_a_good_guess_needs_no_further_pass():
    affinity = -np.random.default_rng(0).gamma(0.5, 20.0, size=(3, 3000))
    sizes, source = np.array([300.0, 2000.0, 900.0]), with_affinity(affinity)
    heights = -log_scales_of(search_caps(source, sizes))
    seen = look(affinity, Windows(heights - 0.2, heights + 0.3))
    source.forget()  # nothing to look at
    np.testing.assert_allclose(log_scales_of(solve_caps(source, sizes, seen)), -heights, atol=1e-12)
    some = solve_caps(source, sizes[[0, 2]], seen.of(np.array([0, 2])), np.array([0, 2]))
    np.testing.assert_allclose(log_scales_of(some), -heights[[0, 2]], atol=1e-12)


@pytest.mark.parametrize("depth", [1e-6, 1.0, 1e3, 1e9])
@pytest.mark.parametrize("tied", [False, True])
def test_caps_of_a_range_share_the_budget(depth, tied):
    affinity = -depth * np.random.default_rng(2).uniform(size=(5, 100))
    affinity = np.full_like(affinity, -depth) if tied else affinity
    source, rules = with_affinity(affinity), SizedRules(5, SizeRange(0.05, 0.6, 1.5))
    moments = Moments(
        np.zeros(0), np.zeros(0), np.zeros(0), 0.0, near_of(0.0)._replace(weight=100.0)
    )
    caps = rules.caps(source, moments, rules.first)
    sizes = np.exp(log_memberships(affinity, caps)).sum(axis=1)
    assert sizes.sum() == pytest.approx(150, rel=1e-7)
    assert sizes.min() >= 5 * (1 - 1e-7)
    assert sizes.max() <= 60 * (1 + 1e-7)


class Counted(MemoryBlocks):
    """Notes each pass over the rows, in a list that all of a fit's sources share."""

    def map(self, kernel, *state):
        self.passes.append(kernel.__name__)
        return super().map(kernel, *state)

    def advance(self, kernel, *state):
        self.passes.append("iteration")
        return super().advance(kernel, *state)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "sizes",
    [{}, {"stratum_size": 0.05}, {"stratum_size": (0.05, 0.4), "total_size": 1.0},
     {"stratum_size": (0.15, 0.25), "total_size": 1.3},
     {"stratum_size": (0.01, 0.05), "total_size": 0.1}],
)  # fmt: skip
def test_an_iteration_takes_at_most_ten_passes(dtype, sizes):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(6000, 5)) * 10 ** rng.uniform(-1, 1, 5)
        X += 4 * rng.normal(size=(4, 5))[rng.integers(4, size=6000)]
        source = Counted(X.astype(dtype), block_rows=1000)
        source.passes = []
        HISS(6, **sizes, max_iter=15, polish=False, random_state=0).fit(source)
        starts = np.flatnonzero(np.array(source.passes) == "iteration")
        assert np.diff(starts).max() <= 10
