import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.datasets import make_hidden_features
from ensemblage.datasets._hidden_features import KINDS


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_shapes_and_balance(kind):
    X, y, relevant = make_hidden_features(kind, 2000, n_features=12, random_state=0)
    assert X.shape == (2000, 12)
    assert relevant.sum() == KINDS[kind].n_relevant
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
        X, y, relevant = make_hidden_features(kind, 500, flips=0.0, random_state=1)
        np.testing.assert_array_equal(rule(X[:, relevant]), y)


def test_proxies_and_copies_are_correlated():
    X, _, relevant = make_hidden_features("proxies", 5000, random_state=0)
    close = np.abs(np.corrcoef(X.T)[relevant])
    assert ((close > 0.87) & (close < 0.93)).sum() == 6
    X, y, relevant = make_hidden_features("copies", 5000, flips=0.0, random_state=0)
    assert np.corrcoef(X[:, relevant].T).min() > 0.99
    assert ((X[:, relevant].mean(axis=1) > 0) == y).mean() > 0.98


def test_a_share_of_the_labels_is_flipped():
    clean = make_hidden_features("xor", 5000, flips=0.0, random_state=3)
    X, y, _ = make_hidden_features("xor", 5000, flips=0.2, random_state=3)
    np.testing.assert_array_equal(X, clean.X)
    assert (y != clean.y).mean() == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize(("options", "message"), [
    ({"kind": "ring"}, "kind='ring'; expected one of 'linear'"),
    ({"n_features": 8}, "n_features=8; expected a whole number of at least 9"),
    ({"n_samples": 0}, "n_samples=0"),
    ({"flips": 1.5}, "flips=1.5; expected a share from 0 to 1"),
])  # fmt: skip
def test_wrong_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        make_hidden_features(**options)
