import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from ensemblage.blocks import MemoryBlocks
from ensemblage.strata import HISS, _hiss_sizes
from ensemblage.strata._gaussian_kernels import (
    MembershipPrior,
    Moments,
    StrataModel,
    make_gaussians,
)
from ensemblage.strata._hiss_kernels import (
    Entries,
    ScaleWindows,
    SplitScales,
    WindowSums,
    capped_log_memberships,
    scan_windows,
)
from ensemblage.strata._hiss_sizes import (
    ACTIVE_RADIUS_FACTOR,
    MIN_ENTRIES,
    DualProblem,
    MergedDensities,
    SizeConstraint,
    _exact_size_adjustments,
    allocate_total_size,
    as_log_scales,
    coincident_groups,
    constrained_scales,
    extrapolate_windows,
    jeffreys_divergences,
    search_scales,
    solve_scales,
)
from reference.capping import capped_memberships
from strata.carried import with_affinity


def test_log_scale_is_share_minus_pivot():
    assert as_log_scales(SplitScales(np.array([-3.0]), np.array([-0.5]))) == [2.5]


def look(log_resp, windows):
    weights = np.ones(log_resp.shape[1])
    weight, above, rest, inside, *rows = scan_windows(log_resp, np.exp(log_resp), weights, *windows)
    return WindowSums(weight, above, rest, inside, Entries(*rows))


def sums_of(inside):
    nothing = np.zeros(0)
    none = Entries(nothing.astype(int), nothing, nothing)
    return WindowSums(1.0, np.zeros(1), np.zeros(1), np.array([inside]), none)


def source_of(n_rows, dtype=np.float64):
    return MemoryBlocks(np.zeros((n_rows, 1), dtype))


def scale_at(height):
    return SplitScales(np.array([height]), np.zeros(1))


def test_a_window_extrapolates_the_scale():
    # it moved from -4 to -3, and was missed by nothing; 1,280 rows: 64 are wanted, 32 were seen
    before = MembershipPrior(scale_at(-4.0), ScaleWindows(np.array([-3.1]), np.array([-2.9])))
    (lower,), (upper,) = extrapolate_windows(source_of(1280), scale_at(-3.0), before, sums_of(32.0))
    assert (lower, upper) == pytest.approx((-2.2 - 0.2, -2.2 + 0.2))


def test_a_window_is_wider_where_the_last_scale_was_missed():
    before = MembershipPrior(scale_at(-3.0), ScaleWindows(np.array([-3.6]), np.array([-3.4])))
    (lower,), (upper,) = extrapolate_windows(source_of(1280), scale_at(-3.0), before, sums_of(64.0))
    assert (lower, upper) == pytest.approx((-3.4, -2.6))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_edges_are_values_of_the_dtype(dtype):
    before = MembershipPrior(scale_at(-1e5), ScaleWindows(np.full(1, -1e5), np.full(1, -1e5)))
    windows = extrapolate_windows(
        source_of(1280, dtype), scale_at(-1e5 / 3), before, sums_of(640.0)
    )
    for edge in windows:
        assert edge == edge.astype(dtype)
    assert windows.upper > windows.lower


@pytest.mark.parametrize("guess", [-1e10, -300.0, -3.0, -0.01])
def test_scales_outside_their_windows_are_found(guess):
    log_resp = -np.random.default_rng(0).gamma(0.5, 20.0, size=(2, 3000))
    sizes, source = np.array([300.0, 2000.0]), with_affinity(log_resp)
    windows = ScaleWindows(np.full(2, guess), np.full(2, guess + 0.5))
    np.testing.assert_allclose(
        as_log_scales(solve_scales(source, sizes, windows, look(log_resp, windows))),
        as_log_scales(search_scales(source, sizes)),
        atol=1e-12,
    )


def test_a_good_guess_needs_no_further_pass():
    log_resp = -np.random.default_rng(0).gamma(0.5, 20.0, size=(3, 3000))
    sizes, source = np.array([300.0, 2000.0, 900.0]), with_affinity(log_resp)
    heights = -as_log_scales(search_scales(source, sizes))
    windows = ScaleWindows(heights - 0.2, heights + 0.3)
    near, two = look(log_resp, windows), np.array([0, 2])
    source.reset()  # nothing to look at
    scales = solve_scales(source, sizes, windows, near)
    np.testing.assert_allclose(as_log_scales(scales), -heights, atol=1e-12)
    of_two = ScaleWindows(windows.lower[two], windows.upper[two])
    some = solve_scales(source, sizes[two], of_two, near.of_strata(two), two)
    np.testing.assert_allclose(as_log_scales(some), -heights[[0, 2]], atol=1e-12)


@pytest.mark.parametrize("depth", [1e-6, 1.0, 1e3, 1e9])
@pytest.mark.parametrize("tied", [False, True])
def test_scales_of_a_range_share_the_total(depth, tied):
    log_resp = -depth * np.random.default_rng(2).uniform(size=(5, 100))
    log_resp = np.full_like(log_resp, -depth) if tied else log_resp
    source, constraint = with_affinity(log_resp), SizeConstraint(0.05, 0.6, 1.5)
    sums = sums_of(0.0)._replace(weight=100.0)
    moments = Moments(np.zeros(5), np.zeros(0), np.zeros(0), 0.0, sums)
    prior = MembershipPrior(np.full((5, 1), np.log(0.3)))
    scales, _ = constrained_scales(source, constraint, moments, prior)
    sizes = np.exp(capped_log_memberships(log_resp, scales)).sum(axis=1)
    assert sizes.sum() == pytest.approx(150, rel=1e-7)
    assert sizes.min() >= 5 * (1 - 1e-7)
    assert sizes.max() <= 60 * (1 + 1e-7)


class Counted(MemoryBlocks):
    """Notes each pass over the rows, in a list that all of a fit's sources share."""

    def map(self, kernel, *state):
        self.passes.append(kernel.__name__)
        return super().map(kernel, *state)

    def map_with_state(self, kernel, *state):
        self.passes.append("iteration")
        return super().map_with_state(kernel, *state)


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


def random_log_resp(rng, n_strata, n_rows):
    """Affinities of all kinds: similar, dispersed, tied, and as low as -1e10."""
    depth = 10 ** rng.uniform(-3, 10, size=(n_strata, 1))
    log_resp = -depth * rng.uniform(size=(n_strata, n_rows)) ** rng.integers(1, 6)
    tied = rng.uniform(size=log_resp.shape) < rng.choice([0, 0.5])
    return np.where(tied, np.round(log_resp), log_resp)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-6)])
def test_sizes_hold_in_2000_random_cases(dtype, tolerance):
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n_rows = int(rng.integers(2, 300))
        log_resp = random_log_resp(rng, 10, n_rows).astype(dtype)
        weights = rng.gamma(2.0, size=n_rows) if seed % 2 else np.ones(n_rows)
        sizes = rng.uniform(0.01, 1, size=10) * weights.sum()
        scales = search_scales(with_affinity(log_resp, weights), sizes)
        tau = np.exp(capped_log_memberships(log_resp, scales).astype(float))
        assert tau.max() <= 1
        np.testing.assert_allclose(tau @ weights, sizes, rtol=tolerance)


@pytest.mark.parametrize("n_rows", [200, 5000])
def test_blocks_find_what_sorting_finds(n_rows):
    rng = np.random.default_rng(n_rows)
    log_resp = -rng.gamma(0.5, 20.0, size=(6, n_rows))
    sizes = np.linspace(0.02, 0.95, 6) * n_rows
    tau = np.exp(capped_log_memberships(log_resp, search_scales(with_affinity(log_resp), sizes)))
    for row, values, size in zip(tau, log_resp, sizes, strict=True):
        np.testing.assert_allclose(row, capped_memberships(values, size), atol=1e-12)


@pytest.mark.parametrize("guess", [-1e10, -300.0, -0.01])
def test_a_search_from_a_bad_guess_finds_the_same_scales(guess):
    rng = np.random.default_rng(0)
    log_resp = -rng.gamma(0.5, 20.0, size=(2, 3000))
    source, sizes = with_affinity(log_resp), np.array([300.0, 2000.0])
    for cold, warm in zip(
        as_log_scales(search_scales(source, sizes)),
        as_log_scales(search_scales(source, sizes, np.full(2, guess))),
        strict=True,
    ):
        assert warm == pytest.approx(cold, abs=1e-12)


def test_thousands_of_equal_rows_share_equally():
    log_resp = np.full((1, 6000), -7.25)
    scales = search_scales(with_affinity(log_resp), np.array([1500.0]))
    np.testing.assert_allclose(np.exp(capped_log_memberships(log_resp, scales)), 0.25)


def test_a_total_is_shared_so_that_no_exchange_helps():
    # the last unit of size is worth 1 / c_j to stratum j: equal off the bounds, less at the lower
    rng = np.random.default_rng(1)
    log_resp = np.log(rng.dirichlet([0.1, 1.0, 1.5, 6.0], size=120).T)
    low, high, total = 20.0, 70.0, 160.0
    source = with_affinity(log_resp)
    sizes, _ = allocate_total_size(source, low, high, total, 4)
    log_worth = -as_log_scales(search_scales(source, sizes))
    at_low, at_high = np.isclose(sizes, low), np.isclose(sizes, high)
    inside = log_worth[~at_low & ~at_high]
    assert at_low.sum() == at_high.sum() == 1
    assert sizes.sum() == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(inside, inside[0], atol=1e-9)
    assert log_worth[at_low] <= inside[0] <= log_worth[at_high]


@pytest.mark.parametrize(("depth", "total"), [(1e-6, 100), (1e3, 60), (1e9, 250)])
def test_a_total_is_met_at_any_depth(depth, total):
    rng = np.random.default_rng(2)
    log_resp = -depth * rng.uniform(size=(5, 100))
    sizes, _ = allocate_total_size(with_affinity(log_resp), 5.0, 60.0, total, 5)
    assert sizes.sum() == pytest.approx(total)
    assert sizes.min() >= 5 - 1e-9
    assert sizes.max() <= 60 + 1e-9


@pytest.mark.parametrize("weight", [0.1, 1 / 3, 0.7])
def test_a_size_beyond_the_sum_of_the_weights_takes_all_rows(weight):
    # as much beyond it as rounding makes it
    log_resp = -np.random.default_rng(3).gamma(0.5, 20.0, size=(2, 50))
    weights = np.full(50, weight)
    sizes = np.array([0.5, 1 + 1e-15]) * weights.sum()
    scales = search_scales(with_affinity(log_resp, weights), sizes)
    tau = np.exp(capped_log_memberships(log_resp, scales))
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
    assert jeffreys_divergences(model, 0, [2, 1])[1] == pytest.approx(by_sum, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_stratum_does_not_diverge_from_itself(kind):
    assert jeffreys_divergences(model_of(kind), 2, [2])[0] == pytest.approx(0, abs=1e-12)


def test_nearly_equal_strata_are_one_group():
    means = [[0.0], [5.0], [1e-4], [5.0], [0.2]]
    gaussians = make_gaussians(np.array(means), np.ones((5, 1)), "diag")
    groups = coincident_groups(StrataModel(np.zeros(1), gaussians, "diag"))
    np.testing.assert_array_equal(groups, [0, 1, 0, 1, 2])


def test_a_group_is_a_stratum_with_the_sum_of_the_densities():
    gaussians = make_gaussians(np.array([[0.0], [5.0], [0.0]]), np.ones((3, 1)), "diag")
    model = StrataModel(np.zeros(1), gaussians, "diag")
    rows = np.array([[0.0], [1.0], [4.0]])
    own = np.exp(model.log_densities(rows))
    shared = np.exp(MergedDensities(model, coincident_groups(model)).log_densities(rows))
    np.testing.assert_allclose(shared, [own[0] + own[2], own[1]])


def test_scales_and_sizes_of_groups_and_back():
    # twice the dual variable of one stratum, so half its scale
    groups = MergedDensities(None, np.array([0, 1, 0]))
    np.testing.assert_allclose(groups.merge_sizes(np.array([10.0, 7.0, 20.0])), [15, 7])
    joined = groups.merge_scales(np.log([6.0, 3.0, 6.0]))
    np.testing.assert_allclose(np.exp(joined), [3, 3])
    np.testing.assert_allclose(np.exp(groups.expand_scales(joined)), [6, 3, 6])
    memberships = groups.expand_memberships(np.array([[0.5], [1.0]]))
    np.testing.assert_array_equal(memberships, [[0.5, 1, 0.5]])


def test_strata_of_their_own_keep_every_bit():
    groups, values = MergedDensities(None, np.arange(3)), np.array([0.1, 0.2, 0.3])
    for method in (groups.merge_sizes, groups.merge_scales, groups.expand_scales):
        assert method(values) is values
    density = np.random.default_rng(0).normal(size=(3, 4))
    assert groups.merge_logs(density) is density


def clusters(seed, n_rows, n_columns=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, n_columns)) + 2 * rng.integers(3, size=(n_rows, 1))


def problem_of(X, n_strata, seed=0, weights=None):
    rng = np.random.default_rng(seed)
    means, variances = (
        rng.normal(1, 2, size=(n_strata, X.shape[1])),
        np.ones((n_strata, X.shape[1])),
    )
    model = StrataModel(np.zeros(X.shape[1]), make_gaussians(means, variances, "diag"), "diag")
    source = MemoryBlocks(X, block_rows=500).begin(weights)
    return DualProblem(source, MergedDensities(model, coincident_groups(model)))


def evaluate_and_mark(problem, log_scales, radius):
    """Measure all rows, as if few were expected nearby."""
    problem._keeps_active = True
    return problem.evaluate(log_scales, radius)


@given(st.integers(0, 100_000))
def test_the_active_set_gives_the_sizes_of_all_rows(seed):
    rng = np.random.default_rng(seed)
    X, n_strata = clusters(seed, 1200), int(rng.integers(1, 6))
    weights = rng.gamma(2.0, size=len(X))
    problem, other = (problem_of(X, n_strata, seed, weights) for _ in range(2))
    log_scales, radius = rng.normal(1, 2, n_strata), 10 ** rng.uniform(-4, -1, n_strata)
    first = evaluate_and_mark(problem, log_scales, radius)
    np.testing.assert_allclose(first[0], other.evaluate(log_scales, radius)[0], rtol=1e-12)
    moved = log_scales + (ACTIVE_RADIUS_FACTOR - 1) * radius * rng.uniform(-1, 1, n_strata)
    both = zip(problem.evaluate(moved, radius), other.evaluate(moved, radius), strict=True)
    for by_few, by_all in both:
        np.testing.assert_allclose(by_few, by_all, rtol=1e-9, atol=1e-9)


def test_scales_outside_the_active_radius_are_evaluated_on_all_rows():
    X, log_scales, radius = clusters(0, 1200), np.zeros(3), np.full(3, 1e-3)
    problem, other = (problem_of(X, 3) for _ in range(2))
    evaluate_and_mark(problem, log_scales, radius)
    problem._keeps_active = False
    far = log_scales + 1.0
    for asked, expected in zip(
        problem.evaluate(far, radius), other.evaluate(far, radius), strict=True
    ):
        np.testing.assert_array_equal(asked, expected)
    assert problem._active is None


def test_nearest_breakpoints_are_those_of_all_rows():
    X, log_scales, radius = clusters(1, 1200), np.full(3, 5.0), np.full(3, 5e-2)
    problem, other = (problem_of(X, 3) for _ in range(2))
    evaluate_and_mark(problem, log_scales, radius)
    for residual in (np.array([0.3, -0.2, 0.0]), np.array([4.5, -3.1, 0.9])):
        found, expected = (
            each.nearest_breakpoints(log_scales, residual) for each in (problem, other)
        )
        assert len(found.rows) < len(expected.rows)  # each block of all rows names its own
        assert _exact_size_adjustments(found, residual) == _exact_size_adjustments(
            expected, residual
        )
    # more than the active set could give: all rows are evaluated
    much = np.full(3, 300.0)
    found, expected = (each.nearest_breakpoints(log_scales, much) for each in (problem, other))
    np.testing.assert_array_equal(found.rows, expected.rows)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_fit_is_the_same_with_few_rows_as_with_all(monkeypatch, dtype, weighted):
    X = clusters(2, 5000).astype(dtype)
    weights = np.random.default_rng(0).gamma(2.0, size=len(X)) if weighted else None
    passes = {}
    for least in (np.inf, 0):
        monkeypatch.setattr(_hiss_sizes, "MIN_ENTRIES", least)
        asked = []
        for name in ("_evaluate", "_evaluate_and_mark", "_nearest_breakpoints"):
            kernel = getattr(_hiss_sizes, name)
            monkeypatch.setattr(_hiss_sizes, name, counting(kernel, asked))
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


def test_an_active_set_is_kept_if_it_is_small(monkeypatch):
    problem, radius = problem_of(clusters(3, 1000), 4), np.full(4, 0.1)
    whole, shared = (problem.evaluate(np.full(4, scale), radius) for scale in (8.0, -1.0))
    problem.plan_active_set(whole, radius, radius / 100)
    assert MIN_ENTRIES > 1000 * 4
    assert not problem._keeps_active
    monkeypatch.setattr(_hiss_sizes, "MIN_ENTRIES", 1000)
    problem.plan_active_set(whole, radius, radius / 100)
    assert problem._keeps_active
    problem.plan_active_set(whole, radius, 100 * radius)
    assert not problem._keeps_active
    # here each row has a fractional membership, and so a breakpoint at distance zero
    problem.plan_active_set(shared, radius, radius / 100)
    assert not problem._keeps_active
