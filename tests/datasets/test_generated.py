from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV

from ensemblage.datasets import (
    make_hidden_features,
    make_multi_source,
    make_quarter_circle,
)
from ensemblage.datasets._generated import KINDS

make_regression = partial(make_multi_source, task="regression")


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_shapes_and_balance(kind):
    X, y, relevant = make_hidden_features(kind, 2000, n_features=12, random_state=0)
    assert X.shape == (2000, 12)
    assert relevant.sum() == KINDS[kind]
    assert 0.45 < y.mean() < 0.55


@given(st.sampled_from(sorted(KINDS)), st.integers(0, 99))
def test_same_seed_same_rows(kind, seed):
    one, two = (make_hidden_features(kind, 20, random_state=seed) for _ in range(2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


def test_classes_follow_the_relevant_features():
    rules = {
        "linear": lambda Z: Z.sum(axis=1) > 0,
        "proxies": lambda Z: Z.sum(axis=1) > 0,
        "xor": lambda Z: Z.prod(axis=1) > 0,
        "band": lambda Z: (np.abs(Z) < 0.67449).sum(axis=1) >= 2,
    }
    for kind, rule in rules.items():
        X, y, relevant = make_hidden_features(kind, 500, flip_y=0.0, random_state=1)
        np.testing.assert_array_equal(rule(X[:, relevant]), y)


def test_proxies_and_copies_are_correlated():
    X, _, relevant = make_hidden_features("proxies", 5000, random_state=0)
    close = np.abs(np.corrcoef(X.T)[relevant])
    assert ((close > 0.87) & (close < 0.93)).sum() == 6
    X, y, relevant = make_hidden_features("copies", 5000, flip_y=0.0, random_state=0)
    assert np.corrcoef(X[:, relevant].T).min() > 0.99
    assert ((X[:, relevant].mean(axis=1) > 0) == y).mean() > 0.98


def test_fraction_of_flipped_labels():
    clean_X, clean_y, _ = make_hidden_features("xor", 5000, flip_y=0.0, random_state=3)
    X, y, _ = make_hidden_features("xor", 5000, flip_y=0.2, random_state=3)
    np.testing.assert_array_equal(X, clean_X)
    assert (y != clean_y).mean() == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize(("options", "message"), [
    ({"kind": "ring"}, "kind='ring'; expected one of 'linear'"),
    ({"n_features": 8}, "n_features=8; expected an integer of at least 9"),
    ({"n_samples": 0}, "n_samples=0"),
    ({"flip_y": 1.5}, "flip_y=1.5; expected a fraction from 0 to 1"),
])  # fmt: skip
def test_wrong_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        make_hidden_features(**options)


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
def test_wrong_sizes(options):
    with pytest.raises(ValueError, match="expected an integer"):
        make_quarter_circle(**options)


def test_each_source_has_its_own_coefficients():
    X, y, sources = make_regression(3, 900, 5, random_state=0, return_sources=True)
    assert (X.shape, y.shape, np.bincount(sources).tolist()) == ((900, 5), (900,), [300] * 3)
    rules = [LinearRegression().fit(X[sources == s], y[sources == s]) for s in range(3)]
    assert all(rule.score(X[sources == s], y[sources == s]) > 0.9 for s, rule in enumerate(rules))
    assert LinearRegression().fit(X, y).score(X, y) < 0.8


def test_regression_without_noise_is_linear():
    X, y, sources = make_regression(
        2, 100, 4, separation=0.0, agreement=1.0, level=0.0, noise=0.0, random_state=0,
        return_sources=True,
    )  # fmt: skip
    model = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.predict(X), y)
    np.testing.assert_allclose(np.linalg.norm(model.coef_), 1.0)
    assert set(sources) == {0, 1}


def test_regression_rows_are_ordered_by_source_unless_shuffled():
    _, _, sources = make_regression(2, [3, 2], shuffle=False, random_state=0, return_sources=True)
    assert sources.tolist() == [0, 0, 0, 1, 1]


def test_wrong_parameters_are_refused():
    with pytest.raises(ValueError, match="one integer per source"):
        make_regression(3, [1, 2])
    with pytest.raises(ValueError, match="level"):
        make_regression(level=-1.0)


def halves_error(X, y):
    """Test error of a tuned linear model, fitted on one half of the rows."""
    half = len(y) // 2
    model = GridSearchCV(LogisticRegression(max_iter=1000), {"C": [0.01, 0.1, 1.0, 10.0]}, cv=3)
    return 1 - model.fit(X[:half], y[:half]).score(X[half:], y[half:])


def per_source_error(X, y, sources):
    return np.mean(
        [halves_error(X[sources == each], y[sources == each]) for each in np.unique(sources)]
    )


@pytest.mark.parametrize("n_sources", [4, 8])
def test_single_linear_model_does_not_fit(n_sources):
    X, y, sources = make_multi_source(n_sources, 3000, random_state=0, return_sources=True)
    assert halves_error(X, y) > 0.3
    assert per_source_error(X, y, sources) < 0.1


def test_single_linear_model_fits_with_full_agreement():
    X, y = make_multi_source(4, 1000, separation=0, agreement=1, noise=0, random_state=0)
    assert halves_error(X, y) < 0.05


@pytest.mark.parametrize("make", [make_multi_source, make_regression])
def test_same_seed_same_rows_of_multi_source(make):
    first, again = (make(random_state=3, return_sources=True) for _ in range(2))
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(first[0], make(random_state=4)[0])


def test_sources_do_not_change_the_rows():
    X, y = make_multi_source(random_state=0)
    np.testing.assert_array_equal(X, make_multi_source(random_state=0, return_sources=True)[0])
    assert X.dtype == np.float64
    assert y.dtype.kind == "i"


@settings(max_examples=30, deadline=None)
@given(
    n_sources=st.integers(1, 6),
    n_samples=st.integers(1, 60),
    n_features=st.integers(1, 5),
    n_classes=st.integers(2, 4),
)
def test_shapes_and_ranges(n_sources, n_samples, n_features, n_classes):
    X, y, sources = make_multi_source(
        n_sources, n_samples, n_features,
        n_classes=n_classes, random_state=0, return_sources=True,
    )  # fmt: skip
    assert X.shape == (n_samples, n_features)
    assert np.isfinite(X).all()
    assert y.shape == sources.shape == (n_samples,)
    assert 0 <= y.min() <= y.max() < n_classes
    counts = np.bincount(sources, minlength=n_sources)
    assert counts.max() - counts.min() <= 1


def test_given_rows_per_source_in_order_unless_shuffled():
    _, _, sources = make_multi_source(
        3, [5, 0, 2], shuffle=False, random_state=0, return_sources=True
    )
    assert sources.tolist() == [0] * 5 + [2] * 2


def test_source_without_noise_is_linearly_separable():
    X, y, sources = make_multi_source(2, 400, 3, noise=0, random_state=1, return_sources=True)
    own = sources == 0
    assert LogisticRegression(C=1e6, max_iter=5000).fit(X[own], y[own]).score(X[own], y[own]) == 1


def test_noisier_source_has_larger_error():
    X, y, sources = make_multi_source(
        2, 4000, noise=[0.0, 2.0], random_state=0, return_sources=True
    )
    clean, noisy = (halves_error(X[sources == each], y[sources == each]) for each in (0, 1))
    assert noisy > clean + 0.2


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"n_sources": 0}, "n_sources"),
        ({"n_samples": [10, 10]}, "n_samples=.* one integer per source with n_sources=4"),
        ({"n_samples": [10, 10, 10, -1]}, "n_samples="),
        ({"noise": [0.1]}, "noise=.* per source with n_sources=4"),
        ({"noise": [0.1, 0.1, np.nan, 0.1]}, "noise="),
        ({"agreement": 1.5}, "agreement"),
    ],
)
def test_invalid_parameters_are_named(options, match):
    with pytest.raises(ValueError, match=match):
        make_multi_source(**options)
