"""Which measure suits the rows, and how values are turned."""

import pytest
from msgspec.structs import replace

from ensemblage.studies._measures import check_measure, fitting_measure, gains, is_uneven
from studies.made_scores import made_scores


@pytest.mark.parametrize(
    ("classes", "uneven"),
    [
        ({"a": 75, "b": 25}, False),
        ({"a": 76, "b": 24}, True),
        ({"a": 50, "b": 25, "c": 25}, False),
        ({"a": 51, "b": 25, "c": 24}, True),
    ],
)
def test_the_threshold_is_that_of_the_guide(classes, uneven):
    assert is_uneven(classes) is uneven


def test_uneven_classes_are_judged_by_probabilities_where_all_methods_give_them():
    even, uneven = {"a": 5, "b": 5}, {"a": 9, "b": 1}
    silent = made_scores(a=(0.5, 0.6), b=(0.5, 0.7))
    speaking = [replace(each, log_loss=(0.1, 0.2)) for each in silent]
    assert fitting_measure(even, silent) == "accuracy"
    assert fitting_measure(uneven, silent) == "balanced_accuracy"
    assert fitting_measure(uneven, [speaking[0], silent[1]]) == "balanced_accuracy"
    assert fitting_measure(uneven, speaking) == "log_loss"
    # a method that failed throughout has no say
    failed = replace(silent[0], accuracy=(None, None))
    assert fitting_measure(uneven, [failed, *speaking]) == "log_loss"


def test_a_loss_is_turned():
    assert gains([0.5, 1.0], "log_loss") == [-0.5, -1.0]
    assert gains([0.5], "auc") == [0.5]


def test_what_is_no_measure_is_refused():
    with pytest.raises(ValueError, match=r"'acuracy' is not known\. Did you mean 'accuracy'"):
        check_measure("acuracy")
