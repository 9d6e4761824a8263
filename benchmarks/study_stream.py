"""How far a stream of batches ends from a fit on all rows: inertia over all rows, ten seeds."""

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.datasets import load_digits, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.utils._testing import ignore_warnings

from ensemblage.inner import InnerKMeans

BATCH = 200
SEEDS = range(10)


def tables():
    """Rows, and how many clusters to look for."""
    scale = StandardScaler().fit_transform
    return {
        "digits": (load_digits().data, 10),
        "wine, each row ten times with noise": (
            np.repeat(scale(load_wine().data), 10, axis=0)
            + np.random.default_rng(0).normal(scale=0.1, size=(1780, 13)),
            3,
        ),
        "blobs that overlap": (make_blobs(20_000, 8, centers=12, random_state=0)[0] / 3, 12),
    }


def inertia(model, X):
    return -model.score(X)


@ignore_warnings(category=ConvergenceWarning)
def gaps(X, k, seed):
    """Inertia of the stream over that of the fit: ours, and scikit-learn's."""
    rows = X[np.random.default_rng(seed).permutation(len(X))]
    whole = InnerKMeans(k, random_state=seed).fit(rows)
    stream = InnerKMeans(k, random_state=seed)
    theirs = MiniBatchKMeans(k, random_state=seed, n_init=1)
    for start in range(0, len(rows), BATCH):
        stream.partial_fit(rows[start : start + BATCH])
        theirs.partial_fit(rows[start : start + BATCH])
    lloyd = KMeans(k, n_init=1, random_state=seed).fit(rows)
    return inertia(stream, X) / inertia(whole, X), inertia(theirs, X) / inertia(lloyd, X)


def main():
    for name, (X, k) in tables().items():
        ours, theirs = np.mean([gaps(X, k, seed) for seed in SEEDS], axis=0)
        print(f"{name}, {len(X)} rows in batches of {BATCH}: inertia of the stream {ours:.3f} of "
              f"that of fit; MiniBatchKMeans {theirs:.3f} of KMeans")  # fmt: skip


if __name__ == "__main__":
    main()
