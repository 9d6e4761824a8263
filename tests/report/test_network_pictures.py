"""Networks in a page."""

from ensemblage.pages import FactsBlock, NetworkBlock, Page, Section
from ensemblage.report import render
from ensemblage.report._network_pictures import network_pictures

HOSTILE = "<script>alert(1)</script>"


def block(n, name="x"):
    parents = {"class": [], **{f"{name}{k}": ["class"] for k in range(n)}}
    return NetworkBlock(parents, "class", "A network.", "How to read it.")


def test_a_small_network_is_drawn_once_a_wide_one_for_each_width():
    assert [picture.width for picture in network_pictures(block(2))] == ["any"]
    wide, narrow = network_pictures(block(30))
    assert (wide.width, narrow.width) == ("wide", "narrow")
    assert narrow.drawing.width <= 350 < wide.drawing.width


def test_lines_of_a_name_stand_around_the_middle():
    (picture,) = network_pictures(block(1, "a column name of many letters "))
    box = picture.drawing.boxes[1]
    heights = [height for height, _ in picture.texts(box)]
    assert box.top < heights[0] < heights[-1] < box.bottom


def test_names_in_the_drawing_are_escaped_and_printable():
    page = Page("A page", "note", [], FactsBlock([]), [Section("s", [block(3, "\x00" + HOSTILE)])])
    text = render(page)
    assert "<script>alert" not in text
    assert "&lt;script&gt;" in text
    assert "\x00" not in text


def test_arrows_are_as_wide_as_the_crowd_is_sure():
    parents = {"y": [], "a": ["y"], "b": ["y", "a"]}
    shares = {"a": {"y": 1.0}, "b": {"a": 0.5}}
    (picture,) = network_pictures(NetworkBlock(parents, "y", "", "", shares))
    found = {line.title: line.width for line in picture.lines}
    assert found == {"y to a: chosen by 100%": 2.2, "a to b: chosen by 50%": 1.35, "": None}
