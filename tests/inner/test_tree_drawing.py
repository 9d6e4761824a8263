import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage._core import FONT, text_width
from ensemblage.inner import TreeNode, draw_tree, tree_svg
from ensemblage.inner._tree_drawing import CLASS_COLOURS, SMALL, tree_html

LONG = "systolic_blood_pressure_at_the_second_visit_after_six_weeks_of_treatment_in_mmHg"


def full_tree(leaves, name="age", depth=0, side=""):
    """Give a tree with so many leaves, as unbalanced as trees are: a third on the left."""
    if leaves == 1:
        return [TreeNode(depth, side, ("yes 81%, no 19%", ""), "12 rows", (0.8, 0.2), is_leaf=True)]
    left = max(1, leaves // 3)
    own = TreeNode(depth, side, (name, " ≤ 123.5"), "views: 120 to 125.5, 64 rows", soft=True)
    return [
        own, *full_tree(left, name, depth + 1, "yes"),
        *full_tree(leaves - left, name, depth + 1, "no"),
    ]  # fmt: skip


def test_a_stump_by_hand():
    drawing = draw_tree(full_tree(2), 300)
    root, yes, no = drawing.nodes
    assert [text for _, _, text, _ in root.texts] == ["age ≤ 123.5", "views: 120 to 125.5, 64 rows"]
    assert yes.texts[0][2] == "yes: yes 81%, no 19%"
    assert yes.x == no.x == root.x + 22
    assert [(each[0], each[2], each[3]) for each in drawing.elbows] == [
        (root.x, yes.y, yes.x), (root.x, no.y, no.x)
    ]  # fmt: skip
    (first, _, width, _), (second, _, rest, _) = yes.bars
    assert (width, rest) == (120, 30)
    assert second == first + width
    assert root.soft
    assert not root.bars


@pytest.mark.parametrize("width", [350, 960])
@pytest.mark.parametrize("leaves", [1, 16, 64])
@pytest.mark.parametrize("name", ["age", LONG, "x" * 200])
def test_nothing_is_cut_off_or_overlaps(width, leaves, name):
    drawing = draw_tree(full_tree(leaves, name), width)
    assert len(drawing.nodes) == 2 * leaves - 1
    assert drawing.width == width
    for above, below in pairwise(drawing.nodes):
        assert above.bottom < below.top
    for node in drawing.nodes:
        heights = [y for _, y, _, _ in node.texts]
        assert heights == sorted(set(heights))
        assert node.top < heights[0]
        assert heights[-1] <= node.bottom <= drawing.height
        for x, _, text, is_small in node.texts:
            assert x + text_width(text) * (SMALL if is_small else FONT) <= width
        assert all(x + length <= width for x, _, length, _ in node.bars)
    splits = [node for node in drawing.nodes if not node.is_leaf]
    written = [" ".join(text for _, _, text, _ in node.texts) for node in splits]
    assert all("≤ 123.5" in text for text in written)  # thresholds are never cut


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(200, 1200))
def test_bars_add_up_to_what_is_shown(weights, width):
    total = sum(weights) or 1.0
    shares = tuple(weight / total for weight in weights)
    (node,) = draw_tree([TreeNode(0, "", ("a", ""), "", shares, is_leaf=True)], width).nodes
    assert all(one[0] + one[2] <= two[0] + 1e-6 for one, two in pairwise(node.bars))
    assert sum(width for _, _, width, _ in node.bars) <= 150.0001


HOSTILE = "<script>alert(1)</script>"


def parsed(text):
    return ET.fromstring(text)  # noqa: S314  our own


def test_the_svg_of_a_stump():
    drawing = draw_tree(full_tree(2), 300)
    root = parsed(tree_svg(drawing, "wide"))
    assert root.attrib["class"] == "wide"
    assert root.find("path").attrib["d"].count("M") == 2
    assert len(root.findall(".//circle[@class='soft']")) == 1
    assert [each.attrib["class"] for each in root.iter("rect")] == ["c0", "c1"] * 2
    assert next(root.iter("text")).text == "age ≤ 123.5"


def test_leaves_of_regression_trees_have_a_mark():
    leaf = TreeNode(0, "", ("12.5", ""), "3 rows", is_leaf=True)
    root = parsed(tree_svg(draw_tree([leaf], 300)))
    assert [each.attrib["class"] for each in root.iter("rect")] == ["leaf"]


def test_a_figure_has_its_own_styles_and_escapes_names():
    text = tree_html(full_tree(3, HOSTILE), [HOSTILE] * 7)
    assert "<script>" not in text
    assert all(colour in text for colour in CLASS_COLOURS)
    assert re.findall(r'<i class="(c\d)">', text) == ["c0", "c1", "c2", "c3", "c4", "c5", "c0"]
    assert "http" not in text


def test_names_that_were_cut_stand_whole_below():
    name = "n" * 2000
    assert f"<dd>{name}</dd>" in tree_html(full_tree(2, name), [])
