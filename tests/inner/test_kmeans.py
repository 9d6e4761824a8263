import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from ensemblage.blocks import MemoryBlocks
from ensemblage.inner import InnerEnsemble, InnerKMeans
from ensemblage.kernels import view_votes

X, Y = load_iris(return_X_y=True)
MODES = [
    {"schedule": schedule, "resample": resample, "assign": assign}
    for schedule in ("anneal", "paper")
    for resample in ("fit", "iteration", "instance")
    for assign in ("vote", "nearest")
]
may_not_rest = pytest.mark.filterwarnings(
    "ignore:Rows still change:sklearn.exceptions.ConvergenceWarning"
)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        InnerKMeans(n_views=5),
        InnerKMeans(n_views=5, schedule="paper", resample="fit"),
    ],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "weighted rows and repeated rows start "
        "from different random draws"
    },
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


class Nearness:
    """The measure of K-means: minus the squared distance, centres on the last axis."""

    def __init__(self, rows):
        self.rows, self.n_items = rows, rows.shape[1]

    def __call__(self, centers, view):
        return -((self.rows[:, None] - centers) ** 2) @ view


def test_the_kernel_is_an_inner_ensemble_of_distances():
    rows = X + np.random.default_rng(0).normal(scale=1e-3, size=X.shape)  # no equal distances
    views = InnerKMeans(3, random_state=0).fit(rows).views_
    crowd = InnerEnsemble(Nearness(rows), lambda _: views, "vote")
    votes = crowd(rows[:3])
    labels, counts = view_votes(rows, rows[:3].copy(), views)
    np.testing.assert_array_equal(counts, votes.max(axis=1))
    np.testing.assert_array_equal(votes[np.arange(len(X)), labels], votes.max(axis=1))


@may_not_rest
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("replace", [True, False])
def test_predict_gives_the_labels_and_votes_are_shares(mode, replace):
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


def test_assignments_that_stand_end_the_passes():
    data, truth = make_blobs(300, centers=3, cluster_std=0.2, random_state=3)
    model = InnerKMeans(3, random_state=0).fit(data)
    assert len(np.unique(np.c_[truth, model.labels_], axis=0)) == 3
    assert model.n_iter_ <= 4
    means = [data[model.labels_ == k].mean(axis=0) for k in range(3)]
    np.testing.assert_allclose(model.cluster_centers_, means, rtol=1e-12)


@may_not_rest
@pytest.mark.parametrize("mode", MODES[:6:2])
def test_the_same_seed_gives_the_same_bits(mode):
    first, again = (InnerKMeans(3, random_state=7, n_init=2, **mode).fit(X) for _ in range(2))
    np.testing.assert_array_equal(first.cluster_centers_, again.cluster_centers_)
    np.testing.assert_array_equal(first.votes_, again.votes_)


def test_weights_of_two_are_rows_given_twice():
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
def test_starts_are_rows_and_find_blobs_apart(init):
    data, truth = make_blobs(400, centers=5, cluster_std=0.1, random_state=3)
    model = InnerKMeans(5, init=init, n_init=10, random_state=0).fit(data)
    assert len(np.unique(np.c_[truth, model.labels_], axis=0)) == 5


def test_a_callable_start_is_asked():
    def first_rows(data, n_clusters, random_state):
        return data[:n_clusters]

    asked = InnerKMeans(3, init=first_rows, n_init=1, random_state=0).fit(X)
    given = InnerKMeans(3, init=X[:3], random_state=0).fit(X)
    np.testing.assert_array_equal(asked.labels_, given.labels_)


def test_the_spread_start_is_as_good_as_scikit_learns():
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


def test_two_empty_clusters_take_two_rows_and_leave_no_other_empty():
    data = np.array([[0.0], [0.1], [0.2], [9.0], [9.5], [50.0]])
    start = np.array([[0.0], [40.0], [1000.0], [2000.0]])
    model = InnerKMeans(4, init=start, n_views=1, view_size=1.0, replace=False, schedule="paper",
                        resample="fit").fit(data)  # fmt: skip
    assert len(np.unique(model.labels_)) == 4


def test_fewer_distinct_rows_than_clusters_warn():
    with pytest.warns(ConvergenceWarning, match="Only 2 of n_clusters=3 clusters have rows"):
        model = InnerKMeans(3, random_state=0).fit(np.repeat([[0.0, 1.0], [5.0, 5.0]], 5, axis=0))
    assert np.isfinite(model.cluster_centers_).all()


def test_a_run_that_never_rests_says_what_to_try():
    with pytest.warns(ConvergenceWarning, match="schedule='anneal' or resample='fit'"):
        InnerKMeans(10, schedule="paper", n_views=3, max_iter=3, random_state=0).fit(X)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter or tol"):
        InnerKMeans(10, max_iter=2, tol=0, random_state=0).fit(X)


@pytest.mark.parametrize(
    ("parameters", "data", "message"),
    [
        ({"n_clusters": 151}, X, "n_clusters=151 is more than the n_samples=150"),
        ({"view_size": 0}, X, "view_size"),
        ({"view_size": 2.0, "replace": False}, X, "asks for 8 of 4 items without replacement"),
        ({}, np.full((9, 2), np.nan), "NaN"),
        ({}, np.array([[1e300, 0.0]] * 5 + [[0.0, 1.0]] * 5), "squared distances overflow float64"),
        ({"init": np.zeros((2, 4))}, X, "init gives centres of shape"),
        ({"init": np.full((3, 4), np.inf)}, X, "expected finite"),
        ({"resample": "never"}, X, "resample"),
    ],
)
def test_bad_input_is_named(parameters, data, message):
    with pytest.raises(ValueError, match=message):
        InnerKMeans(**{"n_clusters": 3, **parameters}).fit(data)


def test_weights_of_zero_leave_nothing_to_cluster():
    with pytest.raises(ValueError, match=r"sample_weight|weights"):
        InnerKMeans(3).fit(X, sample_weight=np.zeros(len(X)))


def test_new_rows_that_overflow_are_refused():
    model = InnerKMeans(3, random_state=0).fit(X)
    for method in (model.predict, model.transform, model.score):
        with pytest.raises(ValueError, match="overflow"):
            method(np.full((1, 4), 1e300))


@pytest.mark.usefixtures("callbacks")
def test_callbacks_are_told_about_passes():
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
