"""The number of clusters chosen by stability, on rows without clusters and with three."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from ensemblage.consensus import stability_curve

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("n_rows", "n_columns", "n_references"), [(100, 3, 5), (60, 4, 19)])
def test_rows_without_clusters_are_one_cluster(n_rows, n_columns, n_references):
    found, level = [], 1 / (1 + n_references)
    for draw in range(60):
        X = np.random.default_rng([n_rows, draw]).normal(size=(n_rows, n_columns))
        X[:, 0] *= 2
        curve = stability_curve(X, range(2, 9), n_references=n_references, random_state=draw)
        found.append(curve.best_n_clusters > 1)
    assert np.mean(found) <= level + 2 * np.sqrt(level * (1 - level) / len(found))


def test_three_clusters_are_found():
    for draw in range(10):
        X, _ = make_blobs(150, n_features=3, centers=3, cluster_std=1.5, random_state=draw)
        assert stability_curve(X, range(2, 9), random_state=0).best_n_clusters > 1
