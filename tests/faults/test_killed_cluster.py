"""A worker of a Dask cluster that is killed in the middle of a pass changes no bit of a fit."""

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
    # a cluster lets go of a worker that is away 15 s after it was lost, even if it is away again
    patient = dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"})
    with patient, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ports in use, sockets closed late: not ours
        made = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        )
        with distributed.Client(made):
            yield made
        made.close()


class Mortal(DaskBlocks):
    """Kills a worker when the tasks of one of its passes are under way."""

    def strike(self, cluster, at_pass, victim):
        self.strikes = {"left": at_pass, "cluster": cluster, "victim": victim, "killed": []}
        return self

    def _gather(self, futures):
        self.strikes["left"] -= 1
        if self.strikes["left"] == 0:
            workers = self.strikes["cluster"].workers
            pid = workers[sorted(workers)[self.strikes["victim"] % len(workers)]].pid
            os.kill(pid, signal.SIGKILL)
            self.strikes["killed"].append(pid)
        return super()._gather(futures)


def wait_for_nannies(cluster, seconds=60):
    """Wait until each would start its worker again: one whose worker dies early does not."""
    end = time.monotonic() + seconds
    while {nanny.status.name for nanny in cluster.workers.values()} != {"running"}:
        assert time.monotonic() < end
        time.sleep(0.05)


def wait_for_workers(cluster):
    distributed.default_client().wait_for_workers(2, timeout=60)
    wait_for_nannies(cluster)


def fit_with_a_kill(name, cluster, at_pass, victim, spill_folder=None):
    wait_for_workers(cluster)
    X = da.from_array(blobs(N_ROWS), chunks=(5000, 4))
    source = Mortal(X, block_rows=BLOCK, spill_folder=spill_folder)
    source = source.strike(cluster, at_pass, victim)
    fitted = clone(MODELS[name]).fit(source)
    assert len(source.strikes["killed"]) == 1
    return bits(fitted)


@pytest.mark.parametrize("name", MODELS)
def test_a_killed_worker_changes_no_bit(name, cluster):
    whole = clone(MODELS[name]).fit(MemoryBlocks(blobs(N_ROWS), block_rows=BLOCK))
    assert fit_with_a_kill(name, cluster, at_pass=9, victim=0) == bits(whole)


@pytest.mark.parametrize("name", MODELS)
def test_a_killed_worker_changes_no_bit_where_state_is_in_files(name, cluster, tmp_path):
    whole = clone(MODELS[name]).fit(MemoryBlocks(blobs(N_ROWS), block_rows=BLOCK))
    assert fit_with_a_kill(name, cluster, 9, victim=1, spill_folder=tmp_path) == bits(whole)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("in_files", [False, True])
def test_a_lost_workers_state_is_computed_again_unless_it_is_in_files(in_files, cluster, tmp_path):
    wait_for_workers(cluster)
    states, calls = tmp_path / "states", tmp_path / "calls"
    states.mkdir(), calls.mkdir()

    def count_up(block, folder):
        with (folder / str(block.start)).open("a") as file:
            file.write("x")
        before = np.zeros(len(block.rows)) if block.state is None else block.state
        return before + 1, (int(before.sum()),)

    X = da.from_array(blobs(N_ROWS), chunks=(5000, 4))
    source = Mortal(X, block_rows=BLOCK, spill_folder=states if in_files else None)
    source.strike(cluster, at_pass=6, victim=0)
    sums = [source.reduce_with_state(count_up, calls)[0] for _ in range(6)]
    assert sums == [N_ROWS * turn for turn in range(6)]
    assert len(source.strikes["killed"]) == 1
    counts = [path.stat().st_size for path in calls.iterdir()]
    # files: of the pass that was under way, some blocks a second time; else from the first pass on
    assert (max(counts) <= 7) == in_files


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", MODELS)
def test_twenty_killed_workers_change_no_bit(name, cluster):
    whole = bits(clone(MODELS[name]).fit(MemoryBlocks(blobs(N_ROWS), block_rows=BLOCK)))
    passes = np.random.default_rng(0).integers(1, 16, size=20)
    equal = [
        fit_with_a_kill(name, cluster, int(at_pass), victim) == whole
        for victim, at_pass in enumerate(passes)
    ]
    assert equal == [True] * 20
