import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from ensemblage.strata import HISS, KMeansStrata, MixtureStrata, StrataEnsembleClassifier

X = load_iris().data


@pytest.mark.parametrize("kind", ["spherical", "diag", "tied", "full"])
def test_reaches_scikit_learns_mixture_from_the_same_start(kind):
    peer = GaussianMixture(3, covariance_type=kind, tol=1e-10, max_iter=5000, random_state=0).fit(X)
    ours = MixtureStrata(
        3, covariance_type=kind, init=peer.means_, tol=1e-10, max_iter=5000, variance_floor=1e-9
    ).fit(X)
    assert ours.objective_path_[-1] == pytest.approx(peer.score(X), abs=1e-3)
    order = np.argsort(ours.means_[:, 0])
    np.testing.assert_allclose(
        ours.means_[order], peer.means_[np.argsort(peer.means_[:, 0])], atol=0.05
    )


def test_hard_clusters_are_disjoint_and_soft_ones_add_up():
    hard = MixtureStrata(4, random_state=0).fit(X)
    assert set(np.unique(hard.memberships_)) == {0.0, 1.0}
    np.testing.assert_array_equal(hard.memberships_.sum(axis=1), 1)
    soft = MixtureStrata(4, assignment="soft", random_state=0).fit(X)
    np.testing.assert_allclose(soft.memberships_.sum(axis=1), 1)
    assert (soft.memberships_.argmax(axis=1) == hard.memberships_.argmax(axis=1)).all()


@pytest.mark.parametrize("assignment", ["hard", "soft"])
def test_training_rows_transform_to_their_memberships(assignment):
    strata = MixtureStrata(4, assignment=assignment, random_state=0).fit(X)
    np.testing.assert_allclose(strata.transform(X), strata.memberships_, atol=1e-9)


def test_weights_add_up_and_likelihood_never_falls():
    strata = MixtureStrata(5, random_state=1).fit(X)
    assert strata.weights_.sum() == pytest.approx(1)
    assert np.diff(strata.objective_path_).min() >= -1e-9


def lloyd(X, means):
    """Rows to the nearest mean, means of their rows, until nothing moves."""
    labels = None
    while True:
        nearest = [min(range(len(means)), key=lambda j: ((x - means[j]) ** 2).sum()) for x in X]
        if nearest == labels:
            return means, labels
        labels = nearest
        means = [
            np.mean([x for x, k in zip(X, labels, strict=True) if k == j], axis=0)
            if j in labels else means[j]
            for j in range(len(means))
        ]  # fmt: skip


def test_k_means_by_hand():
    rows = np.array([0.0, 1, 2, 10, 11, 12])[:, None]
    strata = KMeansStrata(2, init=[[0.0], [3.0]]).fit(rows)
    np.testing.assert_allclose(strata.means_, [[1], [11]])
    np.testing.assert_array_equal(strata.memberships_, np.repeat(np.eye(2), 3, axis=0))
    # distances to 0 and 3, to 0.5 and 8.75, to 1 and 11
    squares = np.array([196, 19.9375, 4, 4])
    np.testing.assert_allclose(strata.objective_path_, -squares / 6)
    np.testing.assert_allclose(strata.covariances_, 4 / 6)
    assert strata.converged_
    np.testing.assert_array_equal(strata.transform([[5.9], [6.1]]), np.eye(2))
    density = -((5.0 - 1.0) ** 2) / (8 / 6) - 0.5 * np.log(2 * np.pi * 4 / 6)
    assert strata.log_affinity([[5.0]])[0, 0] == pytest.approx(density)


def test_weights_count_as_copies_in_k_means():
    rows = np.array([[0.0], [1.0], [5.0], [6.0]])
    weighted = KMeansStrata(2, init=[[0.0], [6.0]]).fit(rows, sample_weight=[3, 1, 1, 1])
    np.testing.assert_allclose(weighted.means_, [[0.25], [5.5]])


@pytest.mark.parametrize("n_strata", [2, 5])
def test_k_means_equals_scikit_learns_from_the_same_means(n_strata):
    start = X[:: len(X) // n_strata][:n_strata]
    peer = KMeans(n_strata, init=start, n_init=1, tol=0).fit(X)
    ours = KMeansStrata(n_strata, init=start).fit(X)
    np.testing.assert_allclose(ours.means_, peer.cluster_centers_)
    np.testing.assert_array_equal(ours.memberships_.argmax(axis=1), peer.labels_)
    assert -ours.objective_path_[-1] * len(X) == pytest.approx(peer.inertia_)


@pytest.mark.filterwarnings("ignore:All rows of X are equal")
@pytest.mark.filterwarnings("ignore:Columns .* of X are constant")
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(6, 40))
def test_k_means_is_the_loop_and_its_objective_never_falls(seed, n_strata, n_rows):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, 2)) * rng.uniform(0.1, 100)
    strata = KMeansStrata(n_strata, init=rows[:n_strata]).fit(rows)
    means, labels = lloyd(rows, list(rows[:n_strata]))
    np.testing.assert_allclose(strata.means_, means, atol=1e-7 * np.abs(rows).max())
    np.testing.assert_array_equal(strata.memberships_.argmax(axis=1), labels)
    np.testing.assert_array_equal(strata.transform(rows), strata.memberships_)
    assert np.diff(strata.objective_path_).min(initial=0) >= -1e-9 * np.abs(rows).max() ** 2


def test_k_means_that_stops_early_names_its_own_parameter():
    with pytest.warns(ConvergenceWarning, match="after max_iter=1 iterations.*Increase max_iter,"):
        KMeansStrata(8, max_iter=1, random_state=0).fit(X)


@pytest.mark.parametrize("stratifier", [MixtureStrata(4), KMeansStrata(4)], ids=repr)
def test_empty_clusters_are_named(stratifier):
    rows, y = np.repeat([[0.0, 0.0], [1.0, 1.0]], 20, axis=0), np.arange(40) % 2
    with pytest.raises(ValueError, match=r"found 4 strata, of which 2 have no rows .*or HISS"):
        StrataEnsembleClassifier(stratifier).fit(rows, y)
    assert StrataEnsembleClassifier(HISS(4, 0.4), random_state=0).fit(rows, y).n_strata_ == 4
