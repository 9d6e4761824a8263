"""Scaling of time and memory: six doublings of rows, columns, members and strata.

Each curve doubles one size and keeps the others fixed. Times are CPU seconds of one core, the best
of ``--repeats``; memory is the peak in addition to the rows (``tracemalloc``), in a separate run.
The exponent is the log-log slope over the last four sizes, where fixed costs matter least: 1 is
linear. ``--draw`` writes the figure of the documentation and its data.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import json
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np

from all_benchmarks import row
from ensemblage.inner import InnerKMeans
from ensemblage.strata import HISS, StrataEnsembleClassifier

STATIC = Path(__file__).parents[1] / "docs" / "_static"
N_ITER = 5


def blobs(n_rows, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=1.5, size=(40, n_columns))
    return rng.normal(size=(n_rows, n_columns)) + centres[rng.integers(40, size=n_rows)]


def hiss(n_rows=20_000, n_columns=16, n_strata=10):
    X = blobs(n_rows, n_columns)
    model = HISS(n_strata, 2 / n_strata, init=X[:n_strata], max_iter=N_ITER, tol=0, polish=False)
    return lambda: model.fit(X)


def inner_kmeans(n_rows=20_000, n_columns=16, n_views=20):
    X = blobs(n_rows, n_columns)
    model = InnerKMeans(10, n_views=n_views, init=X[:10], max_iter=N_ITER, tol=0, random_state=0)
    return lambda: model.fit(X)


def ensemble(n_rows=2000, n_columns=16, n_strata=8):
    X = blobs(n_rows, n_columns)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = StrataEnsembleClassifier(HISS(n_strata, 2 / n_strata, random_state=0), random_state=0)
    return lambda: model.fit(X, y)


def doublings(start):
    return [start * 2**k for k in range(7)]


CURVES = {
    "HISS, rows": (hiss, "n_rows", doublings(4000)),
    "HISS, columns": (hiss, "n_columns", doublings(4)),
    "HISS, strata": (hiss, "n_strata", doublings(4)),
    "InnerKMeans, rows": (inner_kmeans, "n_rows", doublings(4000)),
    "InnerKMeans, columns": (inner_kmeans, "n_columns", doublings(4)),
    "InnerKMeans, views": (inner_kmeans, "n_views", doublings(4)),
    "StrataEnsembleClassifier, rows": (ensemble, "n_rows", doublings(500)),
    "StrataEnsembleClassifier, members": (ensemble, "n_strata", doublings(2)),
}


def seconds(work, repeats):
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def peak_mb(work):
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6


def exponent(sizes, values):
    slope, _ = np.polyfit(np.log(sizes[-4:]), np.log(values[-4:]), 1)
    return float(slope)


def measure(label, repeats):
    make, what, sizes = CURVES[label]
    make(**{what: sizes[0]})()  # compiles
    times, peaks = [], []
    for size in sizes:
        work = make(**{what: size})
        times.append(seconds(work, repeats))
        peaks.append(peak_mb(work))
    curve = {
        "sizes": sizes, "seconds": times, "megabytes": peaks,
        "time exponent": exponent(sizes, times), "memory exponent": exponent(sizes, peaks),
    }  # fmt: skip
    print(
        f"{label:34} {sizes[0]:>6} to {sizes[-1]:<7} {times[0]:8.3f} to {times[-1]:7.2f} s, "
        f"exponent {curve['time exponent']:.2f}; {peaks[0]:6.1f} to {peaks[-1]:7.1f} MB, exponent "
        f"{curve['memory exponent']:.2f}",
        flush=True,
    )
    row(f"{label}: exponent of time", curve["time exponent"], unit="")
    row(f"{label}: exponent of memory", curve["memory exponent"], unit="")
    return curve


def draw(curves, path):
    """Plot time and memory, relative to the smallest size, against doublings."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "ensemblage", "svg.fonttype": "none"}
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharex=True, layout="constrained")
    steps = np.arange(7)
    for axis, what, name in zip(axes, ("seconds", "megabytes"), ("time", "memory"), strict=True):
        axis.plot(steps, 2.0**steps, color="0.7", linewidth=5, label="linear")
        for label, curve in curves.items():
            legend = f"{label} ({curve[f'{name} exponent']:.2f})"
            axis.plot(steps, np.array(curve[what]) / curve[what][0], marker=".", label=legend)
        axis.set(xlabel="doublings", title=f"{name}, relative to the smallest")
        axis.set_yscale("log", base=2)
        axis.legend(fontsize=6.5)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--curves", nargs="+", default=list(CURVES))
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--draw", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    curves = {label: measure(label, args.repeats) for label in args.curves}
    if args.draw:
        draw(curves, STATIC / "growth.svg")
        text = json.dumps(curves, indent=1)
        (STATIC / "growth.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
