"""The template of strata with Gaussians: its start, its steps, what it asks of a subclass."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from ensemblage.blocks import MemoryBlocks
from ensemblage.kernels import make_gaussians
from ensemblage.strata._gaussian import EMSettings, GaussianStrata, Rule, run_em
from ensemblage.strata._gaussian_start import StrataModel


class Always:
    """The same rule in each pass."""

    def __init__(self, prior):
        self.first = Rule(prior)

    def following(self, source, moments, rule):
        return rule


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

    def _membership_rules(self, n_samples):
        return Always(np.zeros((self.n_strata, 1)))

    def _finish(self, source, state, classes):
        self.memberships_ = np.full((source.shape[0], self.n_strata), 0.5)


X = np.concatenate([np.zeros((10, 2)), np.full((10, 2), 8.0)])
X = X + np.random.default_rng(0).normal(size=X.shape)


def test_a_subclass_needs_rules_and_an_end():
    strata = Even().fit(X, np.arange(20) % 2)
    assert strata.converged_
    np.testing.assert_allclose(np.sort(strata.means_[:, 0]), [0, 8], atol=1)
    assert strata.log_affinity(X[:3]).shape == (3, 2)
    with pytest.raises(TypeError, match="abstract"):
        GaussianStrata()


def test_given_centres_have_a_shape():
    with pytest.raises(ValueError, match=r"init has shape \(1, 2\); expected .* \(2, 2\)"):
        Even(init=X[:1]).fit(X)


def test_columns_that_say_nothing_are_named():
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


POINTS = np.array([[0.0], [1.0], [4.0], [5.0]])


def start(means=(0.5, 4.5)):
    gaussians = make_gaussians(np.array(means)[:, None], np.ones((2, 1)), "diag")
    return StrataModel(np.zeros(1), gaussians, "diag")


HALVES = Always(np.log(np.full((2, 1), 0.5)))


def test_one_iteration_by_hand():
    # responsibilities under equal weights: a logistic of the difference of the log densities
    settings = EMSettings(weight=4.0, floor=1e-6, max_iter=1, tol=0.0)
    state = run_em(MemoryBlocks(POINTS, block_rows=3), start(), HALVES, settings, lambda: False)
    share = 1 / (1 + np.exp(((POINTS[:, 0] - 0.5) ** 2 - (POINTS[:, 0] - 4.5) ** 2) / 2))
    mean = share @ POINTS[:, 0] / share.sum()
    variance = share @ (POINTS[:, 0] - mean) ** 2 / share.sum()
    assert state.model.gaussians.means[0, 0] == pytest.approx(mean, rel=1e-12)
    assert state.model.gaussians.covariances[0, 0] == pytest.approx(variance, rel=1e-9)
    assert len(state.path) == 2
    assert state.path[1] > state.path[0]
    assert not state.converged


def test_the_loop_ends_when_nothing_is_gained():
    settings = EMSettings(weight=4.0, floor=1e-6, max_iter=500, tol=1e-9)
    state = run_em(MemoryBlocks(POINTS), start(), HALVES, settings, lambda: False)
    assert state.converged
    assert len(state.path) < 500
    assert np.diff(state.path).min() >= -1e-12


def test_a_callback_may_end_the_loop():
    settings = EMSettings(weight=4.0, floor=1e-6, max_iter=500, tol=0.0)
    state = run_em(MemoryBlocks(POINTS), start(), HALVES, settings, lambda: True)
    assert len(state.path) == 2
    assert not state.converged
