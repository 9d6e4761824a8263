"""Rows on disk and on a Dask cluster compared with memory: equal bits, memory, time per row.

``--rows`` sets the size. Times are wall-clock times: run it on an idle machine. ``--only peers``
compares with scikit-learn's and dask-ml's estimators on the same rows in memory, in CPU time.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import tempfile
import threading
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from all_benchmarks import row
from ensemblage.blocks import DaskBlocks, MemoryBlocks, open_blocks
from ensemblage.blocks._blocks import LocalBlocks
from ensemblage.inner import InnerKMeans
from ensemblage.strata import HISS, MixtureStrata

D = 16
IN_MEMORY = 1_000_000
OF_ROWS = {"memberships_", "labels_", "votes_"}
MODELS = {
    "HISS, 8 strata, 5 iterations": HISS(8, 0.3, max_iter=5, tol=0.0, random_state=0),
    "InnerKMeans, 10 clusters, 20 views, 5 passes": InnerKMeans(
        10, n_views=20, max_iter=5, tol=0.0, schedule="paper", random_state=0
    ),
}
SMALL = {
    **{kind: HISS(4, 0.3, covariance_type=kind, max_iter=5) for kind in ("spherical", "diag")},
    **{kind: HISS(4, 0.3, covariance_type=kind, max_iter=5) for kind in ("tied", "full")},
    "pair of sizes": HISS(4, (0.1, 0.4), total_size=1.0, max_iter=5),
    "class balance": HISS(4, 0.3, class_balance=True, max_iter=5),
    "mixture": MixtureStrata(4, max_iter=5),
    "annealed": InnerKMeans(5, n_views=10, max_iter=10),
    "paper": InnerKMeans(5, n_views=10, max_iter=10, schedule="paper", resample="fit"),
}


def rows_of(part, n_rows, seed=0):
    """Rows around eight centres, the same in every process."""
    centres = 3 * np.random.default_rng(seed).normal(size=(8, D))
    rng = np.random.default_rng([seed, part])
    return (rng.normal(size=(n_rows, D)) + centres[rng.integers(8, size=n_rows)]).astype(np.float32)


def write_rows(path, n_rows, chunk=500_000):
    rows = np.lib.format.open_memmap(path, "w+", np.float32, (n_rows, D))
    for part, start in enumerate(range(0, n_rows, chunk)):
        rows[start : start + chunk] = rows_of(part, min(chunk, n_rows - start))
    rows.flush()


def anonymous():
    """Anonymous memory of this process, in MB."""
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Anonymous:"):
            return int(line.split()[1]) / 1e3
    raise AssertionError("no line Anonymous")


class Peak:
    """Peak memory, by sampling."""

    def __init__(self, every=0.5):
        self.every = every  # seconds; sampling costs CPU time of the process

    def __enter__(self):
        self.most, self.over = anonymous(), threading.Event()
        self.watch = threading.Thread(target=self.sample)
        self.watch.start()
        return self

    def sample(self):
        """Sample until the end."""
        while not self.over.wait(self.every):
            self.most = max(self.most, anonymous())

    def __exit__(self, *error):
        self.over.set()
        self.watch.join()


@contextmanager
def counted_passes():
    """Count passes by kernel; the counts depend on the rows, not on where they are."""
    found, blocks = Counter(), LocalBlocks._blocks  # noqa: SLF001

    def counting(source, kernel):
        found[kernel.__name__] += 1
        return blocks(source, kernel)

    with patch.object(LocalBlocks, "_blocks", counting):
        yield found


@contextmanager
def timed_passes():
    """Time the passes with state on a Dask cluster: the iterations."""
    found, advance = [], DaskBlocks._advance  # noqa: SLF001

    def timing(source, *call):
        start = time.perf_counter()
        results = advance(source, *call)
        found.append(time.perf_counter() - start)
        return results

    with patch.object(DaskBlocks, "_advance", timing):
        yield found


class Timed(NamedTuple):
    """Wall-clock time, CPU time (less sensitive to other work), and the fitted model."""

    wall: float
    processor: float
    fitted: Any


def timed(model, X, **given):
    start = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = clone(model).fit(X, **given)
    return Timed(time.perf_counter() - start[0], time.process_time() - start[1], fitted)


def bits(model):
    names = [name for name in vars(model) if name.endswith("_") and name not in OF_ROWS]
    return {name: np.asarray(getattr(model, name)).tobytes() for name in names}


def on_disk(folder, n_rows):
    path = folder / "rows.npy"
    write_rows(path, n_rows)
    for name, model in MODELS.items():
        few = np.load(path, mmap_mode="r")[: min(IN_MEMORY, n_rows)].copy()
        timed(model, few[:20_000])  # kernels are compiled
        with counted_passes() as few_passes:
            runs = [timed(model, few)[:2]]
        runs.append(timed(model, few)[:2])
        memory = np.min(runs, axis=0) / len(few)
        del few
        with Peak() as peak, counted_passes() as passes:
            disk = np.array(timed(model, path)[:2]) / n_rows
        wall, processor = disk / memory
        row(f"{name}, {n_rows:,} rows on disk, per row", 1e6 * disk[0], 1e6 * memory[0], unit="us",
            against="rows in memory", bar=1.3)  # fmt: skip
        row(f"{name}, {n_rows:,} rows on disk, anonymous memory", peak.most, unit="MB", bar=1000)
        print(f"{name}: {n_rows} rows on disk {1e6 * disk[0]:.3f} us per row, in memory "
              f"{1e6 * memory[0]:.3f} us, ratio {wall:.2f} (limit 1.3; of CPU time "
              f"{processor:.2f}); anonymous memory {peak.most:.0f} MB (limit 1000)")  # fmt: skip
        print(f"  passes over rows on disk: {dict(passes)}")
        print(f"  over those in memory: {dict(few_passes)}", flush=True)
    path.unlink()


def same_bits(folder, client):
    import dask.array as da
    import pyarrow as pa
    import pyarrow.parquet as pq

    X = rows_of(0, 40_000)
    given = {"sample_weight": np.random.default_rng(1).gamma(2.0, size=len(X))}
    classes = np.random.default_rng(2).integers(3, size=len(X))
    np.save(folder / "few.npy", X)
    table = pa.table({f"x{j}": X[:, j] for j in range(D)})
    pq.write_table(table, folder / "few.parquet", row_group_size=7001)
    places = {
        "file": folder / "few.npy",
        "Parquet": folder / "few.parquet",
        f"Dask, {len(client.nthreads())} workers": da.from_array(X, chunks=(9000, D)),
    }
    for name, model in SMALL.items():
        model.set_params(random_state=0)
        more = given | ({"y": classes} if name == "class balance" else {})
        here = timed(model, MemoryBlocks(X, block_rows=512), **more).fitted
        for place, rows in places.items():
            there = timed(model, open_blocks(rows, block_rows=512), **more).fitted
            kept = {key: value for key, value in bits(there).items() if "names" not in key}
            assert kept == bits(here), (name, place)
        print(f"{name}: equal bits in memory and in {', '.join(places)}")


def halves_at_once(model, X, repeats):
    """Seconds for both halves of the rows in two independent processes.

    An upper limit of the speed of two cores, which share caches and memory.
    """

    def fit_half(number, sent):
        half = MemoryBlocks(np.array_split(X, 2)[number])
        sent.send([timed(model, half)[0] for _ in range(repeats)])

    fork = get_context("fork")
    ends = [fork.Pipe(duplex=False) for _ in range(2)]
    children = [fork.Process(target=fit_half, args=(i, sent)) for i, (_, sent) in enumerate(ends)]
    for child in children:
        child.start()
    taken = [read.recv() for read, _ in ends]
    for child in children:
        child.join()
    return min(max(both) for both in zip(*taken, strict=True))


def on_a_cluster(n_rows, repeats=3):
    import dask.array as da
    import distributed

    times = {name: {} for name in MODELS}
    chunk = 500_000
    X = np.concatenate([rows_of(part, chunk) for part in range(-(-n_rows // chunk))])[:n_rows]
    for name, model in MODELS.items():
        timed(model, X[:20_000])
        times[name][0] = min(timed(model, MemoryBlocks(X))[0] for _ in range(repeats))
        times[name]["halves"] = halves_at_once(model, X, repeats)
    for n_workers in (1, 2):
        with (
            distributed.LocalCluster(
                n_workers=n_workers, threads_per_worker=1, dashboard_address=":0"
            ) as at,
            distributed.Client(at),
        ):
            lazy = da.concatenate(
                [da.from_delayed(_later(part, chunk), (chunk, D), np.float32)
                 for part in range(len(X) // chunk)]
            )  # fmt: skip
            source = open_blocks(lazy)
            distributed.wait(source._parts)  # noqa: SLF001  before timing
            for name, model in MODELS.items():
                timed(model, source)
                per_pass, runs = [], []
                for _ in range(repeats):
                    with timed_passes() as passes:
                        runs.append(timed(model, source)[0])
                    per_pass.append(np.mean(passes))
                times[name][n_workers] = min(runs)
                times[name][n_workers, "pass"] = min(per_pass)
    for name, found in times.items():
        row(f"{name}, {len(X):,} rows, one worker", found[1], found[0], bar=1.15,
            against="one process")  # fmt: skip
        row(f"{name}, {len(X):,} rows, a pass with one worker", found[1, "pass"], found[2, "pass"],
            bar=1.7, least=True, against="two workers")  # fmt: skip
        row(f"{name}, {len(X):,} rows, one worker", found[1], found[2], against="two workers")
        print(
            f"{name}, {len(X)} rows: one process {found[0]:.2f} s, one worker {found[1]:.2f} s "
            f"(overhead {found[1] / found[0] - 1:.0%}, limit 15 %), two workers {found[2]:.2f} s "
            f"({found[1] / found[2]:.2f} times faster); both halves in two "
            f"independent processes: {found[0] / found['halves']:.2f} times faster; a pass with "
            f"one worker {found[1, 'pass']:.3f} s, with two {found[2, 'pass']:.3f} s "
            f"({found[1, 'pass'] / found[2, 'pass']:.2f} times faster, limit 1.7)"
        )


def models_of(X):
    """Models to fit for five passes, from the same initial rows."""
    start = {"init": X[:10], "max_iter": 5, "tol": 0.0}
    mixture = {"covariance_type": "diag", "means_init": X[:8], "init_params": "random_from_data"}
    return {
        "InnerKMeans, 20 views": InnerKMeans(10, n_views=20, schedule="paper", **start),
        "KMeans": KMeans(10, n_init=1, algorithm="lloyd", **start),
        "MiniBatchKMeans": MiniBatchKMeans(
            10, n_init=1, batch_size=8192, max_no_improvement=None, **start
        ),
        "HISS": HISS(8, 0.3, init=X[:8], max_iter=5, tol=0.0, polish=False),
        "GaussianMixture": GaussianMixture(8, max_iter=5, tol=0.0, **mixture),
    }


def peers(n_rows):
    """Print CPU time per row and pass and memory of each model, in separate processes."""
    found = {}
    for name in ("InnerKMeans, 20 views", "KMeans", "MiniBatchKMeans", "dask-ml's KMeans", "HISS",
                 "GaussianMixture"):  # fmt: skip
        with ProcessPoolExecutor(1, get_context("spawn")) as alone:
            each, passes, memory = alone.submit(measure_model, name, n_rows).result()
        if each is None:
            print(f"{name} skipped: not installed")
            continue
        found[name] = each
        print(f"{name}, {n_rows} rows: {1e9 * each:.0f} ns of CPU per row and pass ({passes:.3g} "
              f"passes), {memory:.0f} MB in addition to the rows", flush=True)  # fmt: skip
    for name, theirs in found.items():
        own = "HISS" if name == "GaussianMixture" else "InnerKMeans, 20 views"
        if name not in {"HISS", own}:
            row(f"{own}, {n_rows:,} rows, per row and pass", 1e9 * found[own], 1e9 * theirs,
                unit="ns", against=name)  # fmt: skip


def measure_model(name, n_rows):
    """CPU seconds per row and pass, passes, and memory in addition to the rows in MB."""
    X = np.concatenate([rows_of(part, 100_000) for part in range(-(-n_rows // 100_000))])[:n_rows]
    if name.startswith("dask-ml"):
        try:
            import dask
            import dask.array as da
            from dask_ml.cluster import KMeans as TheirKMeans
        except ImportError:
            return None, None, None
        dask.config.set(scheduler="synchronous")
        model = TheirKMeans(10, init=X[:10].astype(float), max_iter=5, tol=0.0)
        few, X = (da.from_array(rows, chunks=(100_000, D)) for rows in (X[:20_000], X))
    else:
        model, few = models_of(X)[name], X[:20_000]
    timed(model, few)  # kernels are compiled
    before = anonymous()
    with Peak(every=0.05) as peak:
        spent, fitted = timed(model, X)[1:]
    steps = getattr(fitted, "n_steps_", None)  # of mini-batches
    passes = fitted.n_iter_ if steps is None else steps * 8192 / n_rows
    return spent / n_rows / passes, passes, peak.most - before


def _later(part, n_rows):
    import dask

    return dask.delayed(rows_of)(part, n_rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000, help="rows on disk")
    parser.add_argument("--cluster-rows", type=int, default=5_000_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--only", choices=["bits", "disk", "cluster", "peers"])
    parser.add_argument("--peer-rows", type=int, default=500_000)
    parser.add_argument("--folder", help="folder for the rows; by default temporary")
    asked = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        if asked.only in {None, "bits"}:
            import distributed

            for n_workers in asked.workers:
                with (
                    distributed.LocalCluster(
                        n_workers=n_workers, threads_per_worker=1, dashboard_address=":0"
                    ) as at,
                    distributed.Client(at) as client,
                ):
                    same_bits(Path(folder), client)
        if asked.only in {None, "disk"}:
            on_disk(Path(folder), asked.rows)
        if asked.only in {None, "cluster"}:
            on_a_cluster(asked.cluster_rows)
        if asked.only in {None, "peers"}:
            peers(asked.peer_rows)


if __name__ == "__main__":
    main()
