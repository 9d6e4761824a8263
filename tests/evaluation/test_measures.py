import pytest

from ensemblage.evaluation import CLASSIFICATION, MEASURES, REGRESSION, TASKS


def test_each_task_has_its_measures_the_usual_one_first():
    assert [task.usual for task in TASKS.values()] == ["accuracy", "rmse"]
    assert REGRESSION.deciding == ["rmse", "mae", "r2", "log_score"]
    assert not CLASSIFICATION.measures.keys() & REGRESSION.measures.keys()
    assert {*MEASURES} == {*CLASSIFICATION.measures, *REGRESSION.measures}


def test_shares_are_between_zero_and_one_and_more_of_them_is_better():
    assert {name for name, each in MEASURES.items() if each.share} == {
        "accuracy", "balanced_accuracy", "auc", "f1",
    }  # fmt: skip
    assert all(each.greater_is_better for each in MEASURES.values() if each.share)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (118180.4, 5046.2, "118180 ± 5046"),
        (34.216, 2.04, "34.22 ± 2.04"),
        (4.5601, 0.8, "4.560 ± 0.800"),
        (0.0012345, 0.0002, "0.001234 ± 0.000200"),
        (0.0, 0.0, "0 ± 0"),
        (1e-30, None, "0.000000000000"),
    ],
)
def test_what_is_in_units_of_the_target_shows_four_digits(value, error, text):
    assert MEASURES["rmse"].with_error(value, error) == text


def test_other_measures_have_a_number_of_decimals():
    assert MEASURES["r2"].with_error(-0.5, 0.25) == "-0.500 ± 0.250"
    assert MEASURES["accuracy"].written(0.91234, 4) == "0.9123"
