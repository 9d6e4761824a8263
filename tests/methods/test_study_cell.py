"""One cell of a study, computed here."""

from sklearn.model_selection import GridSearchCV

from ensemblage.methods import make_model
from ensemblage.methods._study_cell import fit_seed, set_method_params
from ensemblage.runs import Cell


def test_a_tuned_parameter_that_is_given_is_fixed():
    model = make_model("svm", ["number"], seed=0)
    set_method_params(model, {"C": 5.0, "kernel": "rbf"})
    assert isinstance(model[-1], GridSearchCV)
    assert model[-1].estimator.C == 5.0
    assert list(model[-1].param_grid) == ["gamma"]


def test_a_seed_knows_the_fit_but_not_what_things_are_called():
    params = {"dataset": "iris", "method": "svm", "params": {}, "repeat": 0, "fold": 1, "seed": 0}
    cell = Cell("compare", params | {"folds": 5}, 2, "abc")
    assert fit_seed(cell) == fit_seed(Cell("other", {**cell.params, "dataset": "i"}, 2, "abc"))
    assert fit_seed(cell) == fit_seed(Cell("compare", {**cell.params, "quick": True}, 2, "abc"))
    assert fit_seed(cell) != fit_seed(Cell("compare", {**cell.params, "fold": 2}, 2, "abc"))
    assert fit_seed(cell) != fit_seed(Cell("compare", cell.params, 2, "abd"))
