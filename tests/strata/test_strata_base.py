import inspect

from ensemblage.strata import StrataEnsembleClassifier
from ensemblage.strata._strata_base import StrataEnsembleMixin


def test_the_shell_is_shared_and_its_parameters_are_all_constrained():
    assert issubclass(StrataEnsembleClassifier, StrataEnsembleMixin)
    named = set(inspect.signature(StrataEnsembleMixin.__init__).parameters) - {"self"}
    assert named == set(StrataEnsembleMixin._parameter_constraints)
