"""Nodes in rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.pages._network_rows import Place, network_places


@st.composite
def networks(draw):
    """Parents drawn from the nodes before, the class first."""
    parents = {"class": []}
    for k in range(draw(st.integers(1, 20))):
        before = list(parents)
        parents[f"x{k}"] = draw(st.lists(st.sampled_from(before), max_size=3, unique=True))
    return parents


def test_a_diamond_by_hand():
    parents = {"class": [], "a": ["class"], "b": ["class"], "c": ["a", "b"]}
    places = network_places(parents, "class", 3)
    assert {name: place.row for name, place in places.items()} == {
        "class": 0, "a": 1, "b": 1, "c": 2,
    }  # fmt: skip
    assert places["a"].slot < places["b"].slot


def test_arrows_that_would_cross_are_untangled():
    parents = {"c": [], "a": ["c"], "b": ["c"], "below b": ["c", "b"], "below a": ["c", "a"]}
    places = network_places(parents, "c", 2)
    assert (places["a"].slot < places["b"].slot) == (
        places["below a"].slot < places["below b"].slot
    )


def test_a_wide_layer_goes_on_in_the_next_row():
    parents = {"class": [], **{f"x{k}": ["class"] for k in range(7)}}
    rows = [place.row for place in network_places(parents, "class", 3).values()]
    assert rows == [0, 1, 1, 1, 2, 2, 2, 3]


@given(networks(), st.integers(1, 5))
def test_parents_stand_above_and_no_two_nodes_share_a_place(parents, most):
    places = network_places(parents, "class", most)
    assert list(places) == list(parents)
    assert places["class"].row == 0
    for child, names in parents.items():
        assert all(places[name].row < places[child].row for name in names)
    assert len(set(places.values())) == len(parents)
    assert all(0 <= place.slot < most for place in places.values())
    assert network_places(parents, "class", most) == places


def test_a_class_with_parents_stands_below_them():
    assert network_places({"class": ["a"], "a": []}, "class", 2) == {
        "class": Place(1, 0), "a": Place(0, 0),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("parents", "said"),
    [({"a": ["b"], "b": ["a"]}, "in a circle"), ({"a": ["b"]}, "'b', which is no node")],
)
def test_what_is_no_network_is_refused(parents, said):
    with pytest.raises(ValueError, match=said):
        network_places(parents, None, 3)
