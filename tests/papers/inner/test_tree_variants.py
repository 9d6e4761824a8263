import numpy as np
import pytest

from ensemblage.inner import TreeRows, draw_bootstraps
from ensemblage.inner._tree_kernels import node_sums
from ensemblage.papers.inner._tree_variants import (
    EnsembleLeavesSettings,
    EnsembleSplitsSettings,
    EnsembleStoppingSettings,
    LaplaceSettings,
    RampSettings,
    best_split,
    goes_left,
    improves_most_views,
    rows_at_splits,
)
from inner.trees import grown, stump, targets

GROWTH = ("gini", 4, 1)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).astype(np.float32)
    return TreeRows(X, targets((X[:, 1] > 0.3).astype(int), n_classes=2))


def test_laplace_smoothing(rows):
    tree = stump([0.0])
    means, weights = LaplaceSettings(*GROWTH, 5, 0.0).means(tree, rows)
    counts = node_sums(tree, rows.X, rows.targets)
    np.testing.assert_allclose(means, (counts + 1) / (weights[:, None] + 2))


def test_ramp_has_a_fixed_width_in_rank(rows):
    tree = stump([0.0])
    soft = RampSettings(*GROWTH, 5, 0.25).place_thresholds(tree, rows, 0)
    below = [(rows.X[:, 0] <= threshold).sum() for threshold in soft.thresholds[0]]
    own = (rows.X[:, 0] <= 0).sum()
    assert below == [own - 20, own - 10, own, own + 10, own + 20]


def test_means_of_bootstraps_are_near_the_plain_ones(rows):
    settings = EnsembleLeavesSettings(*GROWTH, 30, 0.0)
    averaged, weights = settings.means(stump([0.0]), rows)
    plain, plain_weights = super(EnsembleLeavesSettings, settings).means(stump([0.0]), rows)
    assert weights.tolist() == plain_weights.tolist()
    assert np.abs(averaged - plain).max() < 0.05
    assert (averaged != plain).any()


def test_views_keep_splits_that_lower_the_out_of_bag_loss(rows):
    counts = draw_bootstraps(200, range(15))
    informative = stump([0.3])._replace(feature=np.array([1, -1, -1]))
    assert improves_most_views(informative, 0, rows, counts)
    assert not improves_most_views(stump([0.0]), 0, rows, counts)  # an uninformative column
    settings = EnsembleStoppingSettings(*GROWTH, 15, 0.0)
    assert settings.grow(rows, 0)[1][0] == 1


def test_full_views_split_as_cart_does(rows):
    ones = np.ones((200, 3), dtype=np.uint8)
    split = best_split(rows, ones)
    tree, _, _ = grown(rows.X, rows.y, 2)
    assert (split.feature, split.cut) == (tree.feature[0], tree.thresholds[0, 0])
    tree, _ = EnsembleSplitsSettings(*GROWTH, 9, 0.0).grow(rows, 0)
    assert tree.feature[0] == 1
    assert abs(tree.thresholds[0, 0] - 0.3) < 0.1
    assert best_split(rows.take(np.array([0])), draw_bootstraps(1, [0])).feature == -1


def test_rows_at_splits(rows):
    tree, _, found = grown(rows.X, rows.y, 4)
    sizes = {node: len(here) for node, here in rows_at_splits(tree, rows)}
    assert sizes == {t: found.n_node_samples[t] for t in np.flatnonzero(tree.left >= 0)}
    missing = np.array([[np.nan, 0, 0]], dtype=np.float32)
    assert goes_left(stump([0.0], missing_left=True), 0, missing).tolist() == [True]
