import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from ensemblage.blocks import MemoryBlocks
from ensemblage.strata import HISS
from ensemblage.strata import _hiss_sizes as _price_search
from ensemblage.strata._gaussian import Rule, StrataModel
from ensemblage.strata._gaussian_kernels import Moments, make_gaussians
from ensemblage.strata._hiss_kernels import (
    Caps,
    Entries,
    Near,
    Windows,
    log_memberships,
    rows_near_caps,
)
from ensemblage.strata._hiss_sizes import (
    ASIDE,
    LEAST_ENTRIES,
    Groups,
    Market,
    Seen,
    SharedModel,
    SizedRules,
    SizeRange,
    _last_changes,
    bins_about,
    divergences,
    find_groups,
    log_scales_of,
    next_windows,
    search_caps,
    share_budget,
    solve_caps,
)
from reference.capping import capped_memberships
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


def random_affinity(rng, n_strata, n_rows):
    """Affinities of all kinds: alike, spread out, tied, and as far down as -1e10."""
    depth = 10 ** rng.uniform(-3, 10, size=(n_strata, 1))
    affinity = -depth * rng.uniform(size=(n_strata, n_rows)) ** rng.integers(1, 6)
    tied = rng.uniform(size=affinity.shape) < rng.choice([0, 0.5])
    return np.where(tied, np.round(affinity), affinity)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-6)])
def test_sizes_hold_in_2000_random_cases(dtype, tolerance):
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n_rows = int(rng.integers(2, 300))
        affinity = random_affinity(rng, 10, n_rows).astype(dtype)
        weights = rng.gamma(2.0, size=n_rows) if seed % 2 else np.ones(n_rows)
        sizes = rng.uniform(0.01, 1, size=10) * weights.sum()
        caps = search_caps(with_affinity(affinity, weights), sizes)
        tau = np.exp(log_memberships(affinity, caps).astype(float))
        assert tau.max() <= 1
        np.testing.assert_allclose(tau @ weights, sizes, rtol=tolerance)


@pytest.mark.parametrize("n_rows", [200, 5000])
def test_blocks_find_what_sorting_finds(n_rows):
    rng = np.random.default_rng(n_rows)
    affinity = -rng.gamma(0.5, 20.0, size=(6, n_rows))
    sizes = np.linspace(0.02, 0.95, 6) * n_rows
    tau = np.exp(log_memberships(affinity, search_caps(with_affinity(affinity), sizes)))
    for row, values, size in zip(tau, affinity, sizes, strict=True):
        np.testing.assert_allclose(row, capped_memberships(values, size), atol=1e-12)


@pytest.mark.parametrize("guess", [-1e10, -300.0, -0.01])
def test_a_bad_guess_costs_time_but_not_truth_of_cap_search(guess):
    rng = np.random.default_rng(0)
    affinity = -rng.gamma(0.5, 20.0, size=(2, 3000))
    source, sizes = with_affinity(affinity), np.array([300.0, 2000.0])
    for cold, warm in zip(
        log_scales_of(search_caps(source, sizes)),
        log_scales_of(
            search_caps(
                source,
                sizes,
                bins_about(np.full(2, guess)),
            )
        ),
        strict=True,
    ):
        assert warm == pytest.approx(cold, abs=1e-12)


def test_thousands_of_equal_rows_share_equally():
    affinity = np.full((1, 6000), -7.25)
    caps = search_caps(with_affinity(affinity), np.array([1500.0]))
    np.testing.assert_allclose(np.exp(log_memberships(affinity, caps)), 0.25)


def test_a_budget_is_shared_so_that_no_exchange_helps():
    # the last unit of size is worth 1 / c_j to stratum j: equal off the bounds, less at the lower
    rng = np.random.default_rng(1)
    affinity = np.log(rng.dirichlet([0.1, 1.0, 1.5, 6.0], size=120).T)
    low, high, budget = 20.0, 70.0, 160.0
    source = with_affinity(affinity)
    sizes = share_budget(source, SizeRange(low, high, budget), 4).sizes
    log_worth = -log_scales_of(search_caps(source, sizes))
    at_low, at_high = np.isclose(sizes, low), np.isclose(sizes, high)
    inside = log_worth[~at_low & ~at_high]
    assert at_low.sum() == at_high.sum() == 1
    assert sizes.sum() == pytest.approx(budget, rel=1e-12)
    np.testing.assert_allclose(inside, inside[0], atol=1e-9)
    assert log_worth[at_low] <= inside[0] <= log_worth[at_high]


@pytest.mark.parametrize(("depth", "budget"), [(1e-6, 100), (1e3, 60), (1e9, 250)])
def test_a_budget_is_met_at_any_depth(depth, budget):
    rng = np.random.default_rng(2)
    affinity = -depth * rng.uniform(size=(5, 100))
    sizes = share_budget(with_affinity(affinity), SizeRange(5.0, 60.0, budget), 5).sizes
    assert sizes.sum() == pytest.approx(budget)
    assert sizes.min() >= 5 - 1e-9
    assert sizes.max() <= 60 + 1e-9


@pytest.mark.parametrize("weight", [0.1, 1 / 3, 0.7])
def test_a_size_beyond_the_sum_of_the_weights_takes_all_rows(weight):
    # as much beyond it as rounding makes it
    affinity = -np.random.default_rng(3).gamma(0.5, 20.0, size=(2, 50))
    weights = np.full(50, weight)
    sizes = np.array([0.5, 1 + 1e-15]) * weights.sum()
    caps = search_caps(with_affinity(affinity, weights), sizes)
    tau = np.exp(log_memberships(affinity, caps))
    np.testing.assert_allclose(tau @ weights, sizes, rtol=1e-12)
    np.testing.assert_allclose(tau[1], 1.0)


KINDS = ["spherical", "diag", "tied", "full"]


COVARIANCES = {
    "spherical": np.array([2.0, 2.0, 0.5]),
    "diag": np.array([[2.0, 1.0], [2.0, 1.5], [0.5, 4.0]]),
    "tied": np.array([[2.0, 0.5], [0.5, 1.0]]),
    "full": np.array(
        [[[2.0, 0.5], [0.5, 1.0]], [[2.0, 0.5], [0.5, 1.5]], [[1.0, 0.0], [0.0, 3.0]]]
    ),
}


def model_of(kind, means=((0.0, 0.0), (0.5, -1.0), (3.0, 0.0))):
    means = np.array(means)
    return StrataModel(np.zeros(2), make_gaussians(means, COVARIANCES[kind], kind), kind)


def full_covariance(kind, j):
    given = COVARIANCES[kind] if kind == "tied" else COVARIANCES[kind][j]
    return given if np.ndim(given) == 2 else np.diag(np.broadcast_to(given, 2))


@pytest.mark.parametrize("kind", KINDS)
def test_divergence_is_the_sum_of_both_kullback_leibler_divergences(kind):
    model = model_of(kind)
    one, other = (
        multivariate_normal(model.gaussians.means[j], full_covariance(kind, j)) for j in (0, 1)
    )
    grid = np.stack(np.meshgrid(*[np.linspace(-14, 14, 561)] * 2), axis=-1)
    p, q = one.logpdf(grid), other.logpdf(grid)
    by_sum = ((np.exp(p) - np.exp(q)) * (p - q)).sum() * (28 / 560) ** 2
    assert divergences(model, 0, [2, 1])[1] == pytest.approx(by_sum, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_stratum_does_not_diverge_from_itself(kind):
    assert divergences(model_of(kind), 2, [2])[0] == pytest.approx(0, abs=1e-12)


def test_strata_that_differ_by_less_than_a_hair_are_one_group():
    means = [[0.0], [5.0], [1e-4], [5.0], [0.2]]
    gaussians = make_gaussians(np.array(means), np.ones((5, 1)), "diag")
    groups = find_groups(StrataModel(np.zeros(1), gaussians, "diag"))
    np.testing.assert_array_equal(groups.numbers, [0, 1, 0, 1, 2])


def test_a_group_is_a_stratum_with_the_sum_of_the_densities():
    gaussians = make_gaussians(np.array([[0.0], [5.0], [0.0]]), np.ones((3, 1)), "diag")
    model = StrataModel(np.zeros(1), gaussians, "diag")
    rows = np.array([[0.0], [1.0], [4.0]])
    own = np.exp(model.log_densities(rows))
    shared = np.exp(SharedModel(model, find_groups(model)).log_densities(rows))
    np.testing.assert_allclose(shared, [own[0] + own[2], own[1]])


def test_scales_and_sizes_of_groups_and_back():
    # twice the price of one member, so half its scale
    groups = Groups(np.array([0, 1, 0]))
    np.testing.assert_allclose(groups.join_sizes(np.array([10.0, 7.0, 20.0])), [15, 7])
    joined = groups.join_scales(np.log([6.0, 3.0, 6.0]))
    np.testing.assert_allclose(np.exp(joined), [3, 3])
    np.testing.assert_allclose(np.exp(groups.split_scales(joined)), [6, 3, 6])
    np.testing.assert_array_equal(groups.split_memberships(np.array([[0.5, 1.0]])), [[0.5, 1, 0.5]])


def test_strata_of_their_own_keep_every_bit():
    groups, values = Groups(np.arange(3)), np.array([0.1, 0.2, 0.3])
    for method in (groups.join_sizes, groups.join_scales, groups.split_scales):
        assert method(values) is values
    density = np.random.default_rng(0).normal(size=(3, 4))
    assert groups.join_densities(density) is density


def clouds(seed, n_rows, n_columns=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, n_columns)) + 2 * rng.integers(3, size=(n_rows, 1))


def market_of(X, n_strata, seed=0, weights=None):
    rng = np.random.default_rng(seed)
    means, spread = rng.normal(1, 2, size=(n_strata, X.shape[1])), np.ones((n_strata, X.shape[1]))
    model = StrataModel(np.zeros(X.shape[1]), make_gaussians(means, spread, "diag"), "diag")
    source = MemoryBlocks(X, block_rows=500).begin(weights)
    return Market(source, SharedModel(model, find_groups(model)))


def take_aside(market, log_scales, reach):
    """Measure all rows, as if few were expected nearby."""
    market._few = True
    return market.measure(log_scales, reach)


@given(st.integers(0, 100_000))
def test_rows_taken_aside_stand_for_all(seed):
    rng = np.random.default_rng(seed)
    X, n_strata = clouds(seed, 1200), int(rng.integers(1, 6))
    weights = rng.gamma(2.0, size=len(X))
    market, other = (market_of(X, n_strata, seed, weights) for _ in range(2))
    log_scales, reach = rng.normal(1, 2, n_strata), 10 ** rng.uniform(-4, -1, n_strata)
    first = take_aside(market, log_scales, reach)
    np.testing.assert_allclose(first.sizes, other.measure(log_scales, reach).sizes, rtol=1e-12)
    moved = log_scales + (ASIDE - 1) * reach * rng.uniform(-1, 1, n_strata)
    both = zip(market.measure(moved, reach), other.measure(moved, reach), strict=True)
    for by_few, by_all in both:
        np.testing.assert_allclose(by_few, by_all, rtol=1e-9, atol=1e-9)


def test_prices_too_far_away_are_asked_of_all_rows():
    X, log_scales, reach = clouds(0, 1200), np.zeros(3), np.full(3, 1e-3)
    market, other = (market_of(X, 3) for _ in range(2))
    take_aside(market, log_scales, reach)
    market._few = False
    far = log_scales + 1.0
    for asked, expected in zip(market.measure(far, reach), other.measure(far, reach), strict=True):
        np.testing.assert_array_equal(asked, expected)
    assert market._aside is None


def test_rows_that_turn_next_are_those_of_all_rows():
    X, log_scales, reach = clouds(1, 1200), np.full(3, 5.0), np.full(3, 5e-2)
    market, other = (market_of(X, 3) for _ in range(2))
    take_aside(market, log_scales, reach)
    for missing in (np.array([0.3, -0.2, 0.0]), np.array([4.5, -3.1, 0.9])):
        found, expected = (each.next_to_turn(log_scales, missing) for each in (market, other))
        assert len(found.rows) < len(expected.rows)  # each block of all rows names its own
        assert _last_changes(found, missing) == _last_changes(expected, missing)
    # more than the rows aside could give: all rows are asked
    much = np.full(3, 300.0)
    assert market._aside.next_to_turn(log_scales, much) is None
    found, expected = (each.next_to_turn(log_scales, much) for each in (market, other))
    np.testing.assert_array_equal(found.rows, expected.rows)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_fit_is_the_same_with_few_rows_as_with_all(monkeypatch, dtype, weighted):
    X = clouds(2, 5000).astype(dtype)
    weights = np.random.default_rng(0).gamma(2.0, size=len(X)) if weighted else None
    passes = {}
    for least in (np.inf, 0):
        monkeypatch.setattr(_price_search, "LEAST_ENTRIES", least)
        asked = []
        for name in ("_measure", "_measure_and_take_aside", "_next_to_turn"):
            kernel = getattr(_price_search, name)
            monkeypatch.setattr(_price_search, name, counting(kernel, asked))
        passes[least] = HISS(6, 0.3, random_state=0).fit(X, sample_weight=weights), asked
        monkeypatch.undo()
    (all_rows, many), (few_rows, few) = passes[np.inf], passes[0]
    assert len(few) < len(many)
    assert few_rows.polished_
    assert few_rows.objective_ == pytest.approx(all_rows.objective_, rel=1e-9)
    np.testing.assert_allclose(few_rows.log_scales_, all_rows.log_scales_, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(few_rows.memberships_, all_rows.memberships_, atol=1e-5)


def counting(kernel, asked):
    def counted(block, *state):
        if block.start == 0:
            asked.append(kernel)
        return kernel(block, *state)

    return counted


def test_rows_are_taken_aside_if_many_are_left(monkeypatch):
    market, reach = market_of(clouds(3, 1000), 4), np.full(4, 0.1)
    whole, shared = (market.measure(np.full(4, scale), reach) for scale in (8.0, -1.0))
    market.expect(whole, reach, reach / 100)
    assert LEAST_ENTRIES > 1000 * 4
    assert not market._few
    monkeypatch.setattr(_price_search, "LEAST_ENTRIES", 1000)
    market.expect(whole, reach, reach / 100)
    assert market._few
    market.expect(whole, reach, 100 * reach)
    assert not market._few
    # at such prices each row has a fraction somewhere, and so turns right there
    market.expect(shared, reach, reach / 100)
    assert not market._few
