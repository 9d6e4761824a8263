"""What is wrong with a study for a dataset."""

import pytest

from ensemblage.datasets import load_dataset
from ensemblage.methods._splits import Splits
from ensemblage.methods._study import MethodPoint
from ensemblage.methods._study_checks import check_method, check_splits
from ensemblage.runs import ExperimentFileError


def test_what_does_not_suit_a_dataset_is_named():
    iris = load_dataset("iris")
    check_splits(iris, Splits(folds=50))
    with pytest.raises(ExperimentFileError, match="folds is 51, but no class of 'iris' has more"):
        check_splits(iris, Splits(folds=51))
    check_method(MethodPoint("svm", "s", {"C": 2.0}), iris)
    with pytest.raises(ExperimentFileError, match=r"params\.c = 2 is not a parameter of SVC\. Did"):
        check_method(MethodPoint("svm", "s", {"c": 2}), iris)
