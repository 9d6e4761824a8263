import pytest
from sklearn.svm import SVC

from ensemblage.fusion import (
    AffinityGate,
    AnchoredGate,
    LocalCompetence,
    Mean,
    Vote,
    resolve_fusion,
)

ALL = frozenset({"affinity", "X", "sources"})


@pytest.mark.parametrize(
    "name", ["gate", "local", "log_linear", "mean", "product", "stacking", "vote"]
)
def test_a_name_becomes_a_fusion(name):
    assert hasattr(resolve_fusion(name, offered=ALL), "combine")


def test_parameters_reach_those_that_have_them():
    final = SVC()
    assert resolve_fusion("stacking", offered=ALL, final_estimator=final).final_estimator is final
    assert resolve_fusion("product", offered=ALL, member_weights=[1, 2]).weights == [1, 2]
    assert isinstance(resolve_fusion("mean", offered=ALL, final_estimator=final), Mean)


def test_a_fusion_is_returned():
    fusion = Vote()
    assert resolve_fusion(fusion, offered=frozenset()) is fusion


@pytest.mark.parametrize(
    ("fusion", "what"),
    [
        (AffinityGate(), "affinity to strata"),
        ("local", "the rows as numeric features"),
        (AnchoredGate(pool=LocalCompetence()), "as numeric features and the rows' affinity"),
    ],
)
def test_needs_that_cannot_be_met_are_refused(fusion, what):
    with pytest.raises(ValueError, match=f"needs .*{what}"):
        resolve_fusion(fusion, offered=frozenset({"sources"}))


def test_an_unknown_name():
    with pytest.raises(ValueError, match="fusion='median' is unknown; use one of 'gate', "):
        resolve_fusion("median", offered=ALL)
