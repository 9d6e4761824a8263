"""Rows of four blobs, models fitted on blocks, and their fitted attributes as bytes."""

import numpy as np

from ensemblage.inner import InnerKMeans
from ensemblage.strata import HISS, KMeansStrata, MixtureStrata

OF_ROWS = {"memberships_", "labels_", "votes_", "feature_names_in_"}
N_ROWS = 6000


def blobs(n_rows=N_ROWS, n_columns=4, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    centres = 4 * rng.normal(size=(4, n_columns))
    rows = rng.normal(size=(n_rows, n_columns)) + centres[rng.integers(4, size=n_rows)]
    return rows.astype(dtype)


def weights(n_rows=N_ROWS):
    return np.random.default_rng(1).gamma(2.0, size=n_rows)


def classes(n_rows=N_ROWS):
    return np.random.default_rng(2).integers(3, size=n_rows)


def bits(model):
    """Bytes of the fitted attributes, apart from those with one entry per row."""
    names = [name for name in vars(model) if name.endswith("_") and name not in OF_ROWS]
    return {name: np.asarray(getattr(model, name)).tobytes() for name in sorted(names)}


FEW = {"max_iter": 4, "random_state": 0}
CASES = {
    **{
        f"hiss-{kind}": (HISS(4, 0.3, covariance_type=kind, **FEW), {"sample_weight": weights()})
        for kind in ("spherical", "diag", "tied", "full")
    },
    "hiss-unweighted": (HISS(4, 0.3, **FEW), {}),
    "hiss-pair": (HISS(4, (0.1, 0.4), total_size=1.0, **FEW), {}),
    "hiss-classes": (HISS(3, 0.3, class_balance=True, **FEW), {"y": classes()}),
    "hiss-unpolished": (HISS(3, 0.3, init="random", polish=False, **FEW), {}),
    "mixture": (MixtureStrata(4, **FEW), {}),
    "mixture-full": (
        MixtureStrata(3, assignment="soft", covariance_type="full", **FEW),
        {"sample_weight": weights()},
    ),
    "k-means": (KMeansStrata(4, random_state=0), {"sample_weight": weights()}),
    "anneal": (InnerKMeans(5, n_views=6, max_iter=8, random_state=0), {}),
    "anneal-fit": (
        InnerKMeans(5, n_views=6, resample="fit", assign="vote", max_iter=8, random_state=0),
        {"sample_weight": weights()},
    ),
    "paper-instance": (
        InnerKMeans(
            5, n_views=6, schedule="paper", resample="instance", max_iter=4, random_state=0
        ),
        {},
    ),
    "paper-fit": (
        InnerKMeans(
            5, n_views=6, schedule="paper", resample="fit", init="random", n_init=2, max_iter=4,
            random_state=0,
        ),
        {},
    ),
}  # fmt: skip
