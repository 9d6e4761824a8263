import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemblage.pool import (
    CLASSIFIER_POOLS,
    EnsemblageRegressor,
    _boosting,
    _members,
    resolve_members,
)
from ensemblage.pool._members import CLASSIFIERS


@pytest.mark.skipif(not _boosting.has_catboost(), reason="CatBoost is not installed")
@pytest.mark.parametrize("name", CLASSIFIER_POOLS)
def test_a_pool_by_name(name):
    assert [each.name for each in resolve_members(name)] == list(CLASSIFIER_POOLS[name])


def test_each_group_has_a_member():
    groups = {each.name: each.group for each in resolve_members("full")}
    assert {groups["strata"], groups["subspaces"], groups["network"]} == {
        "rows", "columns", "decisions",
    }  # fmt: skip


def test_names_and_classifiers_side_by_side():
    own = LogisticRegression()
    recipes = resolve_members(["forest", ("mine", own), own, own])
    names = ["forest", "mine", "LogisticRegression-1", "LogisticRegression-2"]
    assert [each.name for each in recipes] == names
    assert recipes[1].candidates == (own,)
    assert recipes[1].group == "user"


def test_boosting_without_lightgbm(monkeypatch):
    monkeypatch.setattr(_boosting, "has_lightgbm", lambda: False)
    assert CLASSIFIERS["boosting"]().library == "sklearn"


@pytest.mark.parametrize(
    ("pool", "error", "message"),
    [
        ("leen", ValueError, r"members='leen' is unknown. Did you mean 'lean'\?"),
        ([], ValueError, "members is an empty list"),
        (["forrest"], ValueError, r"'forrest', which is unknown. Did you mean 'forest'\?"),
        ([StandardScaler()], TypeError, "which is no classifier"),
    ],
)
def test_invalid_members(pool, error, message):
    with pytest.raises(error, match=message):
        resolve_members(pool)


def test_weights_need_members_that_support_them():
    takes = make_pipeline(StandardScaler(), LogisticRegression())
    assert len(resolve_members([takes, "svm"], weighted=True)) == 2
    with pytest.raises(ValueError, match="'KNeighborsClassifier' does not support it"):
        resolve_members([KNeighborsClassifier()], weighted=True)


@pytest.fixture
def without_catboost(monkeypatch):
    monkeypatch.setattr(_members, "has_catboost", lambda: False)
    monkeypatch.setitem(sys.modules, "catboost", None)


@pytest.mark.usefixtures("without_catboost")
def test_pools_without_catboost():
    names = [each.name for each in resolve_members("lean")]
    assert names == [each for each in CLASSIFIER_POOLS["lean"] if each != "catboost"]
    with pytest.raises(ImportError, match=r"The member 'catboost' needs catboost.*\[boost\]"):
        resolve_members(["catboost"])


@pytest.mark.usefixtures("without_catboost")
def test_the_leaderboard_says_what_catboost_would_gain():
    X = np.random.default_rng(0).normal(size=(60, 2))
    named = EnsemblageRegressor("standard", cv=2, random_state=0).fit(X, X[:, 0])
    assert (
        "CatBoost, which comes with the extra `boost`, is not installed" in named.leaderboard_.note
    )
    listed = EnsemblageRegressor(["ridge"], cv=2, random_state=0).fit(X, X[:, 0])
    assert listed.leaderboard_.note == ""
