import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from ensemblage.datasets import make_multi_source, make_video_standin


def halves_error(X, y):
    """Error of a tuned linear model that learns one half of the rows and is asked the other."""
    half = len(y) // 2
    model = GridSearchCV(LogisticRegression(max_iter=1000), {"C": [0.01, 0.1, 1.0, 10.0]}, cv=3)
    return 1 - model.fit(X[:half], y[:half]).score(X[half:], y[half:])


def per_source_error(X, y, sources):
    return np.mean(
        [halves_error(X[sources == each], y[sources == each]) for each in np.unique(sources)]
    )


@pytest.mark.parametrize("n_sources", [4, 8])
def test_one_linear_model_fits_nobody(n_sources):
    X, y, sources = make_multi_source(n_sources, 3000, random_state=0, return_sources=True)
    assert halves_error(X, y) > 0.3
    assert per_source_error(X, y, sources) < 0.1


def test_with_full_agreement_at_one_place_one_linear_model_fits_all():
    X, y = make_multi_source(4, 1000, separation=0, agreement=1, noise=0, random_state=0)
    assert halves_error(X, y) < 0.05


@pytest.mark.parametrize("make", [make_multi_source, make_video_standin])
def test_same_seed_same_rows(make):
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


def test_rows_per_source_as_given_and_in_order_unless_shuffled():
    _, _, sources = make_multi_source(
        3, [5, 0, 2], shuffle=False, random_state=0, return_sources=True
    )
    assert sources.tolist() == [0] * 5 + [2] * 2


def test_without_noise_a_sources_rule_is_exactly_linear():
    X, y, sources = make_multi_source(2, 400, 3, noise=0, random_state=1, return_sources=True)
    own = sources == 0
    assert LogisticRegression(C=1e6, max_iter=5000).fit(X[own], y[own]).score(X[own], y[own]) == 1


def test_a_noisier_source_is_harder():
    X, y, sources = make_multi_source(
        2, 4000, noise=[0.0, 2.0], random_state=0, return_sources=True
    )
    clean, noisy = (halves_error(X[sources == each], y[sources == each]) for each in (0, 1))
    assert noisy > clean + 0.2


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"n_sources": 0}, "n_sources"),
        ({"n_samples": [10, 10]}, "n_samples=.* one whole number per source; n_sources=4"),
        ({"n_samples": [10, 10, 10, -1]}, "n_samples="),
        ({"noise": [0.1]}, "noise=.* per source; n_sources=4"),
        ({"noise": [0.1, 0.1, np.nan, 0.1]}, "noise="),
        ({"agreement": 1.5}, "agreement"),
    ],
)
def test_bad_input_is_named(options, match):
    with pytest.raises(ValueError, match=match):
        make_multi_source(**options)


@pytest.mark.parametrize(("scene", "n_features"), [("indoor", 190), ("outdoor", 126)])
def test_the_standin_has_the_papers_shape(scene, n_features):
    X, y, sources = make_video_standin(scene, random_state=0, return_sources=True)
    assert X.shape == (3500, n_features)
    assert np.bincount(sources).tolist() == [500] * 7
    assert set(np.unique(y)) == {0, 1}
    # every clip shows both classes, or strata would do the whole work
    assert all(0.1 < y[sources == clip].mean() < 0.9 for clip in range(7))


def test_the_standin_is_heterogeneous():
    X, y, sources = make_video_standin(
        n_samples_per_source=1000, random_state=0, return_sources=True
    )
    assert per_source_error(X, y, sources) < halves_error(X, y) - 0.03
