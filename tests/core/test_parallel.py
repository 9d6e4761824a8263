import os
import signal
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_info, threadpool_limits

from ensemblage._core import guarded_fit, limit_blas_threads, run_tasks
from ensemblage.strata import StrataEnsembleClassifier

BIG = np.zeros((200_000, 2))


def n_threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, "blas"):
        if n_threads() != {2}:
            pytest.skip("the linear algebra here has one thread")
        yield


class Watching(LogisticRegression):
    """Writes down how many threads it was fitted on."""

    def fit(self, X, y, sample_weight=None):
        self.n_threads_ = n_threads()
        return super().fit(X, y, sample_weight)


class Bare(BaseEstimator):
    @guarded_fit
    def fit(self, X, y=None):
        self.n_threads_ = n_threads()
        return self


def test_small_tables_are_fitted_on_one_thread():
    assert Bare().fit(BIG[:100]).n_threads_ == {1}
    assert Bare().fit(X=BIG[:100]).n_threads_ == {1}
    assert Bare().fit(BIG).n_threads_ == {2}
    assert n_threads() == {2}


@pytest.mark.filterwarnings("ignore:.* strata hold one class only")
def test_members_are_too():
    X, y = load_iris(return_X_y=True)
    members = StrataEnsembleClassifier(estimator=Watching(), random_state=0).fit(X, y).estimators_
    watching = [each for each in members if isinstance(each, Watching)]
    assert watching
    assert all(each.n_threads_ == {1} for each in watching)


def test_an_error_gives_the_threads_back():
    with pytest.raises(ZeroDivisionError), limit_blas_threads(BIG[:5]):
        1 / 0  # noqa: B018
    assert n_threads() == {2}


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, pl.DataFrame], ids=lambda f: f.__name__)
def test_tables_of_any_kind(make):
    with limit_blas_threads(make(BIG[:10])):
        assert n_threads() == {1}
    with limit_blas_threads(make(BIG)):
        assert n_threads() == {2}


@pytest.mark.parametrize(
    "X",
    [None, "rows.parquet", [[1.0, 2.0]], BIG[0], dd.from_pandas(pd.DataFrame({"a": [1]}))],
    ids=["none", "path", "list", "vector", "dask"],
)
def test_what_has_no_known_shape_is_not_small(X):
    with limit_blas_threads(X):
        assert n_threads() == {2}


def square(x):
    return x * x


def die_once(x, folder):
    """Kill the worker process itself the first time that task 3 is tried."""
    marker = Path(folder) / "died"
    if x == 3 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    (Path(folder) / f"{x}-{os.getpid()}").touch()
    return x


def always_die(x):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_results_come_in_the_order_of_the_tasks(n_jobs):
    assert run_tasks(square, [(x,) for x in range(20)], n_jobs) == [x * x for x in range(20)]


def test_no_task_no_result():
    assert run_tasks(square, []) == []


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")
def test_a_killed_worker_is_replaced(tmp_path, caplog):
    assert run_tasks(die_once, [(x, str(tmp_path)) for x in range(8)], 2) == list(range(8))
    assert "A worker process died" in caplog.text


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")
def test_a_task_that_always_kills_its_worker_is_given_up():
    with pytest.raises(BrokenProcessPool):
        run_tasks(always_die, [(0,), (1,)], 2)


def test_an_error_of_a_task_reaches_the_caller():
    with pytest.raises(TypeError, match="can't multiply"):
        run_tasks(square, [("a",)])
