import numpy as np
import pytest

from ensemblage.datasets import make_quarter_circle


@pytest.mark.parametrize("n_dummies", [0, 6])
def test_eq_11(n_dummies):
    X, y = make_quarter_circle(300, n_dummies=n_dummies, random_state=0)
    assert X.shape == (600, 2 + n_dummies)
    np.testing.assert_array_equal(np.bincount(y), [300, 300])
    np.testing.assert_array_equal(y, (X[:, :2] ** 2).sum(axis=1) >= 1)
    assert X.min() >= 0
    assert X.max() <= 1


def test_inside_is_uniform():
    X, y = make_quarter_circle(20_000, random_state=0)
    # the share of a quarter disc within half the radius is a quarter
    near = ((X[y == 0] ** 2).sum(axis=1) < 0.25).mean()
    assert near == pytest.approx(0.25, abs=0.01)


def test_order_and_seed():
    X, y = make_quarter_circle(5, shuffle=False, random_state=0)
    np.testing.assert_array_equal(y, [0] * 5 + [1] * 5)
    np.testing.assert_array_equal(X, make_quarter_circle(5, shuffle=False, random_state=0)[0])


@pytest.mark.parametrize("options", [{"n_samples_per_class": 0}, {"n_dummies": -1}])
def test_wrong_numbers(options):
    with pytest.raises(ValueError, match="expected a whole number"):
        make_quarter_circle(**options)
