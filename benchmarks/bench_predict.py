"""``ensemblage predict`` on a large Parquet file compared with the model on arrays.

A file (16 columns of float32, one categorical) is written, a model is fitted and saved, and the
command predicts the file in a separate process. It is compared with ``predict_proba`` and
``predict`` of the same model on arrays in memory, block by block, which encode the rows twice; and
with the rows encoded once for both, as in the command. Rates are rows per CPU second; memory is
peak anonymous memory. ``--rows`` sets the size, ``--methods`` the models.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from all_benchmarks import row
from ensemblage.datasets import Dataset, Table
from ensemblage.persistence import load, save
from ensemblage.studies import open_rows, predict, train

N_COLUMNS, BLOCK = 16, 65_536
MOST_MB, LEAST_RATE = 600, 0.8
JOBS = np.array(["cook", "smith", "baker", "pilot"], dtype=object)
NAMES = [f"x{j}" for j in range(N_COLUMNS)]


def make_rows(n_rows, seed):
    """Numeric columns, category codes, and classes that depend on four columns."""
    rng = np.random.default_rng(seed)
    numeric = rng.normal(size=(n_rows, N_COLUMNS)).astype(np.float32)
    codes = rng.integers(len(JOBS), size=n_rows)
    score = numeric[:, 0] + numeric[:, 1] * numeric[:, 2] + (codes == 1)
    return numeric, codes, score + rng.logistic(size=n_rows) > 0.3


def write_rows(path, n_rows):
    """Write the file in parts of a million rows."""
    writer = None
    for start in range(0, n_rows, 1_000_000):
        numeric, codes, _ = make_rows(min(1_000_000, n_rows - start), start + 1)
        jobs = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(JOBS)).cast(pa.string())
        table = pa.table({**dict(zip(NAMES, numeric.T, strict=True)), "job": jobs})
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def fitted(folder, method):
    """Fit a model to a few thousand rows and save it."""
    numeric, codes, truth = make_rows(4000, 0)
    columns = [*numeric.T.astype(float), JOBS[codes], np.where(truth, "yes", "no").astype(object)]
    dataset = Dataset.from_table(Table((*NAMES, "job", "class"), tuple(columns)), "class")
    path = folder / f"{method}.skops"
    save(
        train(dataset, method, n_splits=2).model, path, columns=dataset.feature_names,
        kinds=dataset.kinds, target="class", X=dataset.X,
    )  # fmt: skip
    return path


def bare_seconds(model, path, n_rows):
    """CPU seconds of the model on arrays, encoded twice and once; number of rows."""
    saved, twice, once, done = load(model), 0.0, 0.0, 0
    for new in open_rows(saved, path, block_rows=BLOCK):
        X = np.asarray(new.X)
        saved.model.predict_proba(X[:10])  # compiles
        start = time.process_time()
        saved.model.predict_proba(X)
        saved.model.predict(X)
        middle = time.process_time()
        predict(saved.model, X)
        twice, once = twice + middle - start, once + time.process_time() - middle
        done += len(new.X)
        if done >= n_rows:
            break
    return twice, once, done


def anonymous_mb(pid):
    """Anonymous memory of a process, in MB."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:  # it has ended
        return 0.0
    line = next((each for each in text.splitlines() if each.startswith("Anonymous:")), "x 0 kB")
    return int(line.split()[1]) / 1024


def run_command(*arguments):
    """Run a command; return its CPU seconds and peak memory."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "ensemblage", *arguments]
    process = subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True)
    most = 0.0
    while process.poll() is None:
        most = max(most, anonymous_mb(process.pid))
        time.sleep(0.1)
    if process.returncode:
        raise SystemExit(process.stderr.read())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, most


def measure(folder, path, method, n_rows):
    """Print the comparison for one method."""
    model, output = fitted(folder, method), folder / "out.parquet"
    seconds, mb = run_command("predict", model, path, "-o", output)
    assert parquet.ParquetFile(output).metadata.num_rows == n_rows
    bare, once, done = bare_seconds(model, path, min(n_rows, 2_000_000))
    ours, theirs = n_rows / seconds, done / bare
    row(f"predict a file, {method}, {n_rows:,} rows", ours, theirs, unit="rows/s", bar=LEAST_RATE,
        least=True, against="the model on arrays")  # fmt: skip
    row(f"predict a file, {method}, anonymous memory", mb, unit="MB", bar=MOST_MB)
    print(
        f"{method}, {n_rows:,} rows: predict {ours / 1e3:,.0f} thousand rows per s, model on "
        f"arrays {theirs / 1e3:,.0f}, ratio {ours / theirs:.2f} (limit {LEAST_RATE}); with rows "
        f"encoded once {done / once / 1e3:,.0f}, ratio {ours * once / done:.2f}; anonymous memory "
        f"{mb:.0f} MB (limit {MOST_MB})",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--methods", nargs="+", default=["strata", "logistic"])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        path, n_rows = Path(name) / "big.parquet", int(args.rows)
        write_rows(path, n_rows)
        print(f"a file of {path.stat().st_size / 1e6:,.0f} MB", flush=True)
        for method in args.methods:
            measure(Path(name), path, method, n_rows)


if __name__ == "__main__":
    main()
