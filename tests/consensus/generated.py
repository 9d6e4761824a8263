"""Generated datasets with a known number of clusters."""

import numpy as np


def blobs_of_unequal_size(seed):
    """Normal clusters, 2 to 10 in 2 to 15 dimensions, at least 4 to 7 units apart."""
    rng = np.random.default_rng(seed)
    k, d, n = int(rng.integers(2, 11)), int(rng.integers(2, 16)), int(rng.integers(150, 800))
    sizes = np.maximum((rng.dirichlet(np.full(k, 4.0)) * n).astype(int), 15)
    apart = rng.uniform(4, 7)
    reach, centers = apart * k ** (1 / d) * 0.9, []
    while len(centers) < k:
        center = rng.uniform(-reach, reach, d)
        if all(np.linalg.norm(center - other) >= apart for other in centers):
            centers.append(center)
        else:
            reach *= 1.01
    parts = [
        rng.normal(size=(size, d)) * rng.uniform(0.6, 1.2, size=d) + center
        for size, center in zip(sizes, centers, strict=True)
    ]
    return np.concatenate(parts), k
