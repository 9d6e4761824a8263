from dataclasses import replace

import numpy as np
import pytest

from ensemblage.fusion import LogPool
from ensemblage.messages import DamagedStateError
from ensemblage.parallel import deal_folds
from ensemblage.pool import EnsemblageClassifier
from ensemblage.pool._known_sources import ask_told, deal_by_source, shift, tell_sources
from ensemblage.pool._pool_rows import PoolRows, shared_folds
from ensemblage.pool._pool_targets import PoolClasses
from pool.sourced import SITES, X, Y


@pytest.fixture(scope="module")
def model():
    return EnsemblageClassifier(["logistic"], cv=3, random_state=0).fit(X, Y, sources=SITES)


def test_members_are_told_the_source(model):
    known = model.known_sources_
    assert known.names.tolist() == ["a", "b", "c"]
    told = tell_sources(X[:2], np.array([2, 0]), 3)
    assert told[:, 3:].tolist() == [[0, 0, 1], [1, 0, 0]]
    assert {each.place for each in known.leaderboard[1:]} == {"sources"}
    assert isinstance(known.pool.fusion, LogPool)
    # with c the rule is reversed: who does not know it cannot be good
    assert known.leaderboard[0].log_loss < model.leaderboard_[0].log_loss - 0.05
    assert "answered by another pool" in str(model.leaderboard_)


def test_offsets_shift_log_probabilities(model):
    proba = np.full((2, 2), 0.5)
    offsets = np.array([[0.0, 0.0], [-np.log(3) / 2, np.log(3) / 2]])
    np.testing.assert_allclose(shift(proba, np.array([0, 1]), offsets), [[0.5, 0.5], [0.25, 0.75]])
    known = model.known_sources_
    codes = np.unique(SITES, return_inverse=True)[1]
    fused = known.pool.fusion.combine(ask_told(known, X, codes))
    expected = shift(fused, codes, known.offsets)
    np.testing.assert_array_equal(model.predict_proba(X, sources=SITES), expected)


def test_folds_keep_shares_of_sources_and_classes():
    y, codes = np.tile([0, 0, 1], 40), np.repeat([0, 1, 2, -1], 30)
    rows = PoolRows(np.zeros((120, 1)), y, PoolClasses(np.arange(2)), None, shared_folds(y, 5, 0))
    for _, test in deal_by_source(rows, codes, 5, 0).folds:
        pairs = y[test] * 10 + codes[test]
        assert np.unique(pairs, return_counts=True)[1].tolist() == [4, 4, 4, 4, 2, 2, 2, 2]
    given = deal_folds(y, 4, np.random.default_rng(1))
    assert deal_by_source(rows._replace(folds=given), codes, given, 0).folds is given
    assert deal_by_source(rows._replace(grouped=True), codes, 5, 0).folds is rows.folds


def test_an_answer_is_taken_apart(model):
    decision = model.explain_row(X[0], SITES[0])
    assert decision.source == SITES[0]
    assert "by the pool that knows" in decision.as_table().caption
    np.testing.assert_allclose(
        decision.probabilities, model.predict_proba(X[:1], sources=SITES[:1])[0]
    )
    first, second = (
        decision.classes.index(each) for each in (decision.prediction, decision.against)
    )
    odds = np.log(decision.probabilities[first] / decision.probabilities[second])
    assert sum(each.push for each in decision.voices) + decision.bias == pytest.approx(odds)
    assert model.explain_row(X[0]).source is None


def test_forged_offsets_are_refused(model):
    known = model.known_sources_
    known.__check_state__()
    for name, value in (
        ("offsets", np.zeros((4, 2))),
        ("ridge", -1.0),
        ("codes", np.full(240, 3)),
        ("names", known.names[:2]),
    ):
        with pytest.raises(DamagedStateError):
            replace(known, **{name: value}).__check_state__()
