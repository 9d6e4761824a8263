"""Comparisons of regression methods."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression

from ensemblage.datasets import load_dataset, make_multi_source
from ensemblage.pool import EnsemblageRegressor
from ensemblage.studies import METHODS, compare, train
from ensemblage.studies._train import NOTE
from studies.homes import homes

X = np.random.default_rng(0).normal(size=(90, 3))
Y = X[:, 0] + 0.1 * X[:, 1]


def test_methods_are_sorted_by_rmse():
    result = compare(homes(), methods=["mean", "ridge", "tree"], n_splits=3)
    assert (result.task, result.measure, result.n_classes) == ("regression", "rmse", None)
    scores = [row.rmse for row in result.summary]
    assert scores == sorted(scores)
    assert result.summary[0].score == result.summary[0].rmse
    assert result.summary[0].mean_rank < result.summary[-1].mean_rank == 3.0
    assert result.choice.best == result.summary[0].method
    assert result.verdict.startswith("Recommended: ")
    assert result.summary[-1].label == "mean"
    assert all(row.accuracy is None for row in result.summary)
    assert [each.accuracy for each in result.methods] == [()] * 3


def test_the_table_has_the_measures_of_regression():
    result = compare(homes(), methods=["mean", "ridge"], n_splits=2)
    text = repr(result)
    assert "RMSE" in text
    assert "accuracy" not in text
    assert "log score" not in text  # no method predicts a standard deviation
    assert "Sorted by RMSE (lower is better)" in text
    rows = result.rows()
    assert {"rmse", "mae", "r2", "score_se"} <= rows[0].keys()
    assert not {"accuracy", "accuracy_se", "log_loss"} & rows[0].keys()


def test_a_predicted_std_is_scored_by_log_score():
    own = {"plain": LinearRegression(), "bayes": BayesianRidge()}
    result = compare(X, Y, own, n_splits=3, measure="log_score")
    assert result.summary[0].method == "bayes"
    assert result.summary[1].score is None
    assert result.verdict.startswith("No method is recommended: only bayes has a score")
    assert result.notes[-1] == "plain has no log score, and cannot be recommended by it."
    assert 0.5 < result.summary[0].coverage <= 1
    assert len(result.residuals.intervals) == 90


def test_the_task_of_arrays_is_inferred():
    few = np.arange(90) % 6
    assert compare(X, few, ["majority"], n_splits=2).task == "classification"
    assert compare(X, few, ["mean"], n_splits=2, task="regression").task == "regression"
    assert compare(X, Y, ["mean"], n_splits=2).data.task_reason.startswith("'class' has 90")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"measure": "accuracy"}, "'accuracy' is not for regression"),
        ({"measure": "coverage"}, "must be one of"),
        ({"methods": ["logistic"]}, "'logistic' is for classification, not regression"),
        ({"methods": [LogisticRegression()]}, "or an unfitted regressor"),
        ({"n_splits": 60}, "fewer than two rows per fold"),
        ({"task": "clustering"}, "Expected one of: classification, regression"),
    ],
)
def test_options_of_the_other_task_are_refused(options, problem):
    with pytest.raises((ValueError, TypeError), match=problem):
        compare(X, Y, **options)


def test_a_dataset_has_its_task():
    with pytest.raises(TypeError, match="has its own target"):
        compare(homes(), task="classification")


def test_new_sources_are_left_out_one_by_one():
    rows, y, sources = make_multi_source(
        3, 120, 4, task="regression", random_state=0, return_sources=True
    )
    mixed = compare(rows, y, ["ridge"], sources=sources)
    apart = compare(rows, y, ["ridge"], sources=sources, new_sources=True)
    assert apart.n_splits == 3
    assert apart.summary[0].rmse > mixed.summary[0].rmse
    assert [each.source for each in apart.residuals.sources] == ["0", "1", "2"]


def test_scores_depend_neither_on_processes_nor_on_other_methods():
    data = homes(60)
    alone = compare(data, methods=["ridge"], n_splits=2)
    both = compare(data, methods=["mean", "ridge"], n_splits=2, n_jobs=2)
    assert alone.methods[0].rmse == both.methods[1].rmse


def test_auto_is_a_pool(monkeypatch):
    def make(seed, n_jobs):
        return EnsemblageRegressor(["ridge", "svr"], random_state=seed, n_jobs=n_jobs)

    monkeypatch.setitem(METHODS, "auto", replace(METHODS["auto"], regressor=make))
    trained = train(homes(60), "auto", n_splits=2)
    (scores,), pool = trained.comparison.methods, trained.model[-1].leaderboard_[0]
    assert np.sqrt(np.mean(np.square(scores.rmse))) == pytest.approx(pool.score)
    assert np.mean(scores.log_score) == pytest.approx(pool.log_loss)
    assert scores.accuracy == ()
    assert scores.coverage == (None, None)
    assert trained.comparison.notes[-1] == NOTE
    assert trained.model.predict(homes(60).X).shape == (60,)


def test_a_bundled_regression_dataset():
    result = compare(load_dataset("diabetes"), methods=["ridge", "mean"], n_splits=3)
    assert result.choice.method == "ridge"
    assert result.choice.significant
