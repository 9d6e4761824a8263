from types import SimpleNamespace

import numpy as np
import pytest

from ensemblage.datasets import Dataset, open_dataset
from ensemblage.pool import EnsemblageClassifier
from ensemblage.studies import METHODS, Method, predict, train
from ensemblage.studies._train import HOLDOUT_NOTE, NOTE, _jobs_for, own_comparison


@pytest.fixture
def dataset():
    rng = np.random.default_rng(0)
    y = np.array(["no", "yes"])[rng.integers(0, 2, 90)]
    town = np.where(rng.uniform(size=90) < 0.8, np.where(y == "yes", "Rome", "Cairo"), "Lima")
    X = np.column_stack([rng.normal(size=90), town]).astype(object)
    X[:, 0] = X[:, 0].astype(float)
    return Dataset("towns", X, y, ("age", "town"), ("numeric", "categorical"))


def test_the_scores_are_those_of_what_was_held_out(dataset):
    pool = EnsemblageClassifier(["logistic"], cv=3, random_state=0).fit(dataset.X, dataset.y)
    found = own_comparison(dataset, METHODS["auto"], pool, 6.0)
    (scores,) = found.methods
    assert found.n_splits == 3
    assert scores.seconds == (2.0, 2.0, 2.0)
    # all parts are equally large
    assert np.mean(scores.accuracy) == pytest.approx(pool.leaderboard_[0].score)
    assert np.mean(scores.log_loss) == pytest.approx(pool.leaderboard_[0].log_loss, rel=1e-4)
    assert NOTE in found.notes


def test_a_method_that_judges_itself_is_fitted_once(dataset, monkeypatch):
    fitted, seen = [], []

    class Counted(EnsemblageClassifier):
        def fit(self, X, y, **passed):
            fitted.append(len(y))
            return super().fit(X, y, **passed)

    def make(seed, n_jobs):
        return Counted(["logistic", "network"], random_state=seed, n_jobs=n_jobs)

    counted = Method(
        "own", "own", "", make, handles_raw_tables=True, encodes=True, has_oof_predictions=True
    )
    monkeypatch.setitem(METHODS, "own", counted)
    trained = train(dataset, "own", n_splits=3, progress=lambda *step: seen.append(step))
    assert fitted == [90]
    assert seen == [(0, 1), (1, 1)]
    pool = trained.model[-1]
    assert pool.cv == 3
    assert pool.encoder_.kinds == ["numeric", "categorical"]
    assert "table" in pool.member_inputs_
    assert trained.comparison.summary[0].accuracy > 0.7


def test_a_budget_is_for_a_pool(dataset, monkeypatch):
    def make(seed, n_jobs):
        return EnsemblageClassifier(["logistic"], random_state=seed, n_jobs=n_jobs)

    own = Method("own", "own", "", make, encodes=True, has_oof_predictions=True)
    monkeypatch.setitem(METHODS, "own", own)
    trained = train(dataset, "own", time_budget=30.0)
    assert trained.model[-1].time_budget == 30.0
    assert NOTE in trained.comparison.notes
    with pytest.raises(ValueError, match="30 s, but the method 'logistic' has no budget"):
        train(dataset, "logistic", time_budget=30.0)


def test_scores_of_a_large_pool_with_a_budget_are_of_a_holdout_set(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_050, 2))
    y = np.where(X[:, 0] + rng.logistic(size=len(X)) > 0, "yes", "no")
    data = Dataset("large", X.astype(object), y, ("a", "b"), ("numeric", "numeric"))
    pool = EnsemblageClassifier(["logistic"], time_budget=60.0, random_state=0).fit(X, y)
    assert len(pool.out_of_fold_.y) < 0.2 * len(y)
    found = own_comparison(data, METHODS["auto"], pool, 6.0)
    assert HOLDOUT_NOTE in found.notes
    assert NOTE not in found.notes


@pytest.fixture
def people(table_file):
    return open_dataset(str(table_file), "class")


def test_a_trained_model_predicts(people):
    with_shares = predict(train(people, "majority", n_splits=2).model, people.X[:1])
    assert (with_shares.y_pred.tolist(), with_shares.classes) == (["yes"], ("no", "yes"))
    assert with_shares.probabilities.tolist() == [[0.35, 0.65]]
    without = predict(train(people, "svm", n_splits=2).model, people.X[:1])
    assert without.probabilities is None


@pytest.mark.parametrize(("seconds", "jobs"), [((60.0, 1.0, None), None), ((60.0, 50.0), 2)])
def test_waiting_for_the_compiler_is_no_reason_for_workers(seconds, jobs):
    scores = SimpleNamespace(methods=[SimpleNamespace(seconds=seconds)])
    assert _jobs_for(scores, 2) == jobs


def test_train_reports_progress_and_reduces_folds():
    X = np.arange(6.0)[:, None]
    small = Dataset("small", X, np.array(list("aaabbb")), ("x",), ("numeric",))
    seen = []
    trained = train(small, "majority", n_splits=10, progress=lambda *step: seen.append(step))
    assert trained.comparison.n_splits == 3
    assert seen == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
