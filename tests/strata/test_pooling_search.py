import numpy as np
import pytest

from ensemblage.strata import _pooling_search
from ensemblage.strata._pooled_fit import Penalties, Pooled
from ensemblage.strata._pooling_search import INF, Grid, SourcedRows, choose_penalties, search_folds


def made(spread, n_rows=400, n_sources=4):
    """Sources whose rules differ by as much as ``spread``."""
    rng = np.random.default_rng(1)
    X, sources = rng.normal(size=(n_rows, 3)), np.arange(n_rows) % n_sources
    own = 1.0 + spread * rng.normal(size=(n_sources, 3))
    labels = ((X * own[sources]).sum(axis=1) + rng.logistic(size=n_rows) > 0).astype(np.int64)
    rows = np.column_stack([X, np.ones(n_rows)])
    return SourcedRows(rows, labels, sources, np.ones(n_rows))


FULL = Grid()


def chosen(data, grid=FULL):
    n_sources = int(data.sources.max()) + 1
    start = Pooled.nothing(n_sources, 1, data.rows.shape[1])
    return choose_penalties(data, start, search_folds(data, 5, np.random.default_rng(0)), grid)


def test_the_more_sources_differ_the_smaller_the_penalty_on_what_is_their_own():
    alike, apart = chosen(made(0.0)), chosen(made(2.0))
    assert alike.own >= 10
    assert apart.own <= 3


def test_given_penalties_are_kept():
    assert chosen(made(1.0), Grid(shared=(7.0,))).shared == 7.0
    assert chosen(made(1.0), Grid(own=(INF,))).own == INF


def test_one_source_has_no_deviations():
    assert chosen(made(1.0, n_sources=1)).own == INF


def test_many_rows_are_drawn_by_source_and_class(monkeypatch):
    monkeypatch.setattr(_pooling_search, "SEARCH_ROWS", 100)
    data = made(1.0)
    folds = search_folds(data, 5, np.random.default_rng(0))
    some = np.concatenate([fold.test for fold in folds])
    assert len(some) == pytest.approx(100, abs=4)
    np.testing.assert_allclose(np.bincount(data.sources[some]), 25, atol=2)


def test_rows_are_sorted_and_sources_without_rows_stay():
    data = made(1.0, n_rows=8)
    kept = data.by_source(5, np.array([7, 1, 2, 5]))
    assert kept.starts.tolist() == [0, 0, 2, 3, 4, 4]
    np.testing.assert_array_equal(kept.rows, data.rows[[1, 5, 2, 7]])


def test_penalties_are_a_pair():
    assert Penalties(1.0, INF) == (1.0, float("inf"))
