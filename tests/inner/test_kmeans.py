import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from ensemblage.blocks import Block, MemoryBlocks
from ensemblage.inner import Draws, InnerEnsemble, InnerKMeans, ViewSampler, draw_feature_views
from ensemblage.inner._kmeans_kernels import center_votes, cluster_sums, view_votes
from ensemblage.inner._kmeans_passes import (
    anneal,
    assign_pass,
    bounded_pass,
    cluster_totals,
    distant_rows,
    draw_item_views,
    draw_pass_views,
    farthest_rows,
    feature_difficulty,
    label_rows,
    random_rows,
    row_difficulty,
    run_until_converged,
    update_by_batch,
    view_centers,
    views_of_partition,
)
from ensemblage.persistence import load, save
from reference.inner_kmeans import algorithm_6, boosted_weights, vote_of_row_views
from reference.inner_kmeans import label_rows as label_slowly
from reference.papers_data import read

X, Y = load_iris(return_X_y=True)
DRAWS = Draws(7, 2, True, 3)
CLUSTERS = np.array([[0.0, 0.0], [0.1, 0.0], [9.0, 0.0], [9.1, 0.0], [0.0, 9.0], [0.0, 9.1]])
ROWS = np.array([[0.0, 0.0], [1.0, 0.0], [8.0, 0.0], [8.0, 6.0]])
WEIGHTS = np.array([1.0, 2.0, 1.0, 3.0])
BLOCK = Block(0, ROWS, WEIGHTS)
CENTERS = np.array([[0.0, 0.0], [8.0, 0.0]])
ALL_FEATURES = np.ones((1, 2))
PAPER = {"schedule": "paper", "resample": "fit", "tol": 0.0}
WAYS = ((True, False), (False, False), (False, True))
MODES = [
    {"schedule": schedule, "resample": resample, "assign": assign}
    for schedule in ("anneal", "paper")
    for resample in ("fit", "iteration", "instance")
    for assign in ("vote", "nearest")
]

may_not_converge = pytest.mark.filterwarnings(
    "ignore:Rows still change:sklearn.exceptions.ConvergenceWarning"
)


def run_anneal(rows, centers, views_of, n_passes):
    return anneal(MemoryBlocks(rows), centers, views_of, False, n_passes, lambda: False)


def test_a_pass_that_changes_no_row_is_the_last():
    rows = np.array([[0.0], [1.0], [10.0], [11.0]])
    run = run_anneal(rows, rows[[0, 3]], lambda _: np.ones((1, 1)), 20)
    assert run.n_iter == 2
    np.testing.assert_array_equal(run.centers, [[0.5], [10.5]])


def test_centres_are_averaged_over_the_later_half_of_the_passes():
    views_of, _ = draw_pass_views(4, DRAWS, "iteration", 20, 28)
    start = X[[0, 60, 120]]
    run = run_anneal(X, start, views_of, 5)
    history = [algorithm_6(X, start, views_of, n)[1] for n in (3, 4, 5)]
    assert run.n_iter == 5
    np.testing.assert_allclose(run.centers, np.mean(history, axis=0), rtol=1e-14)


def test_zero_passes_return_the_initial_centres():
    np.testing.assert_array_equal(run_anneal(X, X[:3], lambda _: X, 0).centers, X[:3])


@pytest.mark.parametrize("resample", ["fit", "iteration", "instance"])
def test_views_are_resampled_unless_drawn_once(resample):
    _, paper = draw_pass_views(4, DRAWS, resample, 10, 7)
    views_of, last = draw_pass_views(4, DRAWS, resample, 10, 28)
    assert (paper.shape, last.shape) == ((7, 4), (28, 4))
    assert (last.sum(axis=1) == 2).all()
    same = views_of(0) is views_of(1)
    assert same == (resample == "fit")


@pytest.mark.parametrize("seed", range(5))
def test_distant_rows_are_one_of_each_cluster(seed):
    centers = distant_rows(MemoryBlocks(CLUSTERS), 3, np.random.default_rng(seed))
    assert {(x > 5, y > 5) for x, y in centers} == {(False, False), (True, False), (False, True)}


def test_rows_without_weight_are_not_drawn():
    source = MemoryBlocks(CLUSTERS, np.array([0.0, 1.0, 0.0, 1.0, 0.0, 1.0]), block_rows=2)
    drawn = random_rows(source, 3, np.random.default_rng(0))
    assert sorted(map(tuple, drawn)) == sorted(map(tuple, CLUSTERS[1::2]))


def test_too_few_positive_weights_draw_from_all_rows():
    source = MemoryBlocks(CLUSTERS, np.array([1.0, 0, 0, 0, 0, 0]))
    drawn = random_rows(source, 4, np.random.default_rng(0))
    assert len({tuple(row) for row in drawn}) == 4


def test_k_means_plus_plus_runs_on_a_sample_of_rows_with_weight(monkeypatch):
    monkeypatch.setattr("ensemblage.inner._kmeans_passes.START_ROWS", 40)
    monkeypatch.setattr("ensemblage.inner._kmeans_passes.ROWS_PER_CLUSTER", 2)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 2)) + 50 * np.eye(3, 2)[rng.integers(3, size=500)]
    weights = (rows[:, 0] > 0).astype(float)
    for source in (MemoryBlocks(rows, weights, block_rows=64), MemoryBlocks(rows, block_rows=64)):
        centers = distant_rows(source, 3, np.random.default_rng(1))
        found = [np.flatnonzero((rows == center).all(axis=1)) for center in centers]
        assert all(len(each) == 1 for each in found)
        assert all(source.weights[each[0]] > 0 for each in found)
        again = distant_rows(source, 3, np.random.default_rng(1))
        np.testing.assert_array_equal(centers, again)
    assert len({(x > 25, y > 25) for x, y in centers}) == 3


def test_labels_come_with_the_views_that_agree_and_the_inertia():
    views = np.array([[1.0, 0.0], [0.0, 1.0]])
    values, (inertia, counts, weights) = label_rows(BLOCK, CENTERS, ALL_FEATURES, views)
    assert values["label"].tolist() == [0, 0, 1, 1]
    # the second feature is the same in both centres, so its view votes for the first
    assert values["vote"].tolist() == [1.0, 1.0, 0.5, 0.5]
    assert inertia == 2.0 * 1.0 + 3.0 * 36.0
    assert (counts.tolist(), weights.tolist()) == ([2, 2], [3.0, 4.0])


@given(st.integers(1, 5))
def test_labels_of_all_rows_do_not_depend_on_the_blocks(block_rows):
    views = np.array([[1.0, 0.0], [0.0, 1.0]])
    source = MemoryBlocks(ROWS, WEIGHTS, block_rows=block_rows)
    values, (inertia, counts, weights) = source.collect(label_rows, CENTERS, ALL_FEATURES, views)
    assert values["label"].tolist() == [0, 0, 1, 1]
    assert values["vote"].tolist() == [1.0, 1.0, 0.5, 0.5]
    assert (inertia, counts.tolist(), weights.tolist()) == (110.0, [2, 2], [3.0, 4.0])
    assert source.reduce(cluster_totals, CENTERS, ALL_FEATURES)[0] == 110.0


def test_a_pass_adds_up_each_clusters_rows():
    state, found = assign_pass(BLOCK, CENTERS, ALL_FEATURES, fresh=True)
    assert state["label"].tolist() == [0, 0, 1, 1]
    np.testing.assert_array_equal(found.sums.sums, [[2.0, 0.0], [32.0, 18.0]])
    np.testing.assert_array_equal(found.sums.totals, [3.0, 4.0])
    assert (found.n_changed, found.n_evaluated) == (4, 4)


def test_rows_far_from_the_border_are_skipped():
    state, _ = bounded_pass(BLOCK, CENTERS, ALL_FEATURES, True, np.zeros(2))
    again = BLOCK._replace(state=state)
    after, found = bounded_pass(again, CENTERS, ALL_FEATURES, False, np.array([1.0, 1.0]))
    assert after["label"].tolist() == [0, 0, 1, 1]
    assert (found.n_changed, found.n_evaluated) == (0, 0)


def test_the_farthest_row_of_positive_weight_is_first():
    state, _ = assign_pass(BLOCK, CENTERS, ALL_FEATURES, fresh=True)
    light = BLOCK._replace(state=state, weights=np.array([1.0, 2.0, 1.0, 0.0]))
    distances, _, labels, _ = farthest_rows(light, CENTERS, 1)
    assert (distances.tolist(), labels.tolist()) == ([1.0], [0])


def case(X, seed, n_rows, n_clusters):
    rng = np.random.default_rng(seed)
    X = X[rng.permutation(len(X))[:n_rows]]
    return X, X[:n_clusters].copy()


def ours(X, centers, views_of, prune, max_iter):
    source = MemoryBlocks(X, block_rows=64)
    run = run_until_converged(source, centers, views_of, prune, max_iter, -1.0, lambda: False)
    views = views_of(run.n_iter - 1)
    values, _ = source.collect(label_rows, run.centers, views, views)
    return values["label"], run


def check(X, centers, seed, resampled, prune):
    n_features = X.shape[1]
    draws = Draws(11, 1 + n_features // 2, True, 100 * seed)
    drawn = [draw_feature_views(n_features, draws._replace(seed=draws.seed + i)) for i in range(12)]
    views_of = (lambda i: drawn[i]) if resampled else (lambda _: drawn[0])
    _, expected_centers, n_iter = algorithm_6(X, centers, views_of, 12)
    labels, run = ours(X, centers, views_of, prune, 12)
    assert run.n_iter == n_iter
    np.testing.assert_array_equal(run.centers, expected_centers)
    expected = label_slowly(X, expected_centers, views_of(n_iter - 1))
    np.testing.assert_array_equal(labels, expected)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("resampled", "prune"), [(True, False), (False, False), (False, True)])
def test_equals_algorithm_6_on_the_same_views(seed, resampled, prune):
    X, centers = case(load_iris().data, seed, 70, 3)
    check(X, centers, seed, resampled, prune)


def made_up(name, seed):
    """Integers, tenths, or two values only: distances tie often."""
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


# all of them have repeated values: integers, tenths or hundredths
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
def test_bounds_skip_more_than_half_of_the_rows_with_the_same_result(shared, name):
    X, y = read(shared, name)
    evaluated = []
    for seed in range(10):
        start = X[np.random.default_rng(seed).permutation(len(X))[: len(np.unique(y))]]
        views = draw_feature_views(X.shape[1], Draws(50, X.shape[1] // 2, True, seed))
        runs = [
            run_until_converged(
                MemoryBlocks(X), start, lambda _, v=views: v, prune, 100, -1.0, bool
            )
            for prune in (False, True)
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


def test_a_batch_update_by_hand():
    rows = np.array([[1.0, 0.0], [3.0, 0.0], [8.0, 6.0]])
    labels = np.array([0, 0, 1], np.int32)
    sums = cluster_sums(rows, np.array([1.0, 3.0, 1.0]), labels, 3)
    centers = np.array([[0.0, 0.0], [8.0, 0.0], [20.0, 20.0]])
    moved, weights = update_by_batch(centers, np.array([4.0, 2.0, 0.0]), sums)
    # 4/8 towards 2.5, 1/3 towards (8, 6); no row near the third
    np.testing.assert_allclose(moved, [[1.25, 0.0], [8.0, 2.0], [20.0, 20.0]])
    assert weights.tolist() == [8.0, 3.0, 0.0]


@given(st.integers(1, 29), st.integers(0, 100))
def test_batch_updates_give_the_mean_of_all_rows(cut, seed):
    rows = np.random.default_rng(seed).normal(size=(30, 2))
    center, weight = np.zeros((1, 2)), np.zeros(1)
    for part in (rows[:cut], rows[cut:]):
        sums = cluster_sums(part, np.ones(len(part)), np.zeros(len(part), np.int32), 1)
        center, weight = update_by_batch(center, weight, sums)
    np.testing.assert_allclose(center[0], rows.mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("resample", ["fit", "iteration", "instance"])
def test_partial_fit_finds_separated_blobs(resample):
    X, truth = make_blobs(2000, centers=4, cluster_std=0.2, random_state=3)
    model = InnerKMeans(4, n_views=9, resample=resample, random_state=0)
    again = clone(model)
    for start in range(0, 2000, 250):
        model.partial_fit(X[start : start + 250])
        again.partial_fit(X[start : start + 250])
    assert len(np.unique(np.c_[truth, model.predict(X)], axis=0)) == 4
    means = [X[model.predict(X) == k].mean(axis=0) for k in range(4)]
    np.testing.assert_allclose(model.cluster_centers_, means, atol=0.05)
    assert model.cluster_weights_.sum() == pytest.approx(2000)
    assert len(model.labels_) == 250
    np.testing.assert_array_equal(model.cluster_centers_, again.cluster_centers_)


def test_the_first_batch_is_a_fit_and_partial_fit_continues_a_fit():
    X, _ = make_blobs(600, centers=3, random_state=0)
    first, whole = (InnerKMeans(3, random_state=0) for _ in range(2))
    np.testing.assert_array_equal(
        first.partial_fit(X).cluster_centers_, whole.fit(X).cluster_centers_
    )
    before = whole.n_iter_
    assert whole.partial_fit(X[:10]).n_iter_ == before + 1
    assert whole.fit(X).n_iter_ == before
    with pytest.raises(ValueError, match="n_clusters=3 is more than the n_samples=2"):
        InnerKMeans(3).partial_fit(X[:2])


def test_an_invalid_batch_leaves_the_model_unchanged():
    X, _ = make_blobs(600, centers=3, random_state=0)
    model = InnerKMeans(3, random_state=0).fit(X)
    before = model.cluster_centers_.copy(), model.n_iter_
    with pytest.raises(ValueError, match=r"(?i)nan"):
        model.partial_fit(np.full((5, 2), np.nan))
    np.testing.assert_array_equal(model.cluster_centers_, before[0])
    assert model.n_iter_ == before[1]


def test_partial_fit_with_another_number_of_clusters_raises():
    X = np.arange(12.0)[:, None]
    model = InnerKMeans(2, random_state=0).partial_fit(X)
    with pytest.raises(ValueError, match="partial_fit began with 2 clusters: call fit"):
        model.set_params(n_clusters=3).partial_fit(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        InnerKMeans(n_views=5),
        InnerKMeans(n_views=5, schedule="paper", resample="fit"),
        InnerKMeans(n_views=5, views="weighted", schedule="paper", max_iter=30),
        InnerKMeans(view_of="rows", sampler=ViewSampler(5, 0.8, random_state=0)),
        InnerKMeans(n_views=5, view_of="rows", views="weighted", assign="vote"),
        InnerKMeans(sampler=ViewSampler(5, 0.8, random_state=0)),
    ],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "weighted rows and repeated rows start "
        "from different random draws"
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


class Nearness:
    """The measure of K-means: negative squared distance, centres on the last axis."""

    def __init__(self, rows):
        self.rows, self.n_items = rows, rows.shape[1]

    def __call__(self, centers, view):
        return -((self.rows[:, None] - centers) ** 2) @ view


def test_the_kernel_is_an_inner_ensemble_of_distances():
    rows = X + np.random.default_rng(0).normal(scale=1e-3, size=X.shape)  # no equal distances
    views = InnerKMeans(3, random_state=0).fit(rows).views_
    votes = InnerEnsemble(Nearness(rows), lambda _: views, "vote")(rows[:3])
    labels, counts = view_votes(rows, rows[:3].copy(), views)
    np.testing.assert_array_equal(counts, votes.max(axis=1))
    np.testing.assert_array_equal(votes[np.arange(len(X)), labels], votes.max(axis=1))


@may_not_converge
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("replace", [True, False])
def test_predict_gives_the_labels_and_votes_are_fractions(mode, replace):
    model = InnerKMeans(3, n_views=9, replace=replace, max_iter=20, random_state=0, **mode).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.votes_.min() >= 0
    assert model.votes_.max() <= 1
    assert model.views_.shape == (9 if mode["schedule"] == "paper" else 36, 4)
    assert model.inertia_ == pytest.approx(-model.score(X))
    assert 1 <= model.n_iter_ <= 20


def test_the_annealed_schedule_ends_at_the_nearest_prototype():
    model = InnerKMeans(4, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, model.transform(X).argmin(axis=1))
    means = [X[model.labels_ == k].mean(axis=0) for k in range(4)]
    np.testing.assert_allclose(model.cluster_centers_, means, rtol=1e-10)


def test_unchanged_assignments_end_the_passes():
    data, truth = make_blobs(300, centers=3, cluster_std=0.2, random_state=3)
    model = InnerKMeans(3, random_state=0).fit(data)
    assert len(np.unique(np.c_[truth, model.labels_], axis=0)) == 3
    assert model.n_iter_ <= 4
    means = [data[model.labels_ == k].mean(axis=0) for k in range(3)]
    np.testing.assert_allclose(model.cluster_centers_, means, rtol=1e-12)


@may_not_converge
@pytest.mark.parametrize("mode", MODES[:6:2])
def test_the_same_seed_gives_the_same_bits(mode):
    first, again = (InnerKMeans(3, random_state=7, n_init=2, **mode).fit(X) for _ in range(2))
    np.testing.assert_array_equal(first.cluster_centers_, again.cluster_centers_)
    np.testing.assert_array_equal(first.votes_, again.votes_)


def test_weights_of_two_equal_repeated_rows():
    weights = np.where(np.arange(len(X)) % 3 == 0, 2.0, 1.0)
    options = {"init": X[::50], "random_state": 0}
    weighted = InnerKMeans(3, **options).fit(X, sample_weight=weights)
    repeated = InnerKMeans(3, **options).fit(np.repeat(X, weights.astype(int), axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, rtol=1e-10)
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)


def test_float32_stays_float32_and_agrees():
    wide = InnerKMeans(3, random_state=0).fit(X)
    narrow = InnerKMeans(3, random_state=0).fit(X.astype(np.float32))
    assert narrow.cluster_centers_.dtype == np.float32
    assert narrow.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(narrow.cluster_centers_, wide.cluster_centers_, rtol=1e-4)


def test_blocks_of_rows_give_the_same_clusters_as_one_block():
    model = InnerKMeans(3, init=X[::50], random_state=0)
    whole = model._fit_blocks(MemoryBlocks(X)).labels_
    parts = model._fit_blocks(MemoryBlocks(X, block_rows=13)).labels_
    np.testing.assert_array_equal(whole, parts)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_initialisations_find_separated_blobs(init):
    data, truth = make_blobs(400, centers=5, cluster_std=0.1, random_state=3)
    model = InnerKMeans(5, init=init, n_init=10, random_state=0).fit(data)
    assert len(np.unique(np.c_[truth, model.labels_], axis=0)) == 5


def test_a_callable_init_is_called():
    def first_rows(data, n_clusters, random_state):
        return data[:n_clusters]

    called = InnerKMeans(3, init=first_rows, n_init=1, random_state=0).fit(X)
    given = InnerKMeans(3, init=X[:3], random_state=0).fit(X)
    np.testing.assert_array_equal(called.labels_, given.labels_)


def test_k_means_plus_plus_has_the_inertia_of_scikit_learn():
    data, _ = make_blobs(500, centers=12, random_state=1)
    one_pass = {"n_views": 1, "view_size": 1.0, "replace": False, "schedule": "paper"}
    ours = [InnerKMeans(12, resample="fit", random_state=seed, **one_pass).fit(data).inertia_
            for seed in range(40)]  # fmt: skip
    theirs = [KMeans(12, n_init=1, random_state=seed).fit(data).inertia_ for seed in range(40)]
    assert np.mean(ours) == pytest.approx(np.mean(theirs), rel=0.1)


def test_an_empty_cluster_moves_to_the_farthest_row():
    data = np.array([[0.0], [0.1], [0.2], [10.0], [10.1], [50.0]])
    start = np.array([[0.0], [10.0], [1000.0]])
    model = InnerKMeans(3, init=start, n_views=1, view_size=1.0, replace=False, schedule="paper",
                        resample="fit").fit(data)  # fmt: skip
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 2]


def test_two_empty_clusters_take_two_rows_and_empty_no_other():
    data = np.array([[0.0], [0.1], [0.2], [9.0], [9.5], [50.0]])
    start = np.array([[0.0], [40.0], [1000.0], [2000.0]])
    model = InnerKMeans(4, init=start, n_views=1, view_size=1.0, replace=False, schedule="paper",
                        resample="fit").fit(data)  # fmt: skip
    assert len(np.unique(model.labels_)) == 4


def test_fewer_distinct_rows_than_clusters_warn():
    with pytest.warns(ConvergenceWarning, match="Only 2 of n_clusters=3 clusters have rows"):
        model = InnerKMeans(3, random_state=0).fit(np.repeat([[0.0, 1.0], [5.0, 5.0]], 5, axis=0))
    assert np.isfinite(model.cluster_centers_).all()


def test_a_run_that_does_not_converge_warns_with_advice():
    with pytest.warns(ConvergenceWarning, match="schedule='anneal' or resample='fit'"):
        InnerKMeans(10, schedule="paper", n_views=3, max_iter=3, random_state=0).fit(X)
    with pytest.warns(ConvergenceWarning, match="Increase max_iter or tol"):
        InnerKMeans(10, max_iter=2, tol=0, random_state=0).fit(X)


@pytest.mark.parametrize(
    ("parameters", "data", "message"),
    [
        ({"n_clusters": 151}, X, "n_clusters=151 is more than the n_samples=150"),
        ({"view_size": 0}, X, "view_size"),
        (
            {"view_size": 2.0, "replace": False},
            X,
            "asks for 8 of 4 items without replacement",
        ),
        ({}, np.full((9, 2), np.nan), "NaN"),
        ({}, np.array([[1e300, 0.0]] * 5 + [[0.0, 1.0]] * 5), "squared distances overflow float64"),
        ({"init": np.zeros((2, 4))}, X, "init gives centres of shape"),
        ({"init": np.full((3, 4), np.inf)}, X, "expected finite"),
        ({"resample": "never"}, X, "resample"),
    ],
)
def test_invalid_input_raises(parameters, data, message):
    with pytest.raises(ValueError, match=message):
        InnerKMeans(**{"n_clusters": 3, **parameters}).fit(data)


def test_all_zero_weights_raise():
    with pytest.raises(ValueError, match=r"sample_weight|weights"):
        InnerKMeans(3).fit(X, sample_weight=np.zeros(len(X)))


def test_new_rows_that_overflow_raise():
    model = InnerKMeans(3, random_state=0).fit(X)
    for method in (model.predict, model.transform, model.score):
        with pytest.raises(ValueError, match="overflow"):
            method(np.full((1, 4), 1e300))


@pytest.mark.usefixtures("callbacks")
def test_callbacks_count_passes():
    class Count:
        passes = 0

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, **kwargs):
            self.passes += context.task_name == "pass"
            return False

    counter = Count()
    model = InnerKMeans(3, random_state=0).set_callbacks(counter).fit(X)
    assert counter.passes == model.n_iter_


def labelled(rows, centers, block_rows=100, weights=None):
    """Rows that are assigned to their nearest centres."""
    source = MemoryBlocks(rows, weights, block_rows=block_rows)
    identity = np.ones((1, rows.shape[1]))
    states = source.map_with_state(assign_pass, centers, identity, True)
    assert sum(found.n_evaluated for found in states) == len(rows)
    return source


def test_difficulty_of_rows_and_features_by_hand():
    source = MemoryBlocks(ROWS, WEIGHTS)
    list(source.map_with_state(assign_pass, CENTERS, ALL_FEATURES, True))
    # squared distances: own 0, 1, 0, 36; other 64, 49, 64, 100
    np.testing.assert_array_equal(row_difficulty(source, CENTERS), [0, 1 / 49, 0, 0.36])
    # first feature: within 2 * 1; total 102.857...; second: within 3 * 36; total 3 * 36 - 18^2 / 7
    total = 1 * 0 + 2 * 1 + 64 + 3 * 64 - (2 + 8 + 24) ** 2 / 7
    np.testing.assert_allclose(feature_difficulty(source, CENTERS), [2 / total, 1.0])


def test_centres_of_views_of_rows_by_hand():
    source = MemoryBlocks(ROWS, WEIGHTS)
    list(source.map_with_state(assign_pass, CENTERS, ALL_FEATURES, True))
    views = np.array([[1.0, 1.0, 0.0, 1.0], [3.0, 0.0, 0.0, 0.0]])
    found = view_centers(source, CENTERS, views)
    # weights 1, 2 in the first cluster; a view without rows of the second keeps its centre
    np.testing.assert_allclose(found, [[[2 / 3, 0], [8, 6]], [[0, 0], [8, 0]]])


@pytest.mark.parametrize("of_rows", [True, False])
@given(st.integers(0, 1000))
@settings(max_examples=20)
def test_weighted_views_equal_the_slow_ones(of_rows, seed):
    rng = np.random.default_rng(seed)
    rows, views = rng.normal(size=(17, 3)), rng.integers(0, 3, size=(4, 17 if of_rows else 3))
    source = labelled(rows, rows[:3])
    labels = np.concatenate([state["label"] for state in source._states])
    weights = views * boosted_weights(rows, labels, rows[:3], of_rows)
    found = views_of_partition(source, views.astype(float), of_rows, True, rows[:3], False)
    if not of_rows:
        np.testing.assert_allclose(found, weights, rtol=1e-9)
        return
    fresh, counts = center_votes(rows, found)
    for row, label, votes in zip(rows, fresh, counts, strict=True):
        tally = vote_of_row_views(rows, np.ones(17), labels, row, rows[:3], weights)
        assert (tally.index(max(tally)), max(tally)) == (label, votes)


@given(st.integers(1, 17))
def test_weights_of_views_do_not_depend_on_the_blocks(block_rows):
    rows = X[::9]
    one, other = labelled(rows, rows[:3]), labelled(rows, rows[:3], block_rows)
    for difficulty in (row_difficulty, feature_difficulty):
        np.testing.assert_array_equal(difficulty(one, rows[:3]), difficulty(other, rows[:3]))
    views = draw_feature_views(len(rows), Draws(5, 9, True, 0))
    np.testing.assert_array_equal(*(view_centers(each, rows[:3], views) for each in (one, other)))


OPTIONS = [
    {"views": "weighted"},
    {"view_of": "rows"},
    {"view_of": "rows", "views": "weighted"},
    {"sampler": ViewSampler(9, 0.5, replace=True, random_state=3)},
    {"sampler": ViewSampler(9, 0.5, random_state=3), "views": "weighted", "view_of": "rows"},
]


@may_not_converge
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode["resample"] != "instance"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options_of_the_views_give_labels_that_predict_repeats(options, mode):
    start = {"init": X[::50], "max_iter": 8, "random_state": 0}
    model = InnerKMeans(3, n_views=9, **start, **options, **mode)
    first = clone(model)._fit_blocks(MemoryBlocks(X, block_rows=13))
    again = clone(model)._fit_blocks(MemoryBlocks(X))
    model.fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(first.labels_, again.labels_)
    np.testing.assert_array_equal(first.cluster_centers_, again.cluster_centers_)
    np.testing.assert_array_equal(first.views_, again.views_)
    assert np.isfinite(model.views_).all()
    assert 0 <= model.votes_.min() <= model.votes_.max() <= 1
    assert model.views_.ndim == (3 if model.view_of == "rows" else 2)
    assert model.inertia_ == pytest.approx(-model.score(X))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_models_with_options_of_the_views_are_saved_and_loaded(options, tmp_path):
    model = InnerKMeans(3, n_views=9, assign="vote", random_state=0, **options).fit(X)
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops").model
    np.testing.assert_array_equal(again.predict(X), model.labels_)


def test_a_sampler_of_the_same_draws_gives_the_same_clusters():
    views = draw_feature_views(4, Draws(20, 2, True, 1))
    given, scaled = (
        InnerKMeans(3, sampler=lambda _, by=by: by * views, init=X[::50], resample="fit").fit(X)
        for by in (1.0, 2.0**500)
    )
    np.testing.assert_array_equal(given.labels_, scaled.labels_)
    np.testing.assert_array_equal(given.cluster_centers_, scaled.cluster_centers_)
    np.testing.assert_array_equal(given.views_, views)
    assert np.isfinite(scaled.views_).all()


def test_views_of_all_rows_are_lloyds_algorithm():
    start = X[::50]
    lloyd = KMeans(3, init=start, n_init=1, tol=0.0, algorithm="lloyd").fit(X)
    all_rows = {"view_of": "rows", "view_size": 1.0, "replace": False, "n_views": 3}
    model = InnerKMeans(3, init=start, **all_rows, **PAPER).fit(X)
    np.testing.assert_array_equal(model.labels_, lloyd.labels_)
    np.testing.assert_allclose(model.cluster_centers_, lloyd.cluster_centers_, rtol=1e-6)
    assert set(model.votes_) == {1.0}


@pytest.mark.parametrize("options", [{"views": "weighted"}, OPTIONS[3]], ids=str)
@pytest.mark.parametrize("resample", ["fit", "iteration"])
def test_partial_fit_with_options_of_the_views_finds_separated_blobs(options, resample):
    data, truth = make_blobs(900, centers=3, cluster_std=0.2, random_state=3)
    options = {**options, "n_views": 9, "resample": resample}
    if "sampler" in options:
        options["sampler"] = ViewSampler(9, 1, replace=True, random_state=0)
    model = InnerKMeans(3, random_state=0, **options)
    for batch in range(0, 900, 300):
        model.partial_fit(data[batch : batch + 300])
    assert len(np.unique(np.c_[truth, model.predict(data)], axis=0)) == 3


def test_partial_fit_with_views_of_rows_raises():
    with pytest.raises(AttributeError, match="partial_fit"):
        InnerKMeans(3, view_of="rows").partial_fit(X)


def test_views_of_rows_on_disk_raise(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    model = InnerKMeans(3, view_of="rows", random_state=0)
    with pytest.raises(ValueError, match="view_of='rows' needs rows in memory"):
        model.fit(str(tmp_path / "rows.npy"))
    weighted = InnerKMeans(3, views="weighted", init=X[::50], random_state=0)
    on_disk = clone(weighted).fit(str(tmp_path / "rows.npy"))
    np.testing.assert_array_equal(on_disk.cluster_centers_, weighted.fit(X).cluster_centers_)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"resample": "instance", "views": "weighted"}, ValueError, "resample='instance' draws"),
        ({"resample": "instance", "view_of": "rows"}, ValueError, "Use resample='iteration'"),
        ({"resample": "instance", "sampler": np.ones}, ValueError, "sampler="),
        ({"view_of": "cells"}, ValueError, "view_of"),
        ({"views": "boosted"}, ValueError, "views"),
        ({"sampler": 3}, ValueError, "sampler"),
        ({"sampler": lambda n: np.ones((2, n + 1))}, ValueError, r"shape \(n_views, 4\)"),
        ({"sampler": np.ones}, ValueError, r"shape \(n_views, 4\)"),
        ({"sampler": lambda n: np.full((2, n), np.nan)}, ValueError, "finite weights"),
        ({"sampler": lambda n: -np.ones((2, n))}, ValueError, "not negative"),
        ({"sampler": lambda n: np.eye(2, n) * [[1], [0]]}, ValueError, "positive weight"),
        ({"sampler": lambda n: [["a"] * n]}, TypeError, "array of numbers"),
        ({"view_of": "rows", "view_size": 151, "replace": False}, ValueError, "151 of 150 items"),
    ],
)
def test_invalid_views_raise(parameters, error, message):
    with pytest.raises(error, match=message):
        InnerKMeans(3, **parameters).fit(X)


def test_views_are_drawn_by_the_sampler():
    drawn = draw_item_views(3, lambda n: np.full((2, n), 2.0**-40), Draws(7, 2, True, 0))
    np.testing.assert_array_equal(drawn, np.full((2, 3), 0.5))
