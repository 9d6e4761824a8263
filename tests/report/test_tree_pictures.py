"""Trees in a page."""

from ensemblage.pages import FactsBlock, Page, Section, TreeBlock
from ensemblage.report import render
from ensemblage.report._tree_pictures import tree_pictures
from pages.test_tree_drawing import full_tree

HOSTILE = "<script>alert(1)</script>"


def block(leaves, name="age"):
    return TreeBlock(full_tree(leaves, name), ["yes", "no"], "A tree.", "How to read it.")


def test_one_drawing_for_each_width():
    wide, narrow = tree_pictures(block(5))
    assert (wide.width, narrow.width) == ("wide", "narrow")
    assert narrow.drawing.width == 350
    assert wide.svg.startswith('<svg class="for-wide" ')
    assert wide.svg.count("<g>") == len(wide.drawing.nodes) == 9


def test_names_are_escaped_and_printable_and_classes_have_a_legend():
    page = Page("A page", "note", [], FactsBlock([]), [Section("s", [block(3, "\x00" + HOSTILE)])])
    text = render(page)
    assert "<script>alert" not in text
    assert "&lt;script&gt;" in text
    assert "\x00" not in text
    assert text.count('class="sign"') == 2
