"""Fits on a Dask cluster are bit-identical to fits in memory."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from blocks.fitted_bits import CASES, bits, blobs
from ensemblage.blocks import Block, DaskBlocks, MemoryBlocks, open_blocks
from ensemblage.blocks._dask import _shared_folder, balance_parts
from ensemblage.inner import InnerKMeans
from ensemblage.strata import HISS, _hiss_sizes
from ensemblage.strata._hiss_sizes import ActiveSet

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

BLOCK = 64  # 16 blocks are a part, so there are six
pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
# two covariance types, two schedules: the slow tests run all
FEW = ["hiss-diag", "hiss-full", "hiss-classes", "mixture", "anneal-fit", "paper-instance"]


def start(n_workers):
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
    )


@pytest.fixture(scope="module")
def client():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Dask: ports in use, sockets closed late
        cluster = start(2)
        with distributed.Client(cluster) as made:
            yield made
        cluster.close()


def rows():
    return da.from_array(blobs(), chunks=(1700, 3))


def same_bits(name, collection):
    model, given = CASES[name]
    here = clone(model).fit(MemoryBlocks(blobs(), block_rows=BLOCK), **given)
    there = clone(model).fit(open_blocks(collection, block_rows=BLOCK), **given)
    assert bits(here) == bits(there)
    assert not {"memberships_", "labels_"} & set(vars(there))


@pytest.mark.parametrize("name", FEW)
def test_an_array_is_bit_identical_to_memory(name, client):
    same_bits(name, rows())


@pytest.mark.parametrize("name", ["hiss-diag", "paper-instance"])
def test_state_files_are_bit_identical_to_memory_and_removed(name, client, tmp_path, caplog):
    model, given = CASES[name]
    here = clone(model).fit(MemoryBlocks(blobs(), block_rows=BLOCK), **given)
    source = open_blocks(rows(), block_rows=BLOCK, spill_folder=tmp_path)
    with caplog.at_level("INFO", "ensemblage"):
        there = clone(model).fit(source, **given)
    assert bits(here) == bits(there)
    assert "The state of the rows is stored in" in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_a_worker_without_access_to_the_folder_is_named(client, tmp_path, monkeypatch):
    monkeypatch.setattr(client, "run", lambda *_: {"tcp://there:1": False})
    with pytest.raises(ValueError, match=r"worker tcp://there:1 cannot access spill_folder='.*all"):
        _shared_folder(client, tmp_path)


def test_an_active_set_is_bit_identical_to_memory(client, monkeypatch):
    monkeypatch.setattr(_hiss_sizes, "MIN_ENTRIES", 0)
    taken = []
    monkeypatch.setattr(_hiss_sizes, "ActiveSet", lambda *own: taken.append(own) or ActiveSet(*own))
    same_bits("hiss-diag", rows())
    assert len(taken) >= 2  # in memory and on the cluster


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_any_number_of_workers_is_bit_identical_to_memory(n_workers):
    cluster = start(n_workers)
    with distributed.Client(cluster):
        for name in CASES:
            same_bits(name, rows())
    cluster.close()


def test_a_dataframe_gives_feature_names_and_the_same_bits(client):
    frame = pd.DataFrame(blobs(), columns=list("abcd")).assign(text="x")
    frame = dd.from_pandas(frame, npartitions=3)
    model = InnerKMeans(3, n_views=5, random_state=0)
    here = clone(model).fit(MemoryBlocks(blobs(), block_rows=BLOCK))
    source = open_blocks(frame, columns=list("abcd"), block_rows=BLOCK)
    there = clone(model).fit(source)
    assert bits(here) == bits(there)
    assert there.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(
        ValueError, match=r"Column 'text' of the Dask dataframe is .*expected numeric"
    ):
        model.fit(frame)
    with pytest.raises(ValueError, match=r"no column 'e': choose among a, b, c, d, text"):
        open_blocks(frame, columns=["e"])


def count_up(block: Block):
    before = np.zeros(len(block.rows)) if block.state is None else block.state
    return before + 1, (block.start, block.weights.sum(), len(block.rows))


def test_blocks_are_in_order_and_states_persist(client):
    X, weights = blobs(3000), np.arange(3000.0)
    sources = MemoryBlocks(X, block_rows=BLOCK), DaskBlocks(da.from_array(X), block_rows=BLOCK)
    for chosen in (np.arange(3000), np.arange(0, 3000, 7)):
        here, there = (source.begin(weights).select(chosen) for source in sources)
        for _ in range(2):
            assert list(here.map_with_state(count_up)) == list(there.map_with_state(count_up))
        assert here.reduce(count_states) == there.reduce(count_states) == (2 * len(chosen),)
        there.reset()
        assert list(there.map(lambda block: block.state)) == [None] * -(-len(chosen) // BLOCK)


def count_states(block: Block):
    return (int(block.state.sum()),)


def test_parts_grow_with_the_rows(client, monkeypatch):
    from ensemblage.blocks import _dask as _dask_rows

    monkeypatch.setattr(_dask_rows, "PARTS_PER_THREAD", 1)
    source = DaskBlocks(da.from_array(blobs(), chunks=500), block_rows=32)
    assert len(source._parts) == 2  # of 12 groups of 512 rows, for two threads
    same_bits("hiss-diag", rows())


def test_a_non_finite_value_is_named_by_row(client):
    X = blobs()
    X[4321, 2] = np.nan
    with pytest.raises(
        ValueError, match=r"Column 2 is nan in row 4321 of the Dask collection \(co"
    ):
        HISS(2, 0.3).fit(da.from_array(X, chunks=1000))


@pytest.mark.parametrize(
    ("shape", "kind", "message"),
    [((8,), float, "two-dimensional"), ((8, 2), "U3", "must be a numeric two-dimensional Dask")],
)
def test_invalid_arrays_raise(client, shape, kind, message):
    with pytest.raises(ValueError, match=message):
        HISS(2, 0.3).fit(da.from_array(np.ones(shape).astype(kind)))
    with pytest.raises(ValueError, match="have no names: omit columns"):
        open_blocks(rows(), columns=["a"])
    with pytest.raises(ValueError, match="`out` is not supported for a Dask collection"):
        open_blocks(rows(), out="out.npy")
    with pytest.raises(
        ValueError, match=r"spill_folder='no/where' is not a folder: create it first"
    ):
        open_blocks(rows(), spill_folder="no/where")


def test_without_a_cluster_the_error_says_how_to_start_one(monkeypatch):
    def no_client():
        raise ValueError("No clients found")

    monkeypatch.setattr(distributed, "default_client", no_client)
    with pytest.raises(ValueError, match=r"there is none: start one with `client = dask\.distrib"):
        HISS(2, 0.3).fit(rows())


def test_without_dask_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r'needs distributed, .*pip install "ensemblage\[dask\]"'):
        HISS(2, 0.3).fit(rows())


BARE_WORKER = """
import sys
sys.modules["ensemblage"] = None  # as if it were not installed
from distributed.cli.dask_worker import main
main()
"""


def test_a_worker_without_the_package_is_named():
    cluster = distributed.LocalCluster(n_workers=0, dashboard_address=":0")
    with cluster, distributed.Client(cluster) as client:
        with pytest.raises(ValueError, match=r"cluster has no workers: start some with"):
            HISS(2, 0.3).fit(rows())
        command = [sys.executable, "-c", BARE_WORKER, cluster.scheduler_address, "--no-nanny"]
        worker = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            client.wait_for_workers(1, timeout=60)
            with pytest.raises(ImportError, match=r"The worker tcp://\S+ cannot import ensemblage"):
                HISS(2, 0.3).fit(rows())
        finally:
            worker.terminate()
            worker.wait()


def test_parts_are_balanced_over_threads():
    a, b, c = "abc"
    assert balance_parts([a, a, a, b], {a: 1, b: 1}) == [b, None, None, None]
    assert balance_parts([a, a, a], {a: 1, b: 1}) == [
        b,
        None,
        None,
    ]  # two are a fair share of three
    assert balance_parts([a, b, b], {a: 1, b: 2}) == [None, None, None]
    assert balance_parts([a] * 4, {a: 1, b: 1, c: 2}) == [c, c, b, None]
    # parts of a lost worker, or that could not be read, are not moved
    assert balance_parts([None, c, a, a], {a: 1, b: 1}) == [None, None, None, None]
    assert balance_parts([], {a: 1}) == []


@given(st.lists(st.sampled_from("abcd"), max_size=40), st.tuples(*[st.integers(1, 3)] * 4))
def test_no_worker_has_more_than_its_share(holders, n_threads):
    threads = dict(zip("abcd", n_threads, strict=True))
    moves = balance_parts(holders, threads)
    after = [to or holder for to, holder in zip(moves, holders, strict=True)]
    for worker, n in threads.items():
        assert abs(after.count(worker) - len(holders) * n / sum(n_threads)) < 1
    assert all(to != holder for to, holder in zip(moves, holders, strict=True))


def test_rows_of_one_worker_are_distributed_to_all(client):
    first = next(iter(client.nthreads()))
    there = client.persist(da.from_array(blobs(), chunks=1024), workers=[first])
    source = DaskBlocks(there, block_rows=BLOCK)
    distributed.wait(source._parts)
    held = [each[0] for each in client.who_has(source._parts).values()]
    assert sorted(held.count(worker) for worker in client.nthreads()) == [len(held) // 2] * 2
