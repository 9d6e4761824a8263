import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.subspace._normal_product import product_of_normals


def test_by_hand():
    # precisions 1 and 1/4 of equal importance one half: .5 + .125; the mean is four fifths of the
    # first's and one fifth of the second's
    outputs = np.array([[[0.0, 1.0]], [[10.0, 4.0]]])
    found = product_of_normals(outputs, np.array([0.5, 0.5]))
    np.testing.assert_allclose(found, [[2.0, 1.6]])


def test_one_member_alone():
    outputs = np.array([[[0.0, 1.0]], [[10.0, 4.0]]])
    np.testing.assert_allclose(product_of_normals(outputs, np.array([0.0, 1.0])), [[10, 4]])


@given(st.integers(0, 999), st.integers(1, 5))
def test_is_the_product_of_the_densities(seed, n_members):
    rng = np.random.default_rng(seed)
    means, variances = rng.normal(size=n_members), rng.uniform(0.5, 2, n_members)
    importance = rng.uniform(0.1, 1, n_members)
    y = np.linspace(-30, 30, 4001)
    logs = -0.5 * (y[:, None] - means) ** 2 / variances @ importance
    density = np.exp(logs - logs.max())
    density /= density.sum()
    mean = density @ y
    variance = density @ (y - mean) ** 2
    found = product_of_normals(np.stack([means, variances], axis=1)[:, None], importance)
    np.testing.assert_allclose(found, [[mean, variance]], rtol=1e-3, atol=1e-4)
