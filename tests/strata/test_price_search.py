"""The search for prices: rows taken aside stand for all, and the prices are those of all rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.blocks import MemoryBlocks
from ensemblage.kernels import make_gaussians
from ensemblage.strata import HISS, _price_search
from ensemblage.strata._coinciding import SharedModel, find_groups
from ensemblage.strata._gaussian_start import StrataModel
from ensemblage.strata._price_search import ASIDE, LEAST_ENTRIES, Market, _last_changes


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
