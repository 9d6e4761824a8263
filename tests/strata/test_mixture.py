import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture

from ensemblage.strata import MixtureStrata

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
