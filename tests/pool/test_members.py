import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemblage.pool import POOLS, _members, resolve_pool
from ensemblage.pool._members import RECIPES


@pytest.mark.parametrize("name", POOLS)
def test_a_pool_by_name(name):
    assert [each.name for each in resolve_pool(name)] == list(POOLS[name])


def test_each_place_of_diversity_has_a_member():
    places = {each.name: each.place for each in resolve_pool("full")}
    assert {places["strata"], places["subspaces"], places["network"]} == {
        "rows", "columns", "decisions",
    }  # fmt: skip


def test_names_and_classifiers_side_by_side():
    own = LogisticRegression()
    recipes = resolve_pool(["forest", ("mine", own), own, own])
    names = ["forest", "mine", "LogisticRegression-1", "LogisticRegression-2"]
    assert [each.name for each in recipes] == names
    assert recipes[1].candidates == (own,)
    assert recipes[1].place == "given"


def test_boosting_without_lightgbm(monkeypatch):
    monkeypatch.setattr(_members, "has_lightgbm", lambda: False)
    assert RECIPES["boosting"]().engine == "sklearn"


@pytest.mark.parametrize(
    ("pool", "error", "said"),
    [
        ("leen", ValueError, r"pool='leen' is not known. Did you mean 'lean'\?"),
        ([], ValueError, "pool is an empty list"),
        (["forrest"], ValueError, r"'forrest', which is no member. Did you mean 'forest'\?"),
        ([StandardScaler()], TypeError, "which is no classifier"),
    ],
)
def test_what_cannot_be_a_pool(pool, error, said):
    with pytest.raises(error, match=said):
        resolve_pool(pool)


def test_weights_need_members_that_take_them():
    takes = make_pipeline(StandardScaler(), LogisticRegression())
    assert len(resolve_pool([takes, "svm"], weighted=True)) == 2
    with pytest.raises(ValueError, match="'KNeighborsClassifier' takes none"):
        resolve_pool([KNeighborsClassifier()], weighted=True)


def test_catboost_is_asked_for_only_by_name():
    assert all("catboost" not in members for members in POOLS.values())
    try:
        import catboost  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match="The member 'catboost' needs catboost"):
            resolve_pool(["catboost"])
    else:
        assert resolve_pool(["catboost"])[0].place == "anchor"
