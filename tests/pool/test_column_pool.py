"""The pool with the source as a column, a member of the source-aware pool."""

import numpy as np
import pytest

from ensemblage.persistence import load, save
from ensemblage.pool import EnsemblageClassifier, EnsemblageRegressor
from ensemblage.pool._source_members import COLUMN_POOL, SourceIndex

RNG = np.random.default_rng(0)
X, SITES = RNG.normal(size=(240, 3)), np.arange(240) % 4
# a smooth effect that a linear model lacks
Y = X[:, 0] * X[:, 1] + SITES - 1.5 + 0.1 * RNG.normal(size=240)


def fit(sources=SITES, **options):
    return EnsemblageRegressor(["svr"], random_state=0, **options).fit(X, Y, sources=sources)


@pytest.fixture(scope="module")
def model():
    return fit()


def test_it_has_a_weight_where_its_members_use_the_source_well(model):
    pool = model.source_pool_.pool
    weights = dict(zip(pool.names, pool.fusion.weights_, strict=True))
    assert weights[COLUMN_POOL] > weights.get("source-blind", 0.0)
    members = model.source_pool_.column_pool.pool
    assert members.names == ["svr"]
    assert members.estimators[0].n_features_in_ == 3 + 4


def test_its_prediction_is_of_its_member(model):
    found = model.source_pool_
    outputs = found.column_pool.predict(X[:5], SITES[:5], found.index, model._target())
    rows = np.column_stack([X[:5], np.eye(4)[SITES[:5]]])
    member = found.column_pool.pool.estimators[0].predict(rows)
    np.testing.assert_allclose(outputs[:, 0], member)
    decision = model.explain_row(X[0], SITES[0])
    assert COLUMN_POOL in {each.member for each in decision.members}


def test_the_target_is_described_by_all_rows_though_some_have_no_source():
    some = fit(np.where(Y > 0, None, SITES))
    assert some.target_mean_ == pytest.approx(Y.mean())
    assert np.isfinite(some.predict(X)).all()


def test_it_is_saved_and_loaded(model, tmp_path):
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops").model
    expected = model.predict(X[:9], sources=SITES[:9])
    np.testing.assert_array_equal(again.predict(X[:9], sources=SITES[:9]), expected)


def test_it_is_not_fitted_with_many_sources_or_a_budget():
    many = EnsemblageClassifier(["logistic"], random_state=0)
    many.fit(X, Y > 0, sources=np.arange(240) % 101)
    assert many.source_pool_.column_pool is None
    assert COLUMN_POOL not in {row.member for row in many.source_pool_.leaderboard}
    assert fit(time_budget=2.0).source_pool_.column_pool is None


def test_columns_of_nested_sources():
    names = np.array([["a", "x"], ["a", "y"], ["b", "x"]])
    index = SourceIndex.of(names)
    # three pairs, then two outer sources; the last row's inner source is unknown
    assert index.indicators(np.array([1, 2, 3])).tolist() == [
        [0, 1, 0, 1, 0],
        [0, 0, 1, 0, 1],
        [0, 0, 0, 1, 0],
    ]
