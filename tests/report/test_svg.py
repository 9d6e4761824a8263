"""Figures inside a page."""

import re
import sys
from xml.etree import ElementTree as ET

import pytest

from ensemblage.pages import INK, FigureBlock
from ensemblage.report._svg import drawn_svg, numbered

HOSTILE = "<script>alert(1)</script>"
ODD = ["$x^", "cost in $", r"\$y", "tab\tnew\x00\x1b", "名前", "a" * 100, "a" * 100, HOSTILE]


def written(ax, names):
    """Titles, texts, a legend and points, as figures have them."""
    ax.scatter(range(len(names)), range(len(names)), label=names[0])
    for k, name in enumerate(names):
        ax.text(k, k, name)
    ax.set(title=HOSTILE, xlabel=names[1])
    ax.legend()


def figures():
    return {"names": FigureBlock(lambda ax: written(ax, ODD), 4, 3, "alt", "caption")}


@pytest.fixture(scope="module")
def drawn():
    return {kind: drawn_svg(block) for kind, block in figures().items()}


def test_any_name_is_drawn_as_text(drawn):
    svg = drawn["names"]
    root = ET.fromstring(svg)  # noqa: S314
    texts = {element.text for element in root.iter("text")}
    assert any(text and HOSTILE[:20] in text for text in texts)
    assert any(text and "$x^" in text for text in texts)
    assert not root.findall(".//script")
    assert "style=" not in svg
    assert "<style" not in svg
    assert INK not in svg
    assert "currentColor" in svg
    ids = re.findall(r' id="([^"]*)"', svg)
    assert len(ids) == len(set(ids))


def test_the_same_figure_has_the_same_bytes(drawn):
    assert {kind: drawn_svg(block) for kind, block in figures().items()} == drawn


def test_links_inside_a_figure_lead_somewhere(drawn):
    for svg in drawn.values():
        ids = set(re.findall(r' id="([^"]*)"', svg))
        linked = re.findall(r'(?:href="|url\()#([^")]*)', svg)
        assert set(linked) == ids


def test_names_become_those_of_one_figure():
    svg = '<path id="fig-a"/><use href="#fig-a"/><g clip-path="url(#fig-b)"/><text>fig-c</text>'
    assert numbered(svg, 3) == (
        '<path id="fig3-a"/><use href="#fig3-a"/><g clip-path="url(#fig3-b)"/><text>fig-c</text>'
    )


def test_pyplot_knows_nothing_of_it():
    svg = drawn_svg(FigureBlock(lambda ax: ax.set_title("a"), 2, 2, "alt", "caption"))
    assert "<svg " in svg
    if "matplotlib.pyplot" in sys.modules:
        open_figures = sys.modules["matplotlib.pyplot"].get_fignums()
        for block in figures().values():
            drawn_svg(block)
        assert sys.modules["matplotlib.pyplot"].get_fignums() == open_figures
