import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, RegressorMixin
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

from ensemblage.studies._scores import (
    KEPT_ROWS,
    ClassScores,
    auc,
    balanced_accuracy,
    log_loss,
    macro_f1,
    number_answers,
    r_squared,
    score_numbers,
    score_predictions,
)

X = np.arange(40.0)[:, None]


Y = X[:, 0] + np.random.default_rng(0).normal(size=40)


class WithIntervals(Ridge):
    def predict(self, X, return_std=False, sources=None):
        said = super().predict(X) + (0 if sources is None else sources)
        return (said, np.ones(len(X))) if return_std else said

    def predict_interval(self, X, coverage=0.9, sources=None):
        said = self.predict(X, sources=sources)
        return np.column_stack([said - 3, said + 3])


def test_numbers_alone():
    model = make_pipeline(StandardScaler(), Ridge()).fit(X, Y)
    found = number_answers(model, X, {})
    np.testing.assert_array_equal(found.predicted, model.predict(X))
    assert (found.spread, found.intervals) == (None, None)


def test_a_spread_gives_normal_intervals():
    model = make_pipeline(StandardScaler(), BayesianRidge()).fit(X, Y)
    found = number_answers(model, X, {})
    low, high = found.intervals.T
    np.testing.assert_allclose((high - low) / found.spread, 2 * 1.6448536)
    assert np.mean((low <= Y) & (high >= Y)) == pytest.approx(0.9, abs=0.1)


def test_a_models_own_intervals_and_what_it_is_told():
    model = make_pipeline(StandardScaler(), WithIntervals()).fit(X, Y)
    plain, told = number_answers(model, X, {}), number_answers(model, X, {"sources": np.ones(40)})
    np.testing.assert_allclose(plain.intervals[:, 1] - plain.predicted, 3)
    np.testing.assert_allclose(told.predicted - plain.predicted, 1)
    np.testing.assert_allclose(told.intervals - plain.intervals, 1)


def test_a_constant_has_no_spread():
    assert number_answers(DummyRegressor().fit(X, Y), X, {}).spread is None


LETTERS = np.array(list("abc"))


def test_measures_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, guess = rng.choice(LETTERS, 50), rng.choice(LETTERS, 50)
    shares = rng.dirichlet([1, 1, 1], 50)
    assert balanced_accuracy(y, guess) == pytest.approx(balanced_accuracy_score(y, guess))
    assert macro_f1(y, guess) == pytest.approx(f1_score(y, guess, average="macro"))
    given_scores = ClassScores(shares, LETTERS)
    assert log_loss(y, given_scores) == pytest.approx(
        sklearn_log_loss(y, shares, labels=list("abc"))
    )
    assert auc(y, given_scores) == pytest.approx(roc_auc_score(y, shares, multi_class="ovr"))


def test_the_area_by_hand():
    # of the pairs (row of b, row of a): 2 > 1, 2 > 0, and a tie
    y = np.array(["a", "a", "b", "a"])
    scores = np.array([1.0, 0.0, 2.0, 2.0])
    assert auc(y, ClassScores(np.column_stack([-scores, scores]), LETTERS[:2])) == 2.5 / 3


def test_a_class_never_seen_costs_a_finite_loss_and_half_an_area():
    y, one = np.array(["a", "z"]), ClassScores(np.array([[1.0], [1.0]]), np.array(["a"]))
    assert log_loss(y, one) == pytest.approx(-np.log(1e-15) / 2)
    assert auc(y, one) == 0.5
    assert auc(np.array(["a", "a"]), one) is None


@given(st.lists(st.sampled_from("ab"), min_size=2, max_size=20), st.integers(0, 9))
def test_the_area_does_not_depend_on_the_scale(labels, seed):
    y, scores = np.array(labels), np.random.default_rng(seed).normal(size=(len(labels), 2))
    usual = auc(y, ClassScores(scores, LETTERS[:2]))
    assert usual == auc(y, ClassScores(np.exp(scores), LETTERS[:2]))
    assert usual is None or 0 <= usual <= 1


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_model_without_probabilities_has_an_area(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = LETTERS[np.digitize(X[:, 0], [0.0, 0.7][: n_classes - 1])]
    scores = score_predictions(SVC().fit(X, y), X, y)
    assert scores.log_loss is None
    assert scores.auc > 0.95


NUMBER_SCORES_X = np.arange(6.0)[:, None]


NUMBER_SCORES_Y = np.array([0.0, 2.0, 1.0, 4.0, 3.0, 6.0])


class Broken(RegressorMixin, BaseEstimator):
    def predict(self, NUMBER_SCORES_X):
        return np.full(len(NUMBER_SCORES_X), np.inf)


def test_measures_by_hand():
    model = DummyRegressor(strategy="constant", constant=2.0).fit(NUMBER_SCORES_X, NUMBER_SCORES_Y)
    found = score_numbers(
        model, NUMBER_SCORES_X[:2], NUMBER_SCORES_Y[:2]
    )  # 0 and 2, both said to be 2
    assert (found.rmse, found.mae, found.r2) == (pytest.approx(2**0.5), 1.0, -1.0)
    assert (found.log_score, found.coverage, found.width) == (None, None, None)
    assert (found.kept.places, found.kept.predicted) == ([0, 1], [2.0, 2.0])


def test_measures_are_those_of_scikit_learn_of_number_scores():
    model = LinearRegression().fit(NUMBER_SCORES_X, NUMBER_SCORES_Y)
    found, said = (
        score_numbers(model, NUMBER_SCORES_X, NUMBER_SCORES_Y),
        model.predict(NUMBER_SCORES_X),
    )
    assert found.rmse == pytest.approx(root_mean_squared_error(NUMBER_SCORES_Y, said))
    assert found.mae == pytest.approx(mean_absolute_error(NUMBER_SCORES_Y, said))
    assert found.r2 == pytest.approx(r2_score(NUMBER_SCORES_Y, said))


def test_a_spread_is_scored():
    found = score_numbers(
        BayesianRidge().fit(NUMBER_SCORES_X, NUMBER_SCORES_Y), NUMBER_SCORES_X, NUMBER_SCORES_Y
    )
    assert np.isfinite([found.log_score, found.coverage, found.width]).all()
    assert len(found.kept.intervals) == 6


def test_equal_numbers_have_no_share_to_explain():
    assert r_squared(np.ones(3), np.arange(3.0)) == 0.0


def test_what_is_not_finite_is_an_error():
    with pytest.raises(ValueError, match="not a finite number"):
        score_numbers(Broken(), NUMBER_SCORES_X, NUMBER_SCORES_Y)


def test_of_many_rows_some_are_kept():
    many = np.arange(2.0 * KEPT_ROWS + 1)[:, None]
    kept = score_numbers(
        LinearRegression().fit(NUMBER_SCORES_X, NUMBER_SCORES_Y), many, many[:, 0]
    ).kept
    assert len(kept.places) == len(kept.predicted) <= KEPT_ROWS
    assert kept.places[:3] == [0, 3, 6]
