"""What a fit would cost at internet scale: a billion rows, a hundred columns, two hundred workers.

Nothing of that size is run. Rates are measured here, on one core: how fast a pass computes per row
and column, how fast Parquet is read, how large the statistics are that a block sends, how fast they
are merged and how fast one process passes them on. From these follow bytes, seconds and the first
thing that breaks. What is assumed and not measured stands in ``Assumed``.

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
"""Rows near a cap in a sum, for each stratum: about 8,192 of all."""


class Assumed(NamedTuple):
    """What is not measured here: of a usual data centre."""

    network: float = 1.25e9  # bytes per second of the client's link, 10 Gbit/s
    task_overhead: float = 1e-3  # seconds that a scheduler spends on a task, by Dask's own word
    cores: int = 1  # of a worker
    memory: float = 16e9  # bytes of a worker


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
    """CPU seconds of one pass per row: a long fit less a short one."""
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
    """Make the statistics that one block sends in a pass of HISS."""
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
    """Seconds of one pass, by who spends them."""

    compute: float
    read: float
    client: float
    sent: float

    def seconds(self):
        """Give the time of the pass: the client merges while workers compute."""
        return max(self.compute, self.client)


class Size(NamedTuple):
    """What is fitted, and on how many workers."""

    rows: float
    columns: int
    workers: int


class Traffic(NamedTuple):
    """How many sums radius the client in a pass, and in how many tasks."""

    sums: float
    tasks: float


def ways(size, assumed):
    """Give the traffic as DaskBlocks has it, and beside it with more or less merged on workers."""
    blocks, groups = size.rows / BLOCK_ROWS, size.rows / GROUP_ROWS
    per_task = max(1, -(-groups // (PARTS_PER_THREAD * size.workers * assumed.cores)))
    return {
        f"as it is, a sum per {GROUP_ROWS:,} rows": Traffic(groups, groups / per_task),
        f"if each block of {BLOCK_ROWS:,} rows spoke": Traffic(blocks, blocks),
        "if each worker sent one sum": Traffic(size.workers, size.workers),
    }


def one_pass(row_seconds, partial, traffic, size, rates, assumed):
    """Price a pass in which sums of so many bytes radius the client."""
    sent = traffic.sums * partial
    client = traffic.sums * rates.merge + traffic.tasks * assumed.task_overhead
    client += sent / assumed.network
    spread = size.workers * assumed.cores
    read = size.rows * size.columns * 4 * rates.read_byte / spread
    return Cost(size.rows * row_seconds / spread, read, client, sent)


def show(name, row_seconds, partial, passes, size, rates, assumed):
    """Print the cost of a fit, by what is sent."""
    for how, traffic in ways(size, assumed).items():
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
    carry = n_rows * N_STRATA * 4
    print(f"{n_rows:.0e} x {n_columns}: {total / 1e12:.2f} TB, {total / workers / 1e9:.1f} GB a "
          f"worker, and {carry / workers / 1e9:.1f} GB of memberships there")  # fmt: skip
    size = Size(n_rows, n_columns, workers)
    passes = HISS_ITERATIONS * (1 + CAP_PASSES) + POLISH_PASSES
    show("HISS", rates.hiss_row, rates.hiss_partial, passes, size, rates, assumed)
    show("InnerKMeans", rates.kmeans_row, rates.kmeans_partial, KMEANS_PASSES, size, rates, assumed)
    fits = assumed.memory / ((total + carry) / n_rows)
    print(f"a worker of {assumed.memory / 1e9:.0f} GB holds {fits / 1e6:.0f} million rows and what "
          f"belongs to them: {n_rows / fits:.0f} workers hold all")  # fmt: skip


if __name__ == "__main__":
    main()
