import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemblage.evaluation import PracticalPair, practical_equivalence
from ensemblage.evaluation._practical_equivalence import largest_shares, region_shares


def slowly(leads, rope, weights):
    """Shares of one draw, pair by pair."""
    shares = np.zeros(3)
    for i, a in enumerate(leads):
        for j, b in enumerate(leads):
            where = 0 if a + b > 2 * rope else 2 if a + b < -2 * rope else 1
            shares[where] += weights[i] * weights[j]
    return shares


@given(st.integers(0, 999), st.floats(0, 0.5))
def test_shares_equal_the_loops(seed, rope):
    leads = np.append(0.0, np.random.default_rng(seed).normal(size=4).round(1))
    found = region_shares(leads, rope, 0.5, 5, np.random.default_rng(seed))
    weights = np.random.default_rng(seed).dirichlet([0.5, 1, 1, 1, 1], 5)
    expected = [slowly(leads, rope, each) for each in weights]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_blocks_of_draws_are_one_stream():
    leads = np.array([0.0, 0.3, -0.1])
    many = region_shares(leads, 0.0, 0.5, 4001, np.random.default_rng(0))
    weights = np.random.default_rng(0).dirichlet([0.5, 1, 1], 4001)
    assert len(many) == 4001
    np.testing.assert_allclose(many[-1], slowly(leads, 0.0, weights[-1]))


def test_two_datasets_by_hand():
    # both leads are beyond the region: the first is better unless the prior's weight, of a
    # Beta(1/2, 2), squared is above one half; its density is 3/4 (1 - w) / sqrt(w)
    top = 0.5**0.5
    chance = 0.75 * (2 * top**0.5 - 2 / 3 * top**1.5)
    pair = practical_equivalence(
        [[0.9, 0.1], [0.8, 0.1]], n_draws=100_000, random_state=0
    )[0]  # fmt: skip
    assert pair.first_better == pytest.approx(chance, abs=0.005)
    assert pair.second_better == 0
    assert pair.equivalent == pytest.approx(1 - chance, abs=0.005)


def test_equals_share_a_draw():
    shares = np.array([[0.4, 0.4, 0.2], [0.5, 0.3, 0.2]])
    assert largest_shares(shares) == pytest.approx([0.75, 0.25, 0])


@settings(deadline=None)
@given(st.integers(0, 99), st.floats(0, 0.3))
def test_probabilities_add_up_and_swap_with_the_methods(seed, rope):
    scores = np.random.default_rng(seed).normal(size=(6, 2))
    options = {"rope": rope, "n_draws": 500, "random_state": seed}
    pair = practical_equivalence(scores, **options)[0]
    assert sum(pair[2:]) == pytest.approx(1)
    turned = practical_equivalence(scores[:, ::-1], **options)[0]
    assert turned[2:] == pytest.approx(pair[:1:-1])
    errors = practical_equivalence(-scores, greater_is_better=False, **options)[0]
    assert errors[2:] == pytest.approx(pair[2:])


def test_all_equal_is_equivalent():
    pairs = practical_equivalence(np.ones((5, 3)), rope=0.0, n_draws=100, random_state=0)
    assert [pair[2:] for pair in pairs] == [(0, 1, 0)] * 3


def test_names_and_seeds():
    scores = {"tree": [0.8, 0.7, 0.9], "forest": [0.9, 0.8, 0.9], "line": [0.5, 0.6, 0.4]}
    one, two = (practical_equivalence(scores, n_draws=200, random_state=3) for _ in range(2))
    assert one == two
    assert [pair[:2] for pair in one] == [("tree", "forest"), ("tree", "line"), ("forest", "line")]
    assert isinstance(one[0], PracticalPair)


@pytest.mark.parametrize(("options", "message"), [
    ({"rope": -0.1}, "rope=-0.1; expected a finite number of at least 0"),
    ({"rope": np.nan}, "rope=nan"),
    ({"prior_strength": 0}, "prior_strength=0; expected a finite number of at least 1e-06"),
    ({"n_draws": 0}, "n_draws=0; expected a whole number of at least 1"),
    ({"names": ["a"]}, "names has 1 entries for 2 methods"),
])  # fmt: skip
def test_wrong_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        practical_equivalence([[1, 2], [2, 1]], **options)
