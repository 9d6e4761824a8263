import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from ensemblage.pool._budget import Clock
from ensemblage.pool._fitted_pool import PoolPlan, describe_pool, learn_pool
from ensemblage.pool._members import resolve_pool
from ensemblage.pool._pooling import cross_fitted, make_fusion
from pool.test_held_out import Fails


def plan(pool, clock=None):
    recipes = resolve_pool(pool)
    fusion = make_fusion("logpool", grouped=False)
    return PoolPlan(recipes, range(len(recipes)), fusion, clock, None)


def test_members_that_count_are_kept_and_others_have_a_sentence(rows):
    given = plan([GaussianNB(), Fails(), "logistic"])
    learned = learn_pool(given, rows)
    pool = describe_pool(learned, rows, cross_fitted(given.fusion, learned.verdict, rows))
    assert pool.names == ["GaussianNB", "logistic"]
    assert pool.responses == ["predict_proba"] * 2
    assert len(pool.fusion.weights_) == len(pool.estimators) == 2
    assert pool.leaderboard.left_out[0].startswith("Fails is left out: it could not be fitted")
    assert pool.held_out.names == ("GaussianNB", "logistic")
    assert pool.leaderboard[0].log_loss < np.log(3)


def test_nobody_is_left(rows):
    with pytest.raises(ValueError, match=r"No member of the pool could be fitted. Fails: it could"):
        learn_pool(plan([Fails()]), rows)


def test_with_a_clock_members_are_tried_in_time(rows):
    learned = learn_pool(plan([GaussianNB(), "logistic"], Clock(30.0)), rows)
    assert len(learned.members) == 2
