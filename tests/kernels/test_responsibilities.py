import numpy as np

from ensemblage.kernels import (
    N_BINS,
    Bins,
    Caps,
    centred_columns,
    expectation,
    log_densities,
    log_memberships,
    make_gaussians,
)

ROWS = np.array([[-1.0], [0.0], [3.0]])
GAUSSIANS = make_gaussians(np.array([[0.0], [3.0]]), np.ones((2, 1)), "diag")
COLUMNS = centred_columns(ROWS, np.zeros(1), "diag")


def test_a_row_between_two_equal_strata_is_shared_by_halves():
    middle = centred_columns(np.array([[1.5]]), np.zeros(1), "diag")
    carry, total = expectation(middle, np.array([4.0]), np.zeros((2, 1)), GAUSSIANS, "diag")
    np.testing.assert_allclose(np.exp(carry), [[0.5], [0.5]])
    np.testing.assert_allclose(total.mass, [2.0, 2.0])
    assert total.counts.shape == (0, N_BINS + 2)


def test_caps_are_the_memberships_that_they_make_of_affinities():
    caps, weights = Caps(np.array([-1.0, -2.0]), np.array([0.5, 0.0])), np.ones(3)
    affinity = log_densities(COLUMNS, GAUSSIANS, "diag")
    bins = Bins(np.full(2, -8.0), np.full(2, 8.0 / N_BINS))
    capped = expectation(COLUMNS, weights, caps, GAUSSIANS, "diag", affinity, bins)
    plain = expectation(COLUMNS, weights, log_memberships(affinity, caps), GAUSSIANS, "diag")
    np.testing.assert_allclose(capped[0], plain[0])
    np.testing.assert_allclose(capped[1].first, plain[1].first)
    np.testing.assert_allclose(capped[1].counts.sum(axis=1), [3.0, 3.0])
