"""The same cells on a real Dask cluster, with a real worker killed."""

import json
import os
import signal
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

from ensemblage.cli import app
from ensemblage.datasets import load_dataset
from ensemblage.persistence import load
from ensemblage.studies import ClusterPool, ResultStore, run_study
from studies.arithmetic import compute, experiment

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes of one thread each, in a scheduler of their own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ports in use, sockets closed late: not ours
        made = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        )
        yield made
        made.close()


def facts(results):
    return [(each.cell.key, dict(each.values), each.error) for each in results]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.filterwarnings("default")
def test_a_killed_worker_loses_nothing(cluster, tmp_path):
    special = {f"x{x}": {"sleep": 0.05} for x in range(40)} | {"x7": {"do": "fail"}}
    slow = experiment(40, **special)
    victim = next(iter(cluster.workers.values())).pid
    killed = []

    def kill_one(done, total):
        if done == 10 and not killed:
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

    with ResultStore(tmp_path / "r.sqlite") as store:
        there = run_study(slow, store, scheduler=cluster.scheduler_address, progress=kill_one)
        assert killed == [victim]
        assert facts(there) == facts(run_study(slow, store))
        assert len(store) == 40
    assert [each.error for each in there if each.error] == ["RuntimeError: x is 7, which is bad"]
    # the same values as here
    for each in there:
        assert each.error or each.values == compute(each.cell, slow.data_dir)


@pytest.mark.filterwarnings("default")
def test_a_comparison_on_a_cluster_gives_the_same_scores(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ENSEMBLAGE_DATA", raising=False)
    asked = ["compare", "iris", "-m", "majority", "-m", "logistic", "--folds", "3", "--json"]
    shown = []
    for where in (["--scheduler", cluster.scheduler_address], ["--jobs", "1"]):
        done = CliRunner().invoke(app, [*asked, *where])
        assert done.exit_code == 0
        methods = json.loads(done.stdout)["methods"]
        shown.append([each | {"seconds": None} for each in methods])
    assert shown[0] == shown[1]


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_scheduler_that_goes_away_is_named(tmp_path):
    slow = experiment(40, **{f"x{x}": {"sleep": 0.2} for x in range(40)})
    made = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0"
    )
    ended = []

    def end(done, total):
        if done == 2 and not ended:
            ended.append(threading.Thread(target=made.close))
            ended[0].start()

    with ResultStore(tmp_path / "r.sqlite") as store:
        start = time.monotonic()
        with pytest.raises(ConnectionError, match="connection to the workers was lost"):
            run_study(slow, store, scheduler=made.scheduler_address, progress=end)
        assert time.monotonic() - start < 60
        assert len(store) >= 2
    ended[0].join()


@pytest.mark.filterwarnings("default")
def test_nobody_at_the_address(monkeypatch):
    monkeypatch.setattr("ensemblage.studies._workers.CONNECT_SECONDS", 1)
    with pytest.raises(ValueError, match=r"No Dask scheduler answers at 'tcp://127\.0\.0\.1:9'"):
        ClusterPool("tcp://127.0.0.1:9")


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r'needs distributed, .*pip install "ensemblage\[dask\]"'):
        ClusterPool("tcp://127.0.0.1:8786")


@pytest.mark.filterwarnings("default")
def test_members_and_folds_are_fitted_there(cluster, tmp_path):
    fit = ["fit", "iris", "--method", "strata", "--folds", "2"]
    here, there = str(tmp_path / "here.skops"), str(tmp_path / "there.skops")
    scheduler = ["--scheduler", cluster.scheduler_address]
    done = [
        CliRunner().invoke(app, [*fit, "--output", path, "--json", *more])
        for path, more in ((here, ["--jobs", "1"]), (there, scheduler))
    ]
    assert [each.exit_code for each in done] == [0, 0], done[1].output
    X = load_dataset("iris").X
    own, others = (load(path).model.predict_proba(X) for path in (here, there))
    np.testing.assert_array_equal(own, others)


def test_a_scheduler_that_is_not_there_is_said_before_work_starts(tmp_path):
    fit = ["fit", "iris", "--method", "auto", "--output", str(tmp_path / "m.skops")]
    done = CliRunner().invoke(app, [*fit, "--scheduler", "nowhere"])
    assert done.exit_code == 1
    assert "is not an address such as tcp://host:8786" in done.stderr
