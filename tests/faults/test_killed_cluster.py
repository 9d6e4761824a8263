"""A killed worker of a Dask cluster does not change the fitted model."""

import os
import signal
import time
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from blocks.fitted_bits import bits, blobs
from ensemblage.blocks import DaskBlocks, MemoryBlocks
from ensemblage.inner import InnerKMeans
from ensemblage.strata import HISS

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="signals of POSIX"),
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
MODELS = {
    "hiss": HISS(4, 0.3, max_iter=5, tol=0.0, random_state=0),
    "kmeans": InnerKMeans(4, n_views=10, max_iter=12, random_state=0),
}
BLOCK = 256
N_ROWS = 30_000


@pytest.fixture(scope="module")
def cluster():
    # by default a cluster removes a lost worker after 15 s
    no_timeout = dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"})
    with no_timeout, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of distributed
        made = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        )
        with distributed.Client(made):
            yield made
        made.close()


class KillingBlocks(DaskBlocks):
    """Kills a worker during one of its passes."""

    def plan_kill(self, cluster, at_pass, victim):
        self.kill_plan = {"left": at_pass, "cluster": cluster, "victim": victim, "killed": []}
        return self

    def _gather(self, futures):
        self.kill_plan["left"] -= 1
        if self.kill_plan["left"] == 0:
            workers = self.kill_plan["cluster"].workers
            pid = workers[sorted(workers)[self.kill_plan["victim"] % len(workers)]].pid
            os.kill(pid, signal.SIGKILL)
            self.kill_plan["killed"].append(pid)
        return super()._gather(futures)


def wait_for_nannies(cluster, seconds=60):
    """Wait until each nanny is running; one whose worker dies early does not restart it."""
    end = time.monotonic() + seconds
    while {nanny.status.name for nanny in cluster.workers.values()} != {"running"}:
        assert time.monotonic() < end
        time.sleep(0.05)


def wait_for_workers(cluster):
    distributed.default_client().wait_for_workers(2, timeout=60)
    wait_for_nannies(cluster)


def fit_with_killed_worker(name, cluster, at_pass, victim, spill_folder=None):
    wait_for_workers(cluster)
    X = da.from_array(blobs(N_ROWS), chunks=(5000, 4))
    source = KillingBlocks(X, block_rows=BLOCK, spill_folder=spill_folder)
    source = source.plan_kill(cluster, at_pass, victim)
    fitted = clone(MODELS[name]).fit(source)
    assert len(source.kill_plan["killed"]) == 1
    return bits(fitted)


@pytest.mark.parametrize("name", MODELS)
def test_killed_worker_does_not_change_the_fit(name, cluster):
    whole = clone(MODELS[name]).fit(MemoryBlocks(blobs(N_ROWS), block_rows=BLOCK))
    assert fit_with_killed_worker(name, cluster, at_pass=9, victim=0) == bits(whole)


@pytest.mark.parametrize("name", MODELS)
def test_killed_worker_does_not_change_the_fit_with_spilled_state(name, cluster, tmp_path):
    whole = clone(MODELS[name]).fit(MemoryBlocks(blobs(N_ROWS), block_rows=BLOCK))
    assert fit_with_killed_worker(name, cluster, 9, victim=1, spill_folder=tmp_path) == bits(whole)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("in_files", [False, True])
def test_lost_state_is_recomputed_unless_spilled(in_files, cluster, tmp_path):
    wait_for_workers(cluster)
    states, calls = tmp_path / "states", tmp_path / "calls"
    states.mkdir(), calls.mkdir()

    def count_up(block, folder):
        with (folder / str(block.start)).open("a") as file:
            file.write("x")
        before = np.zeros(len(block.rows)) if block.state is None else block.state
        return before + 1, (int(before.sum()),)

    X = da.from_array(blobs(N_ROWS), chunks=(5000, 4))
    source = KillingBlocks(X, block_rows=BLOCK, spill_folder=states if in_files else None)
    source.plan_kill(cluster, at_pass=6, victim=0)
    sums = [source.reduce_with_state(count_up, calls)[0] for _ in range(6)]
    assert sums == [N_ROWS * turn for turn in range(6)]
    assert len(source.kill_plan["killed"]) == 1
    counts = [path.stat().st_size for path in calls.iterdir()]
    # with files only blocks of the current pass are repeated, otherwise of all passes
    assert (max(counts) <= 7) == in_files


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", MODELS)
def test_twenty_killed_workers_do_not_change_the_fit(name, cluster):
    whole = bits(clone(MODELS[name]).fit(MemoryBlocks(blobs(N_ROWS), block_rows=BLOCK)))
    passes = np.random.default_rng(0).integers(1, 16, size=20)
    equal = [
        fit_with_killed_worker(name, cluster, int(at_pass), victim) == whole
        for victim, at_pass in enumerate(passes)
    ]
    assert equal == [True] * 20
