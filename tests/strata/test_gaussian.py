import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from ensemblage.blocks import MemoryBlocks, pick_rows
from ensemblage.strata import _gaussian
from ensemblage.strata._gaussian import (
    GaussianStrata,
    column_moments,
    initial_gaussians,
    initial_means,
)
from ensemblage.strata._gaussian_kernels import MembershipPrior

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
    model = initial_gaussians(centre, means, np.array([1.0, 4.0]), kind)
    np.testing.assert_array_equal(model.gaussians.covariances, covariances)
    np.testing.assert_array_equal(model.gaussians.means, [[0, 1], [2, 3]])


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_first_centres_are_rows_with_weight(init):
    weights = np.repeat([0.0, 1.0], 10)
    means = initial_means(MemoryBlocks(X, weights), init, 3, 0)
    assert all((row == X[10:]).all(axis=1).any() for row in means)


def test_fewer_rows_with_weight_than_strata_repeat():
    weights = np.array([1.0, 1.0] + [0.0] * 18)
    for init in ("k-means++", "random"):
        assert initial_means(MemoryBlocks(X, weights), init, 5, 0).shape == (5, 2)


def test_mean_and_variance_over_blocks():
    weights = np.array([1.0, 2.0, 1.0, 0.0])
    mean, variance = column_moments(MemoryBlocks(POINTS, weights, block_rows=3))
    np.testing.assert_allclose(mean, [1.5])
    np.testing.assert_allclose(variance, [(2.25 + 2 * 0.25 + 6.25) / 4])


def test_rows_by_index_over_blocks():
    picked = pick_rows(MemoryBlocks(POINTS, block_rows=3), np.array([0, 2, 3]))
    np.testing.assert_array_equal(picked, [[0], [4], [5]])


@pytest.mark.parametrize("most", [5, 1000])
def test_many_rows_are_drawn_without_a_list_of_all(most, monkeypatch):
    monkeypatch.setattr(_gaussian, "MAX_INIT_ROWS", 4)
    monkeypatch.setattr(_gaussian, "MAX_PERMUTED_ROWS", most)
    weights = np.repeat([0.0, 1.0], 10)
    for source in (MemoryBlocks(X, weights), MemoryBlocks(X[10:], block_rows=3)):
        drawn = [initial_means(source, "random", 4, seed) for seed in range(50)]
        assert all(len(np.unique(means, axis=0)) == 4 for means in drawn)
        assert set(np.concatenate(drawn)[:, 0]) == set(X[10:, 0])


@pytest.mark.parametrize("seed", range(5))
def test_equal_rows_lie_on_their_mean_however_far_they_are(seed):
    rows = np.full((2, 3), np.finfo(np.float32).max, np.float32)
    weights = np.random.default_rng(seed).uniform(0.1, 3, 2)
    mean, variance = column_moments(MemoryBlocks(rows, weights))
    np.testing.assert_array_equal(mean, rows[0])
    np.testing.assert_array_equal(variance, 0)


class Even(GaussianStrata):
    """The least that the template asks for: all rows belong to all strata alike."""

    def __init__(
        self,
        n_strata=2,
        covariance_type="diag",
        init="k-means++",
        max_iter=50,
        tol=1e-4,
        variance_floor=1e-2,
        random_state=0,
    ):
        self.n_strata = n_strata
        self.covariance_type = covariance_type
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.variance_floor = variance_floor
        self.random_state = random_state

    def _initial_prior(self, n_samples):
        return MembershipPrior(np.full((self.n_strata, 1), np.log(0.5)))

    def _update_prior(self, source, moments, prior):
        return prior

    def _finish(self, source, moments, prior, classes):
        self.memberships_ = np.full((source.shape[0], self.n_strata), 0.5)


def test_a_subclass_needs_a_prior_and_an_end():
    strata = Even().fit(X, np.arange(20) % 2)
    assert strata.converged_
    np.testing.assert_allclose(np.sort(strata.means_[:, 0]), [0, 8], atol=1)
    assert strata.log_affinity(X[:3]).shape == (3, 2)
    with pytest.raises(TypeError, match="abstract"):
        GaussianStrata()


def test_given_centres_have_a_shape():
    with pytest.raises(ValueError, match=r"init has shape \(1, 2\); expected .* \(2, 2\)"):
        Even(init=X[:1]).fit(X)


def test_constant_columns_are_named_in_a_warning():
    with pytest.warns(ConvergenceWarning, match=r"Columns \[1\] of X are constant"):
        Even().fit(np.column_stack([X[:, 0], np.ones(20)]))
    with pytest.warns(ConvergenceWarning, match="All rows of X are equal"):
        Even().fit(np.ones((20, 2)))


def test_warnings_point_at_the_caller():
    with pytest.warns(ConvergenceWarning) as caught:
        Even(max_iter=1).fit(np.column_stack([X[:, 0], np.ones(20)]))
    assert [warning.filename for warning in caught] == [__file__] * 2


def test_squares_that_overflow_are_refused():
    with pytest.raises(ValueError, match=r"whose squares overflow float32\. Scale the columns"):
        Even().fit((X * 1e30).astype(np.float32))


FROM_TWO_MEANS = {"init": np.array([[0.5], [4.5]]), "variance_floor": 1e-6}


def test_one_iteration_by_hand():
    # responsibilities under equal weights: a logistic of the difference of the log densities
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        strata = Even(**FROM_TWO_MEANS, max_iter=1, tol=0.0).fit(POINTS)
    x = POINTS[:, 0]
    share = 1 / (1 + np.exp(((x - 0.5) ** 2 - (x - 4.5) ** 2) / (2 * x.var())))
    mean = share @ x / share.sum()
    variance = share @ (x - mean) ** 2 / share.sum()
    assert strata.means_[0, 0] == pytest.approx(mean, rel=1e-12)
    assert strata.covariances_[0, 0] == pytest.approx(variance, rel=1e-9)
    assert len(strata.objective_path_) == 2
    assert strata.objective_path_[1] > strata.objective_path_[0]
    assert not strata.converged_


def test_the_loop_ends_when_nothing_is_gained():
    strata = Even(**FROM_TWO_MEANS, max_iter=500, tol=1e-9).fit(POINTS)
    assert strata.converged_
    assert strata.n_iter_ < 500
    assert np.diff(strata.objective_path_).min() >= -1e-12
