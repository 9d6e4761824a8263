"""Time of one iteration of HISS compared with scikit-learn's diagonal GaussianMixture.

16 columns, 20 strata, one core, the same rows and the same initial centres for both. The time of
one iteration is the difference of fits with ``LONG`` and ``SHORT`` iterations, divided by the
difference in iterations (the first iterations of HISS take longer, as its caps still move far).
The two models alternate, and the best of several repeats is reported. Times are CPU seconds of this
process (one thread).
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import time
import tracemalloc
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from all_benchmarks import row
from ensemblage.strata import HISS

N_COLUMNS, N_STRATA, STRATUM_SIZE = 16, 20, 0.4
SHORT, LONG = 2, 20


def make_rows(n_rows, dtype, seed=0):
    """Overlapping blobs, so that no model converges within ``LONG`` iterations."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=1.5, size=(60, N_COLUMNS))
    rows = rng.normal(size=(n_rows, N_COLUMNS)) + centres[rng.integers(60, size=n_rows)]
    return rows.astype(dtype)


def hiss(rows, n_iter, polish=False):
    return HISS(
        N_STRATA, STRATUM_SIZE, init=rows[:N_STRATA], max_iter=n_iter, tol=0, polish=polish
    ).fit(rows)


def mixture(rows, n_iter):
    return GaussianMixture(
        N_STRATA, covariance_type="diag", means_init=rows[:N_STRATA],
        init_params="random_from_data", max_iter=n_iter, tol=0, random_state=0,
    ).fit(rows)  # fmt: skip


def seconds(fit, rows, n_iter):
    start = time.process_time()
    fitted = fit(rows, n_iter)
    assert fitted.n_iter_ == n_iter
    return time.process_time() - start


def per_iteration(fits, rows, repeats):
    """Best time of one iteration for each model."""
    times = {(fit, n): [] for fit in fits for n in (SHORT, LONG)}
    for _ in range(repeats):
        for (fit, n), taken in times.items():
            taken.append(seconds(fit, rows, n))
    return [(min(times[fit, LONG]) - min(times[fit, SHORT])) / (LONG - SHORT) for fit in fits]


def compare(sizes, repeats):
    print("n        dtype    GaussianMixture      HISS   ratio")
    for n_rows in sizes:
        for dtype in (np.float32, np.float64):
            rows = make_rows(n_rows, dtype)
            theirs, ours = per_iteration([mixture, hiss], rows, repeats)
            kind = np.dtype(dtype).name
            print(f"{n_rows:<8} {kind} {theirs:14.4f} s {ours:8.4f} s   {theirs / ours:.2f}")
            bar = 1 / (4 if n_rows >= 1e6 else 3.5)
            row(f"HISS iteration, {n_rows:,} rows, {kind}", ours, theirs, bar=round(bar, 3),
                against="diagonal GaussianMixture")  # fmt: skip


def linearity(sizes, repeats):
    print("n        dtype    HISS per row and iteration")
    for dtype in (np.float32, np.float64):
        rates = []
        for n_rows in sizes:
            # many short fits at small n, where one is over in a few milliseconds
            turns = max(repeats, min(30, int(3e5 / n_rows)))
            (taken,) = per_iteration([hiss], make_rows(n_rows, dtype), turns)
            rates.append(taken / n_rows)
            print(f"{n_rows:<8} {np.dtype(dtype).name} {1e9 * rates[-1]:12.0f} ns")
        middle = (max(rates) + min(rates)) / 2
        print(f"within {max(rates) / middle - 1:.0%} of {1e9 * middle:.0f} ns")
        row(
            f"HISS per row, largest to smallest rate, {np.dtype(dtype).name}",
            max(rates),
            min(rates),
        )


def memory(n_rows):
    print("n        dtype    peak of a fit in addition to X")
    for dtype in (np.float32, np.float64):
        rows = make_rows(n_rows, dtype)
        tracemalloc.start()
        memberships = hiss(rows, LONG, polish=True).memberships_.nbytes
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        kind = np.dtype(dtype).name
        print(f"{n_rows:<8} {kind} {peak / 1e6:8.0f} MB, {peak / memberships:.2f} x memberships")
        row(f"peak memory of a fit without X, {kind}", peak / 1e6, memberships / 1e6, unit="MB",
            against="its memberships")  # fmt: skip


def with_and_without(rows, n_strata, size, repeats=3):
    """Best time of a fit without and with polishing, alternating; and the iterations."""
    taken = {False: [], True: []}
    for _ in range(repeats):
        for polish, spent in taken.items():
            start = time.process_time()
            fitted = HISS(n_strata, size, polish=polish, random_state=0).fit(rows)
            spent.append(time.process_time() - start)
    return min(taken[False]), min(taken[True]), fitted.n_iter_


def polishing(n_rows):
    print("n        dtype    whole fit  iterations  polishing (limit 15%)")
    for dtype in (np.float32, np.float64):
        bare, whole, n_iter = with_and_without(make_rows(n_rows, dtype), N_STRATA, STRATUM_SIZE)
        kind = np.dtype(dtype).name
        print(f"{n_rows:<8} {kind} {whole:8.2f} s {n_iter:11} {1 - bare / whole:10.0%}")
        name = f"polishing, {n_rows:,} rows, {kind}"
        row(name, whole - bare, whole, bar=0.15, against="the fit")


def many_strata(n_rows=2000, n_strata=200):
    """Polish many overlapping strata with few rows; relative to the iterations."""
    rows = np.random.default_rng(0).normal(size=(n_rows, 2))
    bare, whole, _ = with_and_without(rows, n_strata, 0.02, repeats=2)
    print(f"{n_strata} strata on {n_rows} rows: iterations {bare:.2f} s, polishing "
          f"{whole - bare:.2f} s, {whole / bare - 1:.1f} times that (limit 2)")  # fmt: skip
    name = f"polishing, {n_strata} strata on {n_rows:,} rows"
    row(name, whole - bare, bare, bar=2, against="the iterations")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=float, nargs="+", default=[1e5, 1e6])
    parser.add_argument("--linear", type=float, nargs="*", default=[1e4, 1e5, 1e6, 4e6])
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for fit in (hiss, mixture):
        for dtype in (np.float32, np.float64):
            fit(make_rows(1000, dtype), SHORT)  # compiles the kernels
    compare([int(n) for n in args.sizes], args.repeats)
    if args.linear:
        linearity([int(n) for n in args.linear], args.repeats)
    memory(int(max(args.sizes)))
    polishing(int(min(args.sizes)))
    many_strata()


if __name__ == "__main__":
    main()
