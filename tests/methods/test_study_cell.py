"""One cell of a study, computed here."""

from sklearn.model_selection import GridSearchCV

from ensemblage.methods import make_model
from ensemblage.methods._study_cell import set_method_params


def test_a_tuned_parameter_that_is_given_is_fixed():
    model = make_model("svm", ["number"], seed=0)
    set_method_params(model, {"C": 5.0, "kernel": "rbf"})
    assert isinstance(model[-1], GridSearchCV)
    assert model[-1].estimator.C == 5.0
    assert list(model[-1].param_grid) == ["gamma"]
