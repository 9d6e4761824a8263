"""Profile of ``fit`` of strata ensembles.

The overhead of the ensemble is the time outside the fits of the stratifier and of the members.
Times are CPU seconds of this thread, the median of several fits. With ``--cores``, one core is
compared with two instead, in wall-clock time, on a regressor with forests as members.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import time
import warnings
from collections import Counter

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.svm import SVC, SVR

from ensemblage.datasets import make_multi_source
from ensemblage.fusion import AffinityGate, Stacking
from ensemblage.strata import (
    HISS,
    ScaledLogisticRegression,
    ScaledRidge,
    StrataEnsembleClassifier,
    StrataEnsembleRegressor,
)

CONFIGURATIONS = {
    "default": (ScaledLogisticRegression, {}),
    "stacking": (ScaledLogisticRegression, {"fusion": "stacking"}),
    "SVC members": (SVC, {"estimator": SVC()}),
    "regression": (ScaledRidge, {}),
    "SVR members": (SVR, {"estimator": SVR()}),
    "forests": (RandomForestRegressor, {"estimator": RandomForestRegressor(10)}),
}
REGRESSIONS = {"regression", "SVR members", "forests"}
PARTS = ("strata", "members", "predict", "fusion")


class Stopwatch:
    """Total time of methods, by name."""

    def __init__(self):
        self.seconds = Counter()

    def watch(self, owner, method, name):
        """Time a method from now on; return a function that restores it."""
        usual = getattr(owner, method)

        def timed(*args, **kwargs):
            start = time.thread_time()
            try:
                return usual(*args, **kwargs)
            finally:
                self.seconds[name] += time.thread_time() - start

        setattr(owner, method, timed)
        return lambda: setattr(owner, method, usual)


def made(n_rows, regression):
    """Rows of eight sources, with classes, or a numeric target that is linear in each class."""
    X, y = make_multi_source(8, n_samples=n_rows, random_state=0)
    if not regression:
        return X, y
    return X, X[:, 0] * (2 * y - 1) + 0.1 * np.random.default_rng(0).normal(size=n_rows)


def profile(member, settings, n_rows, n_repeats, *, regression=False):
    X, y = made(n_rows, regression)
    method = "predict_proba" if hasattr(member(), "predict_proba") else "decision_function"
    method = "predict" if regression else method
    ensemble = StrataEnsembleRegressor if regression else StrataEnsembleClassifier
    model = ensemble(random_state=0, **settings).fit(X[:200], y[:200])
    watch = Stopwatch()
    restore = [
        watch.watch(HISS, "fit", "strata"),
        watch.watch(member, "fit", "members"),
        watch.watch(member, method, "predict"),
        watch.watch(AffinityGate, "fit", "fusion"),
        watch.watch(AffinityGate, "fit_subsets", "fusion"),
        watch.watch(AffinityGate, "fit", "fusion"),
        watch.watch(AffinityGate, "fit_subsets", "fusion"),
        watch.watch(Stacking, "fit", "fusion"),
        watch.watch(ensemble, "fit", "all"),
    ]
    rows = []
    for _ in range(n_repeats):
        watch.seconds.clear()
        model.fit(X, y)
        rows.append([watch.seconds[name] for name in ("all", *PARTS)])
    for each in restore:
        each()
    return np.median(rows, axis=0)


def two_cores(n_rows, n_repeats):
    """Print the speedup of two cores, alternating fits."""
    X, y = made(n_rows, regression=True)
    seconds = {1: [], 2: []}
    for _ in range(n_repeats + 1):
        for n_jobs, taken in seconds.items():
            model = StrataEnsembleRegressor(
                estimator=RandomForestRegressor(20), random_state=0, n_jobs=n_jobs
            )
            start = time.perf_counter()
            model.fit(X, y)
            taken.append(time.perf_counter() - start)
    one, two = (np.median(taken[1:]) for taken in seconds.values())  # the first starts workers
    print(f"{n_rows} rows: one core {one:.2f} s, two cores {two:.2f} s, {one / two:.2f} times")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000, 10_000])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=list(CONFIGURATIONS))
    parser.add_argument("--cores", action="store_true", help="compare one core with two")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.cores:
        for n_rows in args.rows:
            two_cores(n_rows, args.repeats)
        return
    heads = " ".join(f"{each:>8}" for each in ("fit [s]", *PARTS, "rest"))
    print(f"{'rows':7} {'ensemble':12} {heads}  overhead")
    for n_rows in args.rows:
        for name in args.only:
            member, settings = CONFIGURATIONS[name]
            regression = name in REGRESSIONS
            total, *parts = profile(member, settings, n_rows, args.repeats, regression=regression)
            shares = np.array([*parts, total - sum(parts)]) / total
            cells = " ".join(f"{share:8.1%}" for share in shares)
            outside = 1 - shares[:2].sum()
            print(f"{n_rows:<7} {name:12} {total:8.2f} {cells} {outside:7.1%}", flush=True)


if __name__ == "__main__":
    main()
