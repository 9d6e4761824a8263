"""The registry of measures, its functions, and what models are asked for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import BayesianRidge, LinearRegression, Ridge
from sklearn.metrics import (
    balanced_accuracy_score,
    f1_score,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)
from sklearn.metrics import log_loss as sklearn_log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ensemblage.evaluation import (
    CLASSIFICATION,
    DECIDING,
    MEASURES,
    REGRESSION,
    TASKS,
    Predictions,
    interval_coverage,
    log_score,
    model_predictions,
)

FINITE = st.floats(-50, 50)
LETTERS = np.array(list("abc"))
X = np.arange(40.0)[:, None]
Y = X[:, 0] + np.random.default_rng(0).normal(size=40)


def class_scores(scores, classes="ab"):
    return Predictions(np.empty(len(scores)), tuple(classes), scores, scores)


def value(name, y, predictions):
    return MEASURES[name].function(y, predictions)


class WithIntervals(Ridge):
    def predict(self, X, return_std=False, sources=None):
        y_pred = super().predict(X) + (0 if sources is None else sources)
        return (y_pred, np.ones(len(X))) if return_std else y_pred

    def predict_interval(self, X, coverage=0.9, sources=None):
        y_pred = self.predict(X, sources=sources)
        return np.column_stack([y_pred - 3, y_pred + 3])


def test_each_task_has_its_measures_the_usual_one_first():
    assert [task.usual for task in TASKS.values()] == ["accuracy", "rmse"]
    assert REGRESSION.deciding == ["rmse", "mae", "r2", "log_score"]
    assert not CLASSIFICATION.measures.keys() & REGRESSION.measures.keys()
    assert {*MEASURES} == {*CLASSIFICATION.measures, *REGRESSION.measures}
    assert {*MEASURES} - {*DECIDING} == {"coverage", "width"}


def test_shares_are_between_zero_and_one():
    shares = [each for each in MEASURES.values() if each.unit == "share"]
    assert {each.name for each in shares} == {
        "accuracy", "balanced_accuracy", "auc", "f1", "coverage",
    }  # fmt: skip
    assert {(each.lower, each.upper) for each in shares} == {(0.0, 1.0)}


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
def test_values_in_units_of_the_target_have_four_digits(value, error, text):
    assert MEASURES["rmse"].with_error(value, error) == text


def test_other_measures_have_a_number_of_decimals():
    assert MEASURES["r2"].with_error(-0.5, 0.25) == "-0.500 ± 0.250"
    assert MEASURES["accuracy"].written(0.91234, 4) == "0.9123"


def test_predictions_without_standard_deviation():
    model = make_pipeline(StandardScaler(), Ridge()).fit(X, Y)
    found = model_predictions(model, X)
    np.testing.assert_array_equal(found.y_pred, model.predict(X))
    assert (found.std, found.intervals) == (None, None)


def test_a_standard_deviation_gives_normal_intervals():
    model = make_pipeline(StandardScaler(), BayesianRidge()).fit(X, Y)
    found = model_predictions(model, X)
    low, high = found.intervals.T
    np.testing.assert_allclose((high - low) / found.std, 2 * 1.6448536)
    assert np.mean((low <= Y) & (high >= Y)) == pytest.approx(0.9, abs=0.1)


def test_a_models_own_intervals_with_and_without_known_sources():
    model = make_pipeline(StandardScaler(), WithIntervals()).fit(X, Y)
    plain = model_predictions(model, X)
    aware = model_predictions(model, X, {"sources": np.ones(40)})
    np.testing.assert_allclose(plain.intervals[:, 1] - plain.y_pred, 3)
    np.testing.assert_allclose(aware.y_pred - plain.y_pred, 1)
    np.testing.assert_allclose(aware.intervals - plain.intervals, 1)


def test_a_constant_has_no_standard_deviation():
    assert model_predictions(DummyRegressor().fit(X, Y), X).std is None


def test_classification_measures_equal_scikit_learn():
    rng = np.random.default_rng(0)
    y, guess = rng.choice(LETTERS, 50), rng.choice(LETTERS, 50)
    shares = rng.dirichlet([1, 1, 1], 50)
    found = CLASSIFICATION.scores(y, Predictions(guess, tuple("abc"), shares, shares))
    assert found == {
        "accuracy": pytest.approx(np.mean(y == guess)),
        "balanced_accuracy": pytest.approx(balanced_accuracy_score(y, guess)),
        "log_loss": pytest.approx(sklearn_log_loss(y, shares, labels=list("abc"))),
        "auc": pytest.approx(roc_auc_score(y, shares, multi_class="ovr")),
        "f1": pytest.approx(f1_score(y, guess, average="macro")),
    }


def test_auc_by_hand():
    # of the pairs (row of b, row of a): 2 > 1, 2 > 0, and a tie
    y = np.array(["a", "a", "b", "a"])
    scores = np.array([1.0, 0.0, 2.0, 2.0])
    assert value("auc", y, class_scores(np.column_stack([-scores, scores]))) == 2.5 / 3


def test_an_unseen_class_has_a_finite_loss_and_an_auc_of_one_half():
    y, one = np.array(["a", "z"]), class_scores(np.array([[1.0], [1.0]]), "a")
    assert value("log_loss", y, one) == pytest.approx(-np.log(1e-15) / 2)
    assert value("auc", y, one) == 0.5
    assert value("auc", np.array(["a", "a"]), one) is None


@given(st.lists(st.sampled_from("ab"), min_size=2, max_size=20), st.integers(0, 9))
def test_auc_does_not_depend_on_the_scale(labels, seed):
    y, scores = np.array(labels), np.random.default_rng(seed).normal(size=(len(labels), 2))
    area = value("auc", y, class_scores(scores))
    assert area == value("auc", y, class_scores(np.exp(scores)))
    assert area is None or 0 <= area <= 1


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_model_without_probabilities_has_an_auc(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = LETTERS[np.digitize(X[:, 0], [0.0, 0.7][: n_classes - 1])]
    model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    scores = CLASSIFICATION.scores(y, model_predictions(model, X, class_scores=True))
    assert scores["log_loss"] is None
    assert scores["auc"] > 0.95
    assert model_predictions(model, X).scores is None


def test_regression_measures_by_hand():
    found = REGRESSION.scores(np.array([0.0, 2.0]), Predictions(np.array([2.0, 2.0])))
    assert (found["rmse"], found["mae"], found["r2"]) == (pytest.approx(2**0.5), 1.0, -1.0)
    assert (found["log_score"], found["coverage"], found["width"]) == (None, None, None)


def test_regression_measures_equal_scikit_learn():
    model = LinearRegression().fit(X, Y)
    found, y_pred = REGRESSION.scores(Y, model_predictions(model, X)), model.predict(X)
    assert found["rmse"] == pytest.approx(root_mean_squared_error(Y, y_pred))
    assert found["mae"] == pytest.approx(mean_absolute_error(Y, y_pred))
    assert found["r2"] == pytest.approx(r2_score(Y, y_pred))


def test_standard_deviations_are_scored():
    found = REGRESSION.scores(Y, model_predictions(BayesianRidge().fit(X, Y), X))
    assert np.isfinite([found["log_score"], found["coverage"], found["width"]]).all()


def test_r2_of_a_constant_target_is_zero():
    assert value("r2", np.ones(3), Predictions(np.arange(3.0))) == 0.0


def test_the_log_score_of_two_rows_by_hand():
    # log(2 pi) / 2 + log 2 + (1 / 2)² / 2 for an error of 1 with a standard deviation of 2;
    # log(2 pi) / 2 + 1 / 2
    expected = (0.9189385 + np.log(2) + 0.125 + 0.9189385 + 0.5) / 2
    assert log_score([3.0, 1.0], [2.0, 0.0], [2.0, 1.0]) == pytest.approx(expected)


@given(st.lists(st.tuples(FINITE, FINITE, st.floats(0.1, 5)), min_size=1, max_size=8))
def test_the_log_score_follows_its_formula_row_by_row(rows):
    slow = sum(
        0.5 * np.log(2 * np.pi * s**2) + (y - m) ** 2 / (2 * s**2) for y, m, s in rows
    ) / len(rows)
    assert log_score(*zip(*rows, strict=True)) == pytest.approx(slow)


def test_the_true_standard_deviation_has_the_best_log_score():
    y = np.random.default_rng(0).normal(0, 2, 500)
    scores = [log_score(y, np.zeros(500), np.full(500, s)) for s in (1.0, 2.0, 4.0)]
    assert scores[1] < min(scores[0], scores[2])
    assert np.isfinite(log_score([1.0], [1.0], [0.0]))


def test_interval_coverage_includes_the_ends():
    assert interval_coverage([1.0, 2.0], [1.0, 3.0], [1.0, 4.0]) == 0.5
    y = np.random.default_rng(0).normal(3, 2, 20_000)
    reach = 2 * 1.6448536
    ends = np.full(20_000, 3 - reach), np.full(20_000, 3 + reach)
    assert interval_coverage(y, *ends) == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        (([1.0], [1.0, 2.0], [1.0]), "shapes"),
        (([], [], []), "shapes"),
        (([np.nan], [1.0], [1.0]), "finite"),
    ],
)
def test_inconsistent_arrays_are_refused(columns, problem):
    with pytest.raises(ValueError, match=problem):
        log_score(*columns)
    with pytest.raises(ValueError, match=problem):
        interval_coverage(*columns)
