"""``ensemblage fit --method strata`` on a large Parquet file: memory and time by number of rows.

Files with ``--rows`` rows (16 columns of float32, two classes, six sources with different decision
rules) are written, and the command fits each in a separate process. Memory is peak anonymous
memory, and memory per row is the difference. It is compared with the rows in memory, in float64.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from all_benchmarks import row
from bench_predict import run_command
from ensemblage.datasets import make_multi_source

N_COLUMNS, PART, MOST_MB = 16, 500_000, 1024


def write_rows(path, n_rows):
    """Write a file in parts of half a million rows."""
    X, y = make_multi_source(6, n_samples=PART, n_features=N_COLUMNS, random_state=0)
    classes = np.array(["no", "yes"], dtype=object)[y]
    columns = {f"x{j}": column for j, column in enumerate(X.astype(np.float32).T)}
    table = pa.table({**columns, "class": classes})
    rng = np.random.default_rng(0)
    with parquet.ParquetWriter(path, table.schema) as writer:
        for start in range(0, n_rows, PART):
            some = rng.integers(PART, size=min(PART, n_rows - start))
            noise = rng.normal(scale=0.1, size=(len(some), N_COLUMNS)).astype(np.float32)
            own = {
                name: values[some] + noise[:, j] for j, (name, values) in enumerate(columns.items())
            }
            writer.write_table(pa.table({**own, "class": classes[some]}))


def measure(folder, n_rows):
    """Print time and memory of a fit; return the memory in MB."""
    path = folder / f"rows{n_rows}.parquet"
    write_rows(path, n_rows)
    how = ("--target", "class", "--method", "strata", "--jobs", 1)
    seconds, mb = run_command("fit", path, *how, "--output", folder / "model.skops")
    table = n_rows * N_COLUMNS * 8 / 2**20
    print(
        f"{n_rows:,} rows, a file of {path.stat().st_size / 1e6:,.0f} MB: {seconds:.0f} s of CPU, "
        f"{seconds / n_rows * 1e6:.0f} microseconds per row; anonymous memory {mb:.0f} MB (limit "
        f"{MOST_MB}); the rows in float64 {table:.0f} MB",
        flush=True,
    )
    row(f"fit a file in blocks, {n_rows:,} rows, anonymous memory", mb, unit="MB", bar=MOST_MB)
    path.unlink()
    return mb


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, nargs=2, default=[1e6, 5e6])
    few, many = (int(each) for each in parser.parse_args().rows)
    with tempfile.TemporaryDirectory() as name:
        less, more = (measure(Path(name), n_rows) for n_rows in (few, many))
    growth = (more - less) * 2**20 / (many - few)
    print(f"memory per further row: {growth:.0f} bytes (in float64: {8 * N_COLUMNS})")


if __name__ == "__main__":
    main()
