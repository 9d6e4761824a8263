"""One method fitted on all rows, with its score, and used on new ones."""

from types import SimpleNamespace

import numpy as np
import pytest

from ensemblage.datasets import Dataset, open_dataset
from ensemblage.methods import predict_rows, train
from ensemblage.methods._train import _jobs_for


@pytest.fixture
def people(table_file):
    return open_dataset(str(table_file), "class")


def test_predictions_as_rows(people):
    with_shares = predict_rows(train(people, "majority", n_splits=2).model, people.X[:1])
    header, rows = with_shares.rows()
    assert header == ["prediction", "probability_no", "probability_yes"]
    assert rows == [["yes", "0.35", "0.65"]]
    without = predict_rows(train(people, "svm", n_splits=2).model, people.X[:1])
    assert without.probabilities is None
    assert without.rows()[0] == ["prediction"]


@pytest.mark.parametrize(("seconds", "jobs"), [((60.0, 1.0, None), None), ((60.0, 50.0), 2)])
def test_waiting_for_the_compiler_is_no_reason_for_workers(seconds, jobs):
    scores = SimpleNamespace(methods=[SimpleNamespace(seconds=seconds)])
    assert _jobs_for(scores, 2) == jobs


def test_train_reports_progress_and_reduces_folds():
    X = np.arange(6.0)[:, None]
    small = Dataset("small", X, np.array(list("aaabbb")), ("x",), ("number",))
    seen = []
    trained = train(small, "majority", n_splits=10, progress=lambda *step: seen.append(step))
    assert trained.comparison.n_splits == 3
    assert seen == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
