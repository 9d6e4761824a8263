from ensemblage.methods import METHODS
from ensemblage.methods._class_methods import LOGISTIC_GRID


def test_the_registry_of_classes_is_by_name():
    assert all(name == each.name for name, each in METHODS.items())
    assert METHODS["logistic"].factory(0, None).param_grid == LOGISTIC_GRID
    assert METHODS["auto"].judges_itself
