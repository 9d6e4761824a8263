"""Figures inside a page."""

import re
import sys
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from ensemblage.report import (
    co_selection_figure,
    critical_difference_figure,
    network_figure,
    prototype_figure,
    strata_figure,
)
from ensemblage.report._svg import INK, inline_svg, new_figure, numbered, short, short_names
from ensemblage.strata import HISS, BootstrapStrata

HOSTILE = "<script>alert(1)</script>"
ODD = ["$x^", "cost in $", r"\$y", "tab\tnew\x00\x1b", "名前", "a" * 100, "a" * 100, HOSTILE]


def figures():
    names = ODD
    n = len(names)
    rng = np.random.default_rng(0)
    rows = {name: rng.normal(size=20) for name in dict.fromkeys(names)}
    prototypes = [{"cluster": k, "rows": 10, **{name: float(k) for name in rows}} for k in range(2)]
    parents = {"class": [], **{name: ["class"] for name in names}}
    return {
        "co-selection": co_selection_figure(names, np.eye(n).tolist()),
        "network": network_figure(parents, "class"),
        "prototypes": prototype_figure(prototypes, rows),
        "ranks": critical_difference_figure(
            names, rng.random((6, n)), greater_is_better=True, over="6 rows"
        ),
    }


@pytest.fixture(scope="module")
def drawn():
    return figures()


@pytest.mark.parametrize("kind", ["co-selection", "network", "prototypes", "ranks"])
def test_any_name_is_drawn_as_text(drawn, kind):
    svg = drawn[kind].svg
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
    assert drawn[kind].alt
    assert drawn[kind].caption


def test_the_same_figure_has_the_same_bytes(drawn):
    again = figures()
    assert {kind: block.svg for kind, block in again.items()} == {
        kind: block.svg for kind, block in drawn.items()
    }


def test_links_inside_a_figure_lead_somewhere(drawn):
    for block in drawn.values():
        ids = set(re.findall(r' id="([^"]*)"', block.svg))
        linked = re.findall(r'(?:href="|url\()#([^")]*)', block.svg)
        assert set(linked) == ids


def test_names_become_those_of_one_figure():
    svg = '<path id="fig-a"/><use href="#fig-a"/><g clip-path="url(#fig-b)"/><text>fig-c</text>'
    assert numbered(svg, 3) == (
        '<path id="fig3-a"/><use href="#fig3-a"/><g clip-path="url(#fig3-b)"/><text>fig-c</text>'
    )


def test_the_diagram_says_the_ranks_for_those_who_cannot_see_it():
    scores = [[0.9, 0.5, 0.1]] * 4
    block = critical_difference_figure("abc", scores, greater_is_better=True, over="4 datasets")
    assert "Mean ranks over 4 datasets: a 1.00, b 2.00, c 3.00." in block.alt
    flipped = critical_difference_figure("abc", scores, greater_is_better=False, over="4 datasets")
    assert "c 1.00, b 2.00, a 3.00." in flipped.alt


def test_names_are_cut_and_told_apart():
    assert short("b" * 33) == "b" * 31 + "…"
    assert short_names(["a" * 40, "a" * 41, "b"]) == ["a" * 31 + "… (1)", "a" * 31 + "… (2)", "b"]


def test_strata_on_a_map():
    X = np.random.default_rng(0).normal(size=(60, 3))
    strata = HISS(3, 0.3, random_state=0).fit(X)
    block = strata_figure(strata, X, np.array(["a", HOSTILE] * 30))
    assert "alert(1)" in block.svg
    assert "<script" not in block.svg
    assert "3 strata" in block.alt
    assert "coloured by their stratum" in strata_figure(strata, X).caption


def test_no_map_where_there_is_none():
    X = np.random.default_rng(0).normal(size=(60, 3))
    assert strata_figure(BootstrapStrata(3, random_state=0).fit(X), X) is None
    assert strata_figure(HISS(2, 0.4, random_state=0).fit(X[:, :1]), X[:, :1]) is None


def test_prototypes_of_words_are_not_drawn():
    assert prototype_figure([{"cluster": 0, "rows": 2, "kind": "a"}], {}) is None
    gone = {"x": np.array([np.nan, np.nan])}
    assert prototype_figure([{"cluster": 0, "rows": 2, "x": None}], gone) is None


def test_of_many_columns_the_telling_ones_are_drawn():
    rng = np.random.default_rng(0)
    rows = {f"c{j:02d}": rng.normal(size=30) for j in range(40)}
    prototypes = [
        {"cluster": k, "rows": 15, **{name: k * j for j, name in enumerate(rows)}} for k in (0, 1)
    ]
    block = prototype_figure(prototypes, rows)
    assert "c39" in block.svg
    assert "c00" not in block.svg
    assert "The 16 columns in which the clusters differ least are left out." in block.caption


def test_pyplot_knows_nothing_of_it():
    figure, ax = new_figure(2, 2)
    ax.set_title("a")
    assert "<svg " in inline_svg(figure)
    if "matplotlib.pyplot" in sys.modules:
        open_figures = sys.modules["matplotlib.pyplot"].get_fignums()
        figures()
        assert sys.modules["matplotlib.pyplot"].get_fignums() == open_figures
