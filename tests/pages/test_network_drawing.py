"""Networks as boxes."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.pages import FONT, draw_network
from ensemblage.pages._wrapped_names import text_width
from pages.test_network_rows import networks


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


def test_long_names_are_cut_numbered_and_told_in_full():
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
