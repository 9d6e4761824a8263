"""Time of partial pooling with its search for penalties, by number of rows.

Usage: python benchmarks/bench_partial_pooling.py [--large]

Seconds of CPU. --large adds 200,000 rows of 30 columns and 50 sources, for classes and a numeric
target, and there the wall time of a pool with a budget, and the seconds of its predictions.
"""

import sys
import time

import numpy as np

from all_benchmarks import row
from ensemblage.pool import EnsemblageClassifier
from ensemblage.sources import PartialPoolingClassifier, PartialPoolingRegressor

GROWTH = (5_000, 10_000, 20_000, 40_000)
BUDGET = 60.0
"""Seconds of the pool."""


def rows_of(n_rows, n_columns, n_sources, n_classes, seed=0):
    """Rows whose sources have coefficients that vary around common ones."""
    rng = np.random.default_rng(seed)
    X, sources = rng.normal(size=(n_rows, n_columns)), rng.integers(0, n_sources, n_rows)
    coefs = rng.normal(size=(1, n_columns, n_classes))
    coefs = 0.5 * coefs + 0.3 * rng.normal(size=(n_sources, n_columns, n_classes))
    scores = np.einsum("ij,ijc->ic", X, coefs[sources]) if n_rows < 50_000 else None
    if scores is None:  # one source at a time, to save memory
        scores = np.empty((n_rows, n_classes))
        for source in range(n_sources):
            own = sources == source
            scores[own] = X[own] @ coefs[source]
    return X, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1), sources


def seconds(*shape):
    X, y, sources = rows_of(*shape)
    start = time.process_time()
    model = PartialPoolingClassifier(random_state=0).fit(X, y, sources=sources)
    return time.process_time() - start, model


def main():
    seconds(300, 5, 3, 2), seconds(300, 5, 3, 3)  # compiles
    spent, model = seconds(900, 20, 20, 6)
    found = f"penalties {model.common_penalty_:g}, {model.deviation_penalty_:g}"
    print(f"900 rows, 20 columns, 20 sources, 6 classes: {spent:.1f} s ({found}); limit: 5 s")
    row("partial pooling, 900 rows, 20 sources, 6 classes", spent, bar=5)
    print("growth, 20 columns, 10 sources, 2 classes:")
    for n_rows in GROWTH:
        spent, _ = seconds(n_rows, 20, 10, 2)
        row(f"partial pooling, {n_rows:,} rows", spent)
        print(
            f"  {n_rows:7,} rows {spent:6.2f} s, {1e6 * spent / n_rows:6.1f} µs a row", flush=True
        )
    if "--large" in sys.argv:
        large()


def show(name, spent, bar):
    row(name, spent, bar=bar)
    print(f"{name}: {spent:.1f} s; limit: {bar:g} s", flush=True)


def large():
    X, y, sources = rows_of(200_000, 30, 50, 2)
    noisy = X[:, 0] + 0.5 * np.random.default_rng(1).normal(size=len(X)) + 0.02 * sources
    for kind, target in ((PartialPoolingClassifier, y), (PartialPoolingRegressor, noisy)):
        start = time.process_time()
        kind(random_state=0).fit(X, target, sources=sources)
        show(f"{kind.__name__}, 200,000 rows, 50 sources", time.process_time() - start, 10)
    start = time.perf_counter()
    pool = EnsemblageClassifier(time_budget=BUDGET, random_state=0).fit(X, y, sources=sources)
    show("pool, 200,000 rows, 50 sources", time.perf_counter() - start, BUDGET)
    for n_rows in (1_000, 10_000, 100_000):
        start = time.process_time()
        pool.predict_proba(X[:n_rows], sources=sources[:n_rows])
        each = 1e6 * (time.process_time() - start) / n_rows
        print(f"  {n_rows:7,} rows predicted, {each:6.1f} µs a row", flush=True)


if __name__ == "__main__":
    main()
