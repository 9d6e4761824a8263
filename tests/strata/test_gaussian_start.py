import numpy as np
import pytest

from ensemblage.blocks import MemoryBlocks
from ensemblage.strata import _gaussian_start
from ensemblage.strata._gaussian_start import column_spread, pick_rows, start_means, start_model

X = np.concatenate([np.zeros((10, 2)), np.full((10, 2), 8.0)])
X = X + np.random.default_rng(0).normal(size=X.shape)
POINTS = np.array([[0.0], [1.0], [4.0], [5.0]])


@pytest.mark.parametrize(
    ("kind", "covariances"),
    [
        ("spherical", [2.5, 2.5]),
        ("diag", [[1, 4], [1, 4]]),
        ("tied", [[1, 0], [0, 4]]),
        ("full", [[[1, 0], [0, 4]], [[1, 0], [0, 4]]]),
    ],
)
def test_all_strata_start_with_the_variances_of_all_rows(kind, covariances):
    centre, means = np.array([1.0, 1.0]), np.array([[1.0, 2.0], [3.0, 4.0]])
    model = start_model(centre, means, np.array([1.0, 4.0]), kind)
    np.testing.assert_array_equal(model.gaussians.covariances, covariances)
    np.testing.assert_array_equal(model.gaussians.means, [[0, 1], [2, 3]])


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_first_centres_are_rows_with_weight(init):
    weights = np.repeat([0.0, 1.0], 10)
    means = start_means(MemoryBlocks(X, weights), init, 3, 0)
    assert all((row == X[10:]).all(axis=1).any() for row in means)


def test_fewer_rows_with_weight_than_strata_repeat():
    weights = np.array([1.0, 1.0] + [0.0] * 18)
    for init in ("k-means++", "random"):
        assert start_means(MemoryBlocks(X, weights), init, 5, 0).shape == (5, 2)


def test_mean_and_variance_over_blocks():
    weights = np.array([1.0, 2.0, 1.0, 0.0])
    mean, variance = column_spread(MemoryBlocks(POINTS, weights, block_rows=3))
    np.testing.assert_allclose(mean, [1.5])
    np.testing.assert_allclose(variance, [(2.25 + 2 * 0.25 + 6.25) / 4])


def test_rows_by_number_over_blocks():
    picked = pick_rows(MemoryBlocks(POINTS, block_rows=3), np.array([0, 2, 3]))
    np.testing.assert_array_equal(picked, [[0], [4], [5]])


@pytest.mark.parametrize("most", [5, 1000])
def test_many_rows_are_drawn_without_a_list_of_all(most, monkeypatch):
    monkeypatch.setattr(_gaussian_start, "SEED_ROWS", 4)
    monkeypatch.setattr(_gaussian_start, "SHUFFLED_ROWS", most)
    weights = np.repeat([0.0, 1.0], 10)
    for source in (MemoryBlocks(X, weights), MemoryBlocks(X[10:], block_rows=3)):
        drawn = [start_means(source, "random", 4, seed) for seed in range(50)]
        assert all(len(np.unique(means, axis=0)) == 4 for means in drawn)
        assert set(np.concatenate(drawn)[:, 0]) == set(X[10:, 0])


@pytest.mark.parametrize("seed", range(5))
def test_equal_rows_lie_on_their_mean_however_far_they_are(seed):
    rows = np.full((2, 3), np.finfo(np.float32).max, np.float32)
    weights = np.random.default_rng(seed).uniform(0.1, 3, 2)
    mean, variance = column_spread(MemoryBlocks(rows, weights))
    np.testing.assert_array_equal(mean, rows[0])
    np.testing.assert_array_equal(variance, 0)
