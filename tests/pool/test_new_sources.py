import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from ensemblage.messages import DamagedStateError
from ensemblage.pool._fitted_pool import PoolPlan, learn_pool
from ensemblage.pool._members import resolve_pool
from ensemblage.pool._new_sources import LeftOutScores, leave_sources_out, source_groups
from ensemblage.pool._pooling import make_fusion


def test_sources_are_left_out_in_groups_of_like_size():
    codes = np.repeat(np.arange(7), [10, 10, 10, 4, 3, 2, 1])
    folds = source_groups(codes)
    assert len(folds) == 5
    for train, test in folds:
        assert not {*codes[train]} & {*codes[test]}
    assert sorted(len(fold.test) for fold in folds) == [5, 5, 10, 10, 10]
    assert source_groups(np.zeros(4, dtype=int)) == []


def test_rows_of_unknown_source_are_learned_from_but_not_judged():
    folds = source_groups(np.array([0, 0, 1, -1]))
    assert [fold.test.tolist() for fold in folds] == [[0, 1], [2]]
    assert [fold.train.tolist() for fold in folds] == [[2, 3], [0, 1, 3]]


def test_scores_are_of_pools_that_have_not_met_the_source(rows):
    plan = PoolPlan(
        resolve_pool([GaussianNB()]), [0], make_fusion("logpool", grouped=False), None, 1
    )
    learned = learn_pool(plan, rows)
    codes = np.arange(150) % 2
    codes[0] = -1
    left = leave_sources_out(learned, rows, codes, None)
    assert left.sources.tolist() == codes[1:].tolist()
    own = np.flatnonzero(codes == 1)
    others = np.flatnonzero(codes != 1)
    alone = GaussianNB().fit(rows.X[others], rows.y[others]).predict_proba(rows.X[own])
    fused = learned.fusion.combine(alone[None])
    np.testing.assert_allclose(left.scores[codes[1:] == 1], 1 - fused[np.arange(75), rows.y[own]])
    assert leave_sources_out(learned, rows, np.zeros(150, dtype=int), None) is None


def test_forged_scores_are_refused():
    LeftOutScores(np.array([0.5]), np.array([0]), np.array([1.0])).__check_state__()
    with pytest.raises(DamagedStateError):
        LeftOutScores(np.array([7.0]), np.array([0]), np.array([1.0])).__check_state__()
