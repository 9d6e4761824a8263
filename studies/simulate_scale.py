"""Simulated cost of a fit: a billion rows, a hundred columns, two hundred workers.

Nothing of that size is run. Rates are measured on one core: time of a pass per row, reading of
Parquet, size of a block's statistics, and time to merge them. Bytes, seconds and the first
bottleneck follow. ``Assumed`` has the values that are assumed, not measured.

    python studies/simulate_scale.py [--rows 1e9] [--columns 100] [--workers 200]
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import pickle
import tempfile
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from ensemblage.blocks import BLOCK_ROWS, add_fields
from ensemblage.blocks._blocks import GROUP_BLOCKS
from ensemblage.blocks._dask import PARTS_PER_THREAD
from ensemblage.inner import InnerKMeans
from ensemblage.strata import HISS
from ensemblage.strata._gaussian_kernels import Moments
from ensemblage.strata._hiss_kernels import Entries, WindowSums

SAMPLE = 100_000
GROUP_ROWS = GROUP_BLOCKS * BLOCK_ROWS
N_STRATA, N_CLUSTERS, N_VIEWS = 20, 10, 20
HISS_ITERATIONS, CAP_PASSES, POLISH_PASSES, KMEANS_PASSES = 50, 2, 7, 30
NEAR_CAPS = 1
"""Rows near a cap per sum and stratum: about 8,192 in total."""


class Assumed(NamedTuple):
    """Assumed values of a typical data centre."""

    network: float = 1.25e9  # bytes per second of the client's link, 10 Gbit/s
    task_overhead: float = 1e-3  # seconds of the scheduler per task, by Dask's documentation
    cores: int = 1  # per worker
    memory: float = 16e9  # bytes per worker


class Rates(NamedTuple):
    """Seconds per row, or per byte, and bytes; of one core."""

    hiss_row: float
    kmeans_row: float
    read_byte: float
    hiss_partial: int
    kmeans_partial: int
    merge: float


def rows_of(n_columns):
    rng = np.random.default_rng(0)
    return rng.normal(size=(SAMPLE, n_columns)).astype(np.float32)


def per_pass(fit, X, short, long):
    """CPU seconds of one pass per row: difference of a long and a short fit."""
    spent = {n: [] for n in (short, long)}
    for _ in range(3):
        for n, taken in spent.items():
            start = time.process_time()
            fit(X, n)
            taken.append(time.process_time() - start)
    return (min(spent[long]) - min(spent[short])) / (long - short) / len(X)


def hiss(X, n_iter):
    size = 2 / N_STRATA
    HISS(N_STRATA, size, init=X[:N_STRATA], max_iter=n_iter, tol=0, polish=False).fit(X)


def kmeans(X, n_iter):
    options = {"schedule": "paper", "tol": 0, "random_state": 0, "n_init": 1}
    InnerKMeans(N_CLUSTERS, n_views=N_VIEWS, init=X[:N_CLUSTERS], max_iter=n_iter, **options).fit(X)


def read_seconds(X):
    """CPU seconds to read a byte of a Parquet file of float32 columns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        parquet.write_table(pa.table({f"x{j}": column for j, column in enumerate(X.T)}), path)
        spent = []
        for _ in range(5):
            start = time.process_time()
            for batch in parquet.ParquetFile(path).iter_batches(BLOCK_ROWS, use_threads=False):
                np.column_stack([column.to_numpy() for column in batch.columns])
            spent.append(time.process_time() - start)
        return min(spent) / X.nbytes


def hiss_partial(n_columns):
    """Statistics that one block sends in a pass of HISS."""
    wide, few = np.zeros((N_STRATA, n_columns)), np.zeros(N_STRATA * NEAR_CAPS)
    mass, entries = np.zeros(N_STRATA), Entries(few.astype(np.int64), few, few.copy())
    near = WindowSums(0.0, mass, mass.copy(), mass.copy(), entries)
    return Moments(mass.copy(), wide, wide.copy(), 0.0, near)


def measure(n_columns):
    X, partial = rows_of(n_columns), hiss_partial(n_columns)
    hiss(X[:2000], 2), kmeans(X[:2000], 2)  # compiles
    start = time.process_time()
    for _ in range(1000):
        add_fields(partial, partial)
    merged = (time.process_time() - start) / 1000
    sums = (np.zeros((N_CLUSTERS, n_columns)), np.zeros(N_CLUSTERS), 0.0)
    return Rates(
        per_pass(hiss, X, 2, 8), per_pass(kmeans, X, 2, 8), read_seconds(X),
        len(pickle.dumps(partial, 5)), len(pickle.dumps(sums, 5)), merged,
    )  # fmt: skip


class Cost(NamedTuple):
    """Seconds of one pass by part, and bytes sent."""

    compute: float
    read: float
    client: float
    sent: float

    def seconds(self):
        """Time of the pass: the client merges while workers compute."""
        return max(self.compute, self.client)


class Size(NamedTuple):
    """Size of the data and number of workers."""

    rows: float
    columns: int
    workers: int


class Traffic(NamedTuple):
    """Number of sums sent to the client per pass, and number of tasks."""

    sums: float
    tasks: float


def traffic_by_merging(size, assumed):
    """Traffic of DaskBlocks, and with less or more merging on the workers."""
    blocks, groups = size.rows / BLOCK_ROWS, size.rows / GROUP_ROWS
    per_task = max(1, -(-groups // (PARTS_PER_THREAD * size.workers * assumed.cores)))
    return {
        f"current, one sum per {GROUP_ROWS:,} rows": Traffic(groups, groups / per_task),
        f"one sum per block of {BLOCK_ROWS:,} rows": Traffic(blocks, blocks),
        "one sum per worker": Traffic(size.workers, size.workers),
    }


def one_pass(row_seconds, partial, traffic, size, rates, assumed):
    """Cost of a pass whose sums are sent to the client."""
    sent = traffic.sums * partial
    client = traffic.sums * rates.merge + traffic.tasks * assumed.task_overhead
    client += sent / assumed.network
    cores = size.workers * assumed.cores
    read = size.rows * size.columns * 4 * rates.read_byte / cores
    return Cost(size.rows * row_seconds / cores, read, client, sent)


def show(name, row_seconds, partial, passes, size, rates, assumed):
    """Print the cost of a fit, by traffic."""
    for how, traffic in traffic_by_merging(size, assumed).items():
        cost = one_pass(row_seconds, partial, traffic, size, rates, assumed)
        print(
            f"{name}, {how}: {cost.sent / 1e6:,.1f} MB and {traffic.tasks:,.0f} tasks per pass; "
            f"workers {cost.compute:.1f} s, client {cost.client:.1f} s; {passes} passes, rows read "
            f"once in {cost.read:.0f} s: {(cost.read + passes * cost.seconds()) / 60:,.0f} min"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e9)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--workers", type=int, default=200)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    assumed, rates = Assumed(), measure(args.columns)
    n_rows, n_columns, workers = args.rows, args.columns, args.workers
    print(f"measured, one core, {n_columns} columns of float32:")
    print(f"  HISS {1e9 * rates.hiss_row:.0f} ns per row and pass ({N_STRATA} strata), InnerKMeans "
          f"{1e9 * rates.kmeans_row:.0f} ns ({N_CLUSTERS} clusters, {N_VIEWS} views)")  # fmt: skip
    print(f"  Parquet {1e-6 / rates.read_byte:,.0f} MB per s; a block's statistics "
          f"{rates.hiss_partial / 1e3:.0f} kB and {rates.kmeans_partial / 1e3:.0f} kB, merged in "
          f"{1e6 * rates.merge:.0f} microseconds")  # fmt: skip
    print(f"assumed: {assumed}")
    total = n_rows * n_columns * 4
    state = n_rows * N_STRATA * 4
    print(f"{n_rows:.0e} x {n_columns}: {total / 1e12:.2f} TB, {total / workers / 1e9:.1f} GB per "
          f"worker, and {state / workers / 1e9:.1f} GB of memberships")  # fmt: skip
    size = Size(n_rows, n_columns, workers)
    passes = HISS_ITERATIONS * (1 + CAP_PASSES) + POLISH_PASSES
    show("HISS", rates.hiss_row, rates.hiss_partial, passes, size, rates, assumed)
    show("InnerKMeans", rates.kmeans_row, rates.kmeans_partial, KMEANS_PASSES, size, rates, assumed)
    fits = assumed.memory / ((total + state) / n_rows)
    print(f"a worker with {assumed.memory / 1e9:.0f} GB stores {fits / 1e6:.0f} million rows and "
          f"their memberships: {n_rows / fits:.0f} workers for all rows")  # fmt: skip


if __name__ == "__main__":
    main()
