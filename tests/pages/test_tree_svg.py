"""Trees as SVG."""

import re
from xml.etree import ElementTree as ET

from ensemblage.pages import CLASS_COLOURS, TreeNode, draw_tree, tree_html, tree_svg
from pages.test_tree_drawing import full_tree

HOSTILE = "<script>alert(1)</script>"


def parsed(text):
    return ET.fromstring(text)  # noqa: S314  our own


def test_a_stump_by_hand():
    drawing = draw_tree(full_tree(2), 300)
    root = parsed(tree_svg(drawing, "wide"))
    assert root.attrib["class"] == "wide"
    assert root.find("path").attrib["d"].count("M") == 2
    assert len(root.findall(".//circle[@class='soft']")) == 1
    assert [each.attrib["class"] for each in root.iter("rect")] == ["c0", "c1"] * 2
    assert next(root.iter("text")).text == "age ≤ 123.5"


def test_leaves_of_numbers_have_a_mark():
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
