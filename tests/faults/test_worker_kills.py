"""Workers killed repeatedly during a fit: the fitted model is the same."""

import os
import signal
import threading
import time
import warnings

import joblib
import numpy as np
import pytest

from ensemblage.strata import HISS, StrataEnsembleClassifier
from faults.test_killed_pool import DiesOnce
from made_estimators import made_rows

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

X, Y, _ = made_rows(n_rows=60)
ROWS = np.concatenate([X, X + 0.1])
TRUTH = np.concatenate([Y, Y])


def fitted(marker, n_jobs):
    member = DiesOnce(str(marker), os.getpid())
    model = StrataEnsembleClassifier(
        HISS(4, 0.6), member, fusion="mean", n_jobs=n_jobs, random_state=0
    )
    return model.fit(ROWS, TRUTH).predict_proba(ROWS)


@pytest.mark.parametrize(
    "times", [1, pytest.param(20, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]
)
def test_killed_workers_of_loky(times, tmp_path):
    (tmp_path / "none").touch()
    expected = fitted(tmp_path / "none", 1)
    for number in range(times):
        marker = tmp_path / f"died {number}"
        np.testing.assert_array_equal(fitted(marker, 2), expected)
        assert marker.exists()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("default")
def test_killed_workers_of_dask(tmp_path):
    distributed = pytest.importorskip("distributed")
    (tmp_path / "none").touch()
    expected = fitted(tmp_path / "none", 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        )
        with cluster, distributed.Client(cluster):
            for number in range(20):
                killer = threading.Thread(target=_kill_one, args=(cluster, 0.02 * (number % 5)))
                killer.start()
                with joblib.parallel_backend("dask"):
                    np.testing.assert_array_equal(fitted(tmp_path / "none", 2), expected)
                killer.join()


def _kill_one(cluster, seconds):
    """Kill a worker after a delay; the cluster's nanny starts another."""
    time.sleep(seconds)
    for worker in cluster.workers.values():
        if worker.pid is not None:
            os.kill(worker.pid, signal.SIGKILL)
            return
