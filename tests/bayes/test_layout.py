from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage._core import FONT, text_width
from ensemblage.bayes import draw_network
from ensemblage.bayes._layout import network_places


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
    assert {name: row for name, (row, _) in places.items()} == {
        "class": 0, "a": 1, "b": 1, "c": 2,
    }  # fmt: skip
    assert places["a"][1] < places["b"][1]


def test_arrows_that_would_cross_are_untangled():
    parents = {"c": [], "a": ["c"], "b": ["c"], "below b": ["c", "b"], "below a": ["c", "a"]}
    places = network_places(parents, "c", 2)
    assert (places["a"] < places["b"]) == (places["below a"] < places["below b"])


def test_a_wide_layer_goes_on_in_the_next_row():
    parents = {"class": [], **{f"x{k}": ["class"] for k in range(7)}}
    rows = [row for row, _ in network_places(parents, "class", 3).values()]
    assert rows == [0, 1, 1, 1, 2, 2, 2, 3]


@given(networks(), st.integers(1, 5))
def test_parents_stand_above_and_no_two_nodes_share_a_place(parents, most):
    places = network_places(parents, "class", most)
    assert list(places) == list(parents)
    assert places["class"][0] == 0
    for child, names in parents.items():
        assert all(places[name][0] < places[child][0] for name in names)
    assert len(set(places.values())) == len(parents)
    assert all(0 <= slot < most for _, slot in places.values())
    assert network_places(parents, "class", most) == places


def test_a_class_with_parents_stands_below_them():
    assert network_places({"class": ["a"], "a": []}, "class", 2) == {
        "class": (1, 0), "a": (0, 0),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("parents", "message"),
    [({"a": ["b"], "b": ["a"]}, "form a cycle"), ({"a": ["b"]}, "'b', which is not a node")],
)
def test_an_invalid_graph_is_refused(parents, message):
    with pytest.raises(ValueError, match=message):
        network_places(parents, None, 3)


def points_on(arrow, steps=40):
    for curve in arrow.curves:
        for t in (step / steps for step in range(steps + 1)):
            weights = ((1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3)
            pairs = list(zip(weights, curve, strict=True))
            yield sum(w * x for w, (x, _) in pairs), sum(w * y for w, (_, y) in pairs)


def test_an_arrow_past_a_row_takes_the_gutter():
    parents = {"class": [], "a": ["class"], "b": ["class"], "c": ["a", "b"], "d": ["c", "a"]}
    drawing = draw_network(parents, "class")
    (long,) = [arrow for arrow in drawing.arrows if (arrow.parent, arrow.child) == ("a", "d")]
    assert len(long.stops) == 4
    assert long.stops[1][0] == long.stops[2][0]
    assert [arrow.from_target for arrow in drawing.arrows].count(True) == 2


@given(networks(), st.sampled_from([350.0, 900.0]))
def test_every_arrow_points_downwards_and_passes_no_box(parents, width):
    drawing = draw_network(parents, "class", width)
    boxes = {box.name: box for box in drawing.boxes}
    assert len(drawing.arrows) == sum(map(len, parents.values()))
    for arrow in drawing.arrows:
        heights = [y for _, y in arrow.stops]
        assert heights == sorted(heights)
        assert arrow.stops[0][1] == boxes[arrow.parent].bottom
        assert arrow.stops[-1][1] == boxes[arrow.child].top
        others = [box for name, box in boxes.items() if name not in (arrow.parent, arrow.child)]
        for x, y in points_on(arrow):
            assert not any(
                abs(x - box.x) < box.width / 2 - 1 and abs(y - box.y) < box.height / 2 - 1
                for box in others
            )


@given(networks(), st.sampled_from([350.0, 900.0]))
def test_no_two_boxes_touch_and_all_are_inside(parents, width):
    drawing = draw_network(parents, "class", width)
    assert drawing.width <= width
    for box in drawing.boxes:
        assert box.width / 2 <= box.x <= drawing.width - box.width / 2
        assert 0 <= box.top < box.bottom <= drawing.height
        assert max(map(text_width, box.lines)) * FONT < box.width
    for one, other in combinations(drawing.boxes, 2):
        apart_x = abs(one.x - other.x) >= (one.width + other.width) / 2
        assert apart_x or one.bottom < other.top or other.bottom < one.top


def test_a_phone_has_three_columns_and_the_network_grows_downwards():
    parents = {"class": [], **{f"feature_{k}": ["class"] for k in range(30)}}
    phone, window = draw_network(parents, "class", 350), draw_network(parents, "class", 900)
    assert len({box.x for box in phone.boxes if not box.is_target}) == 3
    assert phone.height > window.height
    assert phone.cut == ()


def test_long_names_are_cut_numbered_and_listed_in_full():
    names = [f"{'a' * 40}{k}" for k in range(2)]
    drawing = draw_network({"class": [], names[0]: ["class"], names[1]: ["class"]}, "class", 350)
    assert [whole for _, whole in drawing.cut] == names
    shown = [cut for cut, _ in drawing.cut]
    assert shown[0].endswith("… (1)")
    assert shown[1].endswith("… (2)")


def test_positions_are_shares_of_the_drawing_upwards():
    drawing = draw_network({"class": [], "a": ["class"]}, "class")
    assert drawing.positions["class"][0] == pytest.approx(0.5)
    assert 1 > drawing.positions["class"][1] > drawing.positions["a"][1] > 0
