"""``partial_fit`` on batches compared with ``fit`` on all rows, ten seeds.

For Inner K-means: inertia of all rows. For HISS: mean log likelihood of all rows, with the streamed
Gaussians and the dual variables at which the sizes are exact; and the relative error of the sizes
at the streamed dual variables.
"""

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.datasets import load_digits, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.utils._testing import ignore_warnings

from ensemblage.blocks import MemoryBlocks
from ensemblage.inner import InnerKMeans
from ensemblage.strata import HISS
from ensemblage.strata._hiss_sizes import exact_memberships

BATCH = 200
STRATA = 8
SIZE = 0.3
STRATA_BATCH = 500
EPOCHS = 3
SEEDS = range(10)


def tables():
    """Rows, and number of clusters."""
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
def inertia_ratios(X, k, seed):
    """Inertia after ``partial_fit`` relative to ``fit``: ours, and scikit-learn's."""
    rows = X[np.random.default_rng(seed).permutation(len(X))]
    whole = InnerKMeans(k, random_state=seed).fit(rows)
    stream = InnerKMeans(k, random_state=seed)
    theirs = MiniBatchKMeans(k, random_state=seed, n_init=1)
    for start in range(0, len(rows), BATCH):
        stream.partial_fit(rows[start : start + BATCH])
        theirs.partial_fit(rows[start : start + BATCH])
    lloyd = KMeans(k, n_init=1, random_state=seed).fit(rows)
    return inertia(stream, X) / inertia(whole, X), inertia(theirs, X) / inertia(lloyd, X)


def strata_tables():
    """Rows to stratify, with standardised columns."""
    scale = StandardScaler().fit_transform
    digits = load_digits().data
    return {
        "digits": scale(digits[:, digits.std(axis=0) > 1]),
        "wine, each row ten times with noise": tables()["wine, each row ten times with noise"][0],
        "blobs that overlap": scale(tables()["blobs that overlap"][0]),
    }


def likelihood(hiss, X):
    """Mean log likelihood of all rows under a model's Gaussians, with exact sizes."""
    sizes = np.full(STRATA, SIZE * len(X))
    densities = hiss._densities()  # noqa: SLF001
    (_, (objective, *_)), _ = exact_memberships(MemoryBlocks(X), densities, hiss.log_scales_, sizes)
    return objective / len(X)


@ignore_warnings(category=ConvergenceWarning)
def strata_differences(X, seed):
    """Log likelihood of ``fit`` minus that of ``partial_fit``, and error of the sizes.

    After the first batch, one epoch and three epochs.
    """
    rows = X[np.random.default_rng(seed).permutation(len(X))]
    whole = likelihood(HISS(STRATA, SIZE, random_state=seed).fit(rows), X)
    stream, found = HISS(STRATA, SIZE, random_state=seed), []
    for epoch in range(EPOCHS):
        for start in range(0, len(rows), STRATA_BATCH):
            stream.partial_fit(rows[start : start + STRATA_BATCH])
            if (epoch, start) == (0, 0):
                found.append((whole - likelihood(stream, X), size_error(stream, X)))
        if epoch in {0, EPOCHS - 1}:
            found.append((whole - likelihood(stream, X), size_error(stream, X)))
    return found


def size_error(hiss, X):
    return np.abs(hiss.transform(X).mean(axis=0) / SIZE - 1).mean()


def main():
    for name, X in strata_tables().items():
        found = np.array([strata_differences(X, seed) for seed in SEEDS])
        for when, differences in zip(
            ("the first batch", "one epoch", "three epochs"), found.swapaxes(0, 1), strict=True
        ):
            below, error = differences.T
            print(f"HISS, {name}, {len(X)} rows in batches of {STRATA_BATCH}, after {when}: log "
                  f"likelihood below that of fit by {below.mean():.3f} ({below.min():.3f} to "
                  f"{below.max():.3f}), size error {error.mean():.1%}", flush=True)  # fmt: skip
    for name, (X, k) in tables().items():
        ours, theirs = np.mean([inertia_ratios(X, k, seed) for seed in SEEDS], axis=0)
        print(f"{name}, {len(X)} rows in batches of {BATCH}: inertia relative to fit "
              f"{ours:.3f}; MiniBatchKMeans relative to KMeans {theirs:.3f}")  # fmt: skip


if __name__ == "__main__":
    main()
