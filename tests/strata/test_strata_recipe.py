import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from ensemblage.fusion import AnchoredGate, Gate, Mean
from ensemblage.strata import ScaledLogisticRegression, tuned_svm
from ensemblage.strata._strata_recipe import make_recipe


def test_the_default_is_one_kind_of_member_behind_the_fusion_itself():
    gate = Gate()
    recipe = make_recipe(None, None, gate)
    assert [type(kind.blueprint.estimator) for kind in recipe.kinds] == [ScaledLogisticRegression]
    assert recipe.anchors == ()
    assert recipe.fusion is gate


def test_each_kind_is_asked_for_the_best_that_it_has():
    recipe = make_recipe([LogisticRegression(), SVC()], ["svm", LogisticRegression()], Mean())
    assert [kind.response for kind in recipe.kinds] == ["predict_proba", "decision_function"]
    assert [kind.response for kind in recipe.anchors] == ["decision_function", "predict_proba"]


@pytest.mark.parametrize(
    ("estimator", "anchor", "n_anchors"), [(None, "svm", 1), ([SVC(), SVC()], None, 0)]
)
def test_a_gate_beside_others_is_anchored(estimator, anchor, n_anchors):
    fusion = make_recipe(estimator, anchor, Gate(3.0)).fusion
    assert isinstance(fusion, AnchoredGate)
    assert (fusion.gate.temperature, fusion.n_anchors) == (3.0, n_anchors)


def test_weights_are_asked_of_those_that_get_them():
    knn, linear = KNeighborsClassifier(), LogisticRegression()
    make_recipe(linear, knn, Mean(), soft=True)
    with pytest.raises(ValueError, match="membership='soft' needs members that take"):
        make_recipe(knn, None, Mean(), soft=True)
    with pytest.raises(ValueError, match="sample_weight needs members that take"):
        make_recipe(linear, knn, Mean(), weighted=True)


def test_the_tuned_machine_tries_nine_settings():
    grid = tuned_svm().param_grid
    assert [len(values) for values in grid.values()] == [3, 3]
