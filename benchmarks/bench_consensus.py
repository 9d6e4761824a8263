"""Consensus clustering: unequal clusters, many rows, the number of clusters; with limits."""

import sys
import time

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from all_benchmarks import row
from ensemblage.consensus import CSPA, HBGF, HGPA, MCLA, EvidenceAccumulation, stability_curve

N_PARTITIONS = 20


def noisy_partitions(truth, share=0.1):
    rng = np.random.default_rng(0)
    wrong = rng.random((N_PARTITIONS, len(truth))) < share
    return np.where(wrong, rng.integers(0, truth.max() + 1, size=wrong.shape), truth)


def unequal():
    truth = np.repeat([0, 1, 2], [1500, 400, 100])
    partitions = noisy_partitions(truth)
    for method in (CSPA, HBGF, HGPA):
        scores = [
            adjusted_rand_score(
                truth, method(3, balance=balance, random_state=0).fit_partitions(partitions).labels_
            )
            for balance in (0.05, None)
        ]
        print(
            f"1500/400/100, {method.__name__}: ARI balanced {scores[0]:.2f}, "
            f"unbalanced {scores[1]:.2f}"
        )
    for method in (MCLA, EvidenceAccumulation):
        labels = method(3, random_state=0).fit_partitions(partitions).labels_
        print(f"1500/400/100, {method.__name__}: ARI {adjusted_rand_score(truth, labels):.2f}")


def scale(method, n_rows, limit):
    truth = np.random.default_rng(1).integers(0, 10, n_rows)
    partitions = noisy_partitions(truth)
    start = time.process_time()
    model = method(10, random_state=0).fit_partitions(partitions)
    seconds = time.process_time() - start
    score = adjusted_rand_score(truth, model.labels_)
    print(f"{method.__name__}, {n_rows:,} rows: {seconds:.1f} s of CPU (limit {limit}), "
          f"ARI {score:.2f}", flush=True)  # fmt: skip
    row(f"{method.__name__}, {n_rows:,} rows", seconds, bar=limit)


def curve():
    X, _ = make_blobs(36_260, n_features=20, centers=7, cluster_std=4.0, random_state=0)
    for max_rows in (1000, 2000):
        options = {"max_rows": max_rows, "n_jobs": 2, "random_state": 0}
        start = time.perf_counter()
        found = stability_curve(X, range(2, 16), **options)
        seconds = time.perf_counter() - start
        print(f"stability curve, 36,260 rows, 2 to 15 clusters, max_rows={max_rows}: "
              f"{seconds:.0f} s (limit 600), {found.best_n_clusters} clusters (true: 7)",
              flush=True)  # fmt: skip
        row(f"stability curve, max_rows={max_rows}", seconds, bar=600)


if __name__ == "__main__":
    parts = sys.argv[1:] or ["unequal", "scale", "curve"]
    if "unequal" in parts:
        unequal()
    if "scale" in parts:
        for kind, rows, most in ((HGPA, 100_000, 20), (MCLA, 1_000_000, 60), (HBGF, 1_000_000, 60)):
            scale(kind, rows, most)
    if "curve" in parts:
        curve()
