"""Where the time of ``StrataEnsembleClassifier.fit`` goes.

What matters is the share that lies outside the fits of the stratifier and of the members: what
the ensemble itself costs. Times are CPU seconds of this thread, so that other work on the machine
does not count; the median of several fits is printed.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import time
import warnings
from collections import Counter

import numpy as np
from sklearn.svm import SVC

from ensemblage.datasets import make_multi_source
from ensemblage.fusion import Gate, Stacking
from ensemblage.strata import HISS, ScaledLogisticRegression, StrataEnsembleClassifier

CONFIGURATIONS = {
    "default": (ScaledLogisticRegression, {}),
    "stacking": (ScaledLogisticRegression, {"fusion": "stacking"}),
    "SVC members": (SVC, {"estimator": SVC()}),
}
PARTS = ("strata", "members", "answers", "fusion")


class Stopwatch:
    """Adds up the time that methods take, by name."""

    def __init__(self):
        self.seconds = Counter()

    def watch(self, owner, method, name):
        """Time a method from now on; give a function that ends it."""
        usual = getattr(owner, method)

        def timed(*args, **kwargs):
            start = time.thread_time()
            try:
                return usual(*args, **kwargs)
            finally:
                self.seconds[name] += time.thread_time() - start

        setattr(owner, method, timed)
        return lambda: setattr(owner, method, usual)


def profile(member, settings, n_rows, n_repeats):
    X, y = make_multi_source(8, n_samples=n_rows, random_state=0)
    asked = "predict_proba" if hasattr(member(), "predict_proba") else "decision_function"
    model = StrataEnsembleClassifier(random_state=0, **settings).fit(X[:200], y[:200])
    watch = Stopwatch()
    restore = [
        watch.watch(HISS, "fit", "strata"),
        watch.watch(member, "fit", "members"),
        watch.watch(member, asked, "answers"),
        watch.watch(Gate, "fit", "fusion"),
        watch.watch(Gate, "fit_parts", "fusion"),
        watch.watch(Stacking, "fit", "fusion"),
        watch.watch(StrataEnsembleClassifier, "fit", "all"),
    ]
    rows = []
    for _ in range(n_repeats):
        watch.seconds.clear()
        model.fit(X, y)
        rows.append([watch.seconds[name] for name in ("all", *PARTS)])
    for each in restore:
        each()
    return np.median(rows, axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000, 10_000])
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    heads = " ".join(f"{each:>8}" for each in ("fit [s]", *PARTS, "rest"))
    print(f"{'rows':7} {'ensemble':12} {heads}  outside the fits of strata and members")
    for n_rows in args.rows:
        for name, (member, settings) in CONFIGURATIONS.items():
            total, *parts = profile(member, settings, n_rows, args.repeats)
            shares = np.array([*parts, total - sum(parts)]) / total
            cells = " ".join(f"{share:8.1%}" for share in shares)
            outside = 1 - shares[:2].sum()
            print(f"{n_rows:<7} {name:12} {total:8.2f} {cells} {outside:7.1%}", flush=True)


if __name__ == "__main__":
    main()
