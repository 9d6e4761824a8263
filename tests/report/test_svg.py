"""Figures inside a page."""

import re
import sys
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from ensemblage.explain._subspaces_model import co_selection_figure
from ensemblage.methods import Prototype
from ensemblage.pages import INK, FigureBlock
from ensemblage.report._prototype_figure import prototype_figure
from ensemblage.report._rank_figure import critical_difference_figure
from ensemblage.report._svg import drawn_svg, numbered

HOSTILE = "<script>alert(1)</script>"
ODD = ["$x^", "cost in $", r"\$y", "tab\tnew\x00\x1b", "名前", "a" * 100, "a" * 100, HOSTILE]


def figures():
    names = ODD
    n = len(names)
    rng = np.random.default_rng(0)
    rows = {name: rng.normal(size=20) for name in dict.fromkeys(names)}
    prototypes = [Prototype(k, 10, dict.fromkeys(rows, float(k))) for k in range(2)]
    return {
        "co-selection": co_selection_figure(names, np.eye(n).tolist()),
        "prototypes": prototype_figure(prototypes, rows),
        "ranks": critical_difference_figure(
            names, rng.random((6, n)), greater_is_better=True, over="6 rows"
        ),
    }


@pytest.fixture(scope="module")
def drawn():
    return {kind: drawn_svg(block) for kind, block in figures().items()}


@pytest.mark.parametrize("kind", ["co-selection", "prototypes", "ranks"])
def test_any_name_is_drawn_as_text(drawn, kind):
    svg = drawn[kind]
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
    assert figures()[kind].alt
    assert figures()[kind].caption


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
