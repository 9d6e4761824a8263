import re
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from ensemblage._core import INK
from ensemblage.report import (
    FactsBlock,
    FigureBlock,
    MapBlock,
    MapPanel,
    NetworkBlock,
    Page,
    Section,
    TreeBlock,
    render,
)
from ensemblage.report._blocks import Outline
from ensemblage.report._svg import (
    drawn_svg,
    map_pictures,
    network_pictures,
    numbered,
    tree_pictures,
)
from inner.test_tree_drawing import full_tree


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


def block_tree_pictures(leaves, name="age"):
    return TreeBlock(full_tree(leaves, name), ["yes", "no"], "A tree.", "How to read it.")


def test_one_drawing_for_each_width():
    wide, narrow = tree_pictures(block_tree_pictures(5))
    assert (wide.width, narrow.width) == ("wide", "narrow")
    assert narrow.drawing.width == 350
    assert wide.svg.startswith('<svg class="for-wide" ')
    assert wide.svg.count("<g>") == len(wide.drawing.nodes) == 9


def test_names_are_escaped_and_printable_and_classes_have_a_legend():
    page = Page(
        "A page",
        "note",
        [],
        FactsBlock([]),
        [Section("s", [block_tree_pictures(3, "\x00" + HOSTILE)])],
    )
    text = render(page)
    assert "<script>alert" not in text
    assert "&lt;script&gt;" in text
    assert "\x00" not in text
    assert text.count('class="sign"') == 2


POINTS = [(0.0, 0.0), (10.0, 5.0), (5.0, 5.0)]


def block_map_pictures(groups=(), **options):
    outline = Outline((5.0, 2.5), (5.0, 0.0), (0.0, 2.5))
    panels = [MapPanel("first", "2 rows", [0, 1], outline, own=True)]
    return MapBlock(POINTS, groups, panels, "alt", "caption", **options)


def test_points_fill_the_picture_upwards():
    pictures = map_pictures(block_map_pictures(mark=1))
    assert pictures.behind.startswith("M8.0 142.0m")
    assert "M192.0 8.0m" in pictures.behind
    assert pictures.mark == (192.0, 8.0)
    # the outline starts at the right end of its first half axis
    assert pictures.panels[0].outline.startswith("M192.0 75.0L")


def test_groups_have_signs_the_largest_first():
    pictures = map_pictures(block_map_pictures(["a", "b", "b"]))
    assert pictures.legend == [(0, "b"), (1, "a")]
    assert [number for number, _ in pictures.panels[0].signs] == [0, 1]


def test_of_many_groups_the_smallest_share_a_sign():
    points = [(float(k), float(k)) for k in range(12)]
    many = MapBlock(points, [f"class {k:02d}" for k in range(12)], [], "alt", "caption")
    legend = map_pictures(many).legend
    assert len(legend) == 6
    assert legend[-1] == (5, "7 others")


def test_names_are_escaped():
    page = Page(
        "m", "map", [], FactsBlock([]), [Section("s", [block_map_pictures([HOSTILE] * 3, mark=0)])]
    )
    text = render(page)
    assert "<script>alert" not in text
    assert "&lt;script&gt;" in text
