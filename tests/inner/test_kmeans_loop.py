import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

from ensemblage.blocks import Block, MemoryBlocks
from ensemblage.inner import InnerKMeans, draw_feature_views
from ensemblage.inner._kmeans_labels import label_pass
from ensemblage.inner._kmeans_loop import (
    Voters,
    assign_pass,
    bounded_pass,
    farthest_rows,
    run_until_rest,
)
from ensemblage.kernels import Draws
from reference.inner_kmeans import algorithm_6, label_rows
from reference.papers_data import read

ROWS = np.array([[0.0, 0.0], [1.0, 0.0], [8.0, 0.0], [8.0, 6.0]])
CENTERS = np.array([[0.0, 0.0], [8.0, 0.0]])
BLOCK = Block(0, ROWS, np.array([1.0, 2.0, 1.0, 3.0]))
EVERYTHING = np.ones((1, 2))


def test_a_pass_adds_up_each_clusters_rows():
    carry, found = assign_pass(BLOCK, CENTERS, EVERYTHING, fresh=True)
    assert carry["label"].tolist() == [0, 0, 1, 1]
    np.testing.assert_array_equal(found.sums.sums, [[2.0, 0.0], [32.0, 18.0]])
    np.testing.assert_array_equal(found.sums.totals, [3.0, 4.0])
    assert (found.n_changed, found.n_evaluated) == (4, 4)


def test_rows_far_from_the_border_are_skipped():
    carry, _ = bounded_pass(BLOCK, CENTERS, EVERYTHING, True, np.zeros(2))
    again = BLOCK._replace(carry=carry)
    after, found = bounded_pass(again, CENTERS, EVERYTHING, False, np.array([1.0, 1.0]))
    assert after["label"].tolist() == [0, 0, 1, 1]
    assert (found.n_changed, found.n_evaluated) == (0, 0)


def test_the_farthest_row_of_positive_weight_is_offered_first():
    carry, _ = assign_pass(BLOCK, CENTERS, EVERYTHING, fresh=True)
    light = BLOCK._replace(carry=carry, weights=np.array([1.0, 2.0, 1.0, 0.0]))
    offers = farthest_rows(light, CENTERS, 1)
    assert (offers.distances.tolist(), offers.labels.tolist()) == ([1.0], [0])


PAPER = {"schedule": "paper", "resample": "fit", "tol": 0.0}


def case(X, seed, n_rows, n_clusters):
    rng = np.random.default_rng(seed)
    X = X[rng.permutation(len(X))[:n_rows]]
    return X, X[:n_clusters].copy()


def ours(X, centers, crowd_of, prune, max_iter):
    source = MemoryBlocks(X, block_rows=64)
    run = run_until_rest(source, centers, Voters(crowd_of, prune), max_iter, -1.0, lambda: False)
    views = crowd_of(run.n_iter - 1)
    labels = np.concatenate([part[0] for part in source.map(label_pass, run.centers, views, views)])
    return labels, run


def check(X, centers, seed, resampled, prune):
    n_features = X.shape[1]
    draws = Draws(11, 1 + n_features // 2, True, 100 * seed)
    crowds = [
        draw_feature_views(n_features, draws._replace(seed=draws.seed + i)) for i in range(12)
    ]
    crowd_of = (lambda i: crowds[i]) if resampled else (lambda _: crowds[0])
    _, expected_centers, n_iter = algorithm_6(X, centers, crowd_of, 12)
    labels, run = ours(X, centers, crowd_of, prune, 12)
    assert run.n_iter == n_iter
    np.testing.assert_array_equal(run.centers, expected_centers)
    expected = label_rows(X, expected_centers, crowd_of(n_iter - 1))
    np.testing.assert_array_equal(labels, expected)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("resampled", "prune"), [(True, False), (False, False), (False, True)])
def test_equals_algorithm_6_on_the_same_views(seed, resampled, prune):
    X, centers = case(load_iris().data, seed, 70, 3)
    check(X, centers, seed, resampled, prune)


WAYS = ((True, False), (False, False), (False, True))


def made_up(name, seed):
    """Whole numbers, tenths, and two values only: distances tie all the time."""
    rng = np.random.default_rng(seed)
    whole = rng.integers(0, 4, size=(60, 5)) + 3 * rng.integers(0, 2, size=(60, 1))
    return {"whole": whole * 1.0, "tenths": whole / 10, "two-valued": (whole % 2) * 1.0}[name]


@pytest.mark.parametrize("name", ["whole", "tenths", "two-valued"])
@pytest.mark.parametrize("seed", range(2))
def test_ties_go_to_the_lowest_index_bit_for_bit(name, seed):
    X, centers = case(made_up(name, seed), seed, 60, 4)
    for resampled, prune in WAYS:
        check(X, centers, seed, resampled, prune)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["whole", "tenths", "two-valued"])
def test_ties_go_to_the_lowest_index_for_twenty_seeds(name):
    for seed in range(20):
        X, centers = case(made_up(name, seed), seed, 60, 4)
        for resampled, prune in WAYS:
            check(X, centers, seed, resampled, prune)


# all of them have repeated values: whole numbers, tenths or hundredths
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "name", ["ecoli", "glass", "iris", "letter", "optdigits", "pendigits", "vehicle", "wine"]
)
def test_equals_algorithm_6_for_twenty_seeds(shared, name):
    data, y = read(shared, name)
    for seed in range(20):
        X, centers = case(data, seed, 60, min(len(np.unique(y)), 10))
        for resampled, prune in WAYS:
            check(X, centers, seed, resampled, prune)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pendigits", "waveform"])
def test_bounds_skip_more_than_half_of_the_rows_and_change_nothing(shared, name):
    X, y = read(shared, name)
    evaluated = []
    for seed in range(10):
        start = X[np.random.default_rng(seed).permutation(len(X))[: len(np.unique(y))]]
        views = draw_feature_views(X.shape[1], Draws(50, X.shape[1] // 2, True, seed))
        both = [Voters(lambda _, views=views: views, prune) for prune in (False, True)]
        runs = [
            run_until_rest(MemoryBlocks(X), start, voters, 100, -1.0, lambda: False)
            for voters in both
        ]
        np.testing.assert_array_equal(runs[0].centers, runs[1].centers)
        assert runs[0].n_iter == runs[1].n_iter
        evaluated.append(runs[1].n_evaluated / runs[0].n_evaluated)
    assert 1 - np.mean(evaluated) >= 0.55


@pytest.mark.parametrize("seed", range(5))
def test_one_identity_view_is_lloyds_algorithm(seed):
    X, start = case(load_iris().data, seed, 150, 4)
    lloyd = KMeans(4, init=start, n_init=1, tol=0.0, algorithm="lloyd").fit(X)
    model = InnerKMeans(4, n_views=1, view_size=1.0, replace=False, init=start, **PAPER).fit(X)
    np.testing.assert_array_equal(model.labels_, lloyd.labels_)
    np.testing.assert_allclose(model.cluster_centers_, lloyd.cluster_centers_, rtol=1e-6)
    assert model.inertia_ == pytest.approx(lloyd.inertia_)
