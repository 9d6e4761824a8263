import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from ensemblage.fusion import LogPool, Mean, Stacking
from ensemblage.pool._held_out import Candidate
from ensemblage.pool._pool_targets import log_loss
from ensemblage.pool._pooling import (
    Verdict,
    cross_fitted,
    fit_counting,
    fuse,
    make_fusion,
    standings,
)
from ensemblage.pool._recipe import HeldOut, Recipe


def candidate(name, outputs, estimator=None):
    return Candidate(Recipe(name, "given", (estimator or GaussianNB(),)), 0, HeldOut(outputs, 0, 1))


@pytest.fixture
def candidates(rows):
    """One that knows the class in nine of ten rows, and one that says the same of all."""
    rng = np.random.default_rng(0)
    said = np.where(rng.uniform(size=150) < 0.9, rows.y, rng.integers(0, 3, 150))
    knows = 0.7 * np.eye(3)[said] + 0.1
    return [candidate("knows", knows), candidate("guesses", np.full((150, 3), 1 / 3))]


def test_the_pool_has_biases_unless_rows_belong_together():
    assert make_fusion("logpool", grouped=False).bias_ridge == 10.0
    assert make_fusion("logpool", grouped=True).bias_ridge is None
    assert isinstance(make_fusion("stacking", grouped=False), Stacking)
    assert isinstance(make_fusion(Mean(), grouped=False), Mean)


def test_the_fusion_learns_who_knows(rows, candidates):
    verdict = fuse(candidates, rows, make_fusion("logpool", grouped=False))
    assert verdict.outputs.shape == (2, 150, 3)
    assert verdict.fusion.importance(2)[0] > 0.99
    assert [each.recipe.name for each in verdict.without([0])] == ["guesses"]


def test_only_those_who_count_are_fitted_to_all_rows(rows, candidates):
    fusion = LogPool().fit(np.stack([each.held.outputs for each in candidates]), rows.y)
    fusion.weights_ = np.array([0.0, 1.0])
    verdict = Verdict(candidates, fusion, np.zeros((2, 150, 3)), np.arange(150))
    members, failed = fit_counting(verdict, rows, None)
    assert [each.name for each in members] == ["guesses"]
    assert not failed
    assert members[0].model.class_count_.sum() == 150
    verdict = verdict._replace(fusion=Mean())
    assert verdict.counting.tolist() == [0, 1]


def test_the_pool_is_judged_by_fusions_that_have_not_seen_the_row(rows, candidates):
    fusion = make_fusion("logpool", grouped=False)
    verdict = fuse(candidates, rows, fusion)
    pooled = cross_fitted(fusion, verdict, rows)
    train, test = rows.folds[0]
    expected = fusion.fit(verdict.outputs[:, train], rows.y[train]).combine(
        verdict.outputs[:, test]
    )
    np.testing.assert_array_equal(pooled[test], expected)


def test_one_fold_is_dealt_out_for_the_fusion(rows, candidates):
    alone = rows._replace(folds=rows.folds[:1])
    fusion = make_fusion("logpool", grouped=False)
    verdict = fuse(candidates, alone, fusion)
    assert verdict.known.tolist() == rows.folds[0].test.tolist()
    pooled = cross_fitted(fusion, verdict, alone)
    assert pooled.shape == (len(verdict.known), 3)
    assert np.isfinite(pooled).all()


def test_lines_of_the_leaderboard(rows, candidates):
    verdict = fuse(candidates, rows, make_fusion("logpool", grouped=False))
    members, _ = fit_counting(verdict, rows, None)
    pooled = np.full((150, 3), 1 / 3)
    pool, best, worst = standings(verdict, members, rows, pooled)
    assert (pool.member, best.member, worst.member) == ("pool", "knows", "guesses")
    assert pool.log_loss == pytest.approx(np.log(3))
    assert best.accuracy == (candidates[0].held.outputs.argmax(axis=1) == rows.y).mean()
    assert worst.log_loss == pytest.approx(log_loss(np.full((150, 3), 1 / 3), rows.y), abs=1e-3)
    assert best.weight + worst.weight == pytest.approx(1)
    assert best.fit_seconds >= 1
    assert best.rows == 150
