import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from ensemblage.datasets import make_multi_source_regression


def test_each_source_has_its_own_rule():
    X, y, sources = make_multi_source_regression(3, 900, 5, random_state=0, return_sources=True)
    assert (X.shape, y.shape, np.bincount(sources).tolist()) == ((900, 5), (900,), [300] * 3)
    rules = [LinearRegression().fit(X[sources == s], y[sources == s]) for s in range(3)]
    assert all(rule.score(X[sources == s], y[sources == s]) > 0.9 for s, rule in enumerate(rules))
    assert LinearRegression().fit(X, y).score(X, y) < 0.8


def test_without_noise_and_with_one_rule_numbers_are_exact():
    X, y, sources = make_multi_source_regression(
        2, 100, 4, separation=0.0, agreement=1.0, level=0.0, noise=0.0, random_state=0,
        return_sources=True,
    )  # fmt: skip
    model = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.predict(X), y)
    np.testing.assert_allclose(np.linalg.norm(model.coef_), 1.0)
    assert set(sources) == {0, 1}


def test_the_same_seed_gives_the_same_rows_and_order_is_asked_for():
    first, again = (make_multi_source_regression(random_state=1) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    _, _, sources = make_multi_source_regression(
        2, [3, 2], shuffle=False, random_state=0, return_sources=True
    )
    assert sources.tolist() == [0, 0, 0, 1, 1]


def test_wrong_parameters_are_refused():
    with pytest.raises(ValueError, match="one whole number per source"):
        make_multi_source_regression(3, [1, 2])
    with pytest.raises(ValueError, match="level"):
        make_multi_source_regression(level=-1.0)
