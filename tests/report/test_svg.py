import re
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from ensemblage._core import THEMED_INK
from ensemblage.report import render
from ensemblage.report._blocks import FigureBlock, NetworkBlock, Page, Section, TreeBlock
from ensemblage.report._svg import drawings, drawn_svg, numbered
from inner.test_tree_drawing import full_tree

HOSTILE = "<script>alert(1)</script>"
ODD = ["$x^", "cost in $", r"\$y", "tab\tnew\x00\x1b", "名前", "a" * 100, "a" * 100, HOSTILE]


@pytest.mark.parametrize("missing", ["jinja2", "matplotlib"])
def test_a_missing_package_is_named(missing):
    script = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from ensemblage.report import check_installed\n"
        "try: check_installed()\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == (
        f"A report needs {missing}, which comes with the extra `report`: "
        'pip install "ensemblage[report]".'
    )


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
    assert THEMED_INK not in svg
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


def network(n, name="x"):
    parents = {"class": [], **{f"{name}{k}": ["class"] for k in range(n)}}
    return NetworkBlock(parents, "class", "A network.", "How to read it.")


def tree(leaves, name="age"):
    return TreeBlock(full_tree(leaves, name), ["yes", "no"], "A tree.", "How to read it.")


def test_a_small_network_is_drawn_once_a_wide_one_for_each_width():
    assert [width for width, _, _ in drawings(network(2))] == ["any"]
    (wide, large, _), (narrow, small, _) = drawings(network(30))
    assert (wide, narrow) == ("wide", "narrow")
    widths = [float(ET.fromstring(svg).get("width")) for svg in (large, small)]  # noqa: S314
    assert widths[1] <= 350 < widths[0]


def test_lines_of_a_name_are_centred():
    ((_, svg, _),) = drawings(network(1, "a column name of many letters "))
    node = ET.fromstring(svg).findall("g[@class='node']")[0]  # noqa: S314
    box, heights = node.find("rect"), [float(text.get("y")) for text in node.findall("text")]
    top = float(box.get("y"))
    assert len(heights) > 1
    assert top < heights[0] < heights[-1] < top + float(box.get("height"))


def test_arcs_are_as_wide_as_their_bootstrap_frequency():
    parents = {"y": [], "a": ["y"], "b": ["y", "a"]}
    shares = {"a": {"y": 1.0}, "b": {"a": 0.5}}
    ((_, svg, _),) = drawings(NetworkBlock(parents, "y", "", "", shares))
    found = {
        arc.findtext("title"): arc.find("path").get("stroke-width")
        for arc in ET.fromstring(svg).findall("g")  # noqa: S314
        if arc.find("rect") is None
    }
    assert found == {"y to a: frequency 100%": "2.20", "a to b: frequency 50%": "1.35", None: None}


def test_a_tree_is_drawn_for_each_width():
    (wide, svg, _), (narrow, small, _) = drawings(tree(5))
    assert (wide, narrow) == ("wide", "narrow")
    assert svg.startswith('<svg class="for-wide" ')
    assert svg.count("<g>") == 9
    assert 'width="350"' in small


@pytest.mark.parametrize("drawn_block", [network, tree])
def test_names_in_a_drawing_are_escaped_and_printable(drawn_block):
    block = drawn_block(3, "\x00" + HOSTILE)
    text = render(Page("A page", "note", [], {}, [Section("s", [block])]))
    assert "<script>alert" not in text
    assert "&lt;script&gt;" in text
    assert "\x00" not in text
    assert text.count('class="sign"') == (2 if drawn_block is tree else 0)
