"""Maps as paths."""

from ensemblage.pages import FactsBlock, MapBlock, MapPanel, Outline, Page, Section
from ensemblage.report import render
from ensemblage.report._map_pictures import map_pictures

HOSTILE = "<script>alert(1)</script>"
POINTS = [(0.0, 0.0), (10.0, 5.0), (5.0, 5.0)]


def block(groups=(), **options):
    outline = Outline((5.0, 2.5), (5.0, 0.0), (0.0, 2.5))
    panels = [MapPanel("first", "2 rows", [0, 1], outline, own=True)]
    return MapBlock(POINTS, groups, panels, "alt", "caption", **options)


def test_points_fill_the_picture_upwards():
    pictures = map_pictures(block(mark=1))
    assert pictures.behind.startswith("M8.0 142.0m")
    assert "M192.0 8.0m" in pictures.behind
    assert pictures.mark == (192.0, 8.0)
    # the outline starts at the right end of its first half axis
    assert pictures.panels[0].outline.startswith("M192.0 75.0L")


def test_groups_have_signs_the_largest_first():
    pictures = map_pictures(block(["a", "b", "b"]))
    assert pictures.legend == [(0, "b"), (1, "a")]
    assert [number for number, _ in pictures.panels[0].signs] == [0, 1]


def test_of_many_groups_the_smallest_share_a_sign():
    points = [(float(k), float(k)) for k in range(12)]
    many = MapBlock(points, [f"class {k:02d}" for k in range(12)], [], "alt", "caption")
    legend = map_pictures(many).legend
    assert len(legend) == 6
    assert legend[-1] == (5, "7 others")


def test_names_are_escaped():
    page = Page("m", "map", [], FactsBlock([]), [Section("s", [block([HOSTILE] * 3, mark=0)])])
    text = render(page)
    assert "<script>alert" not in text
    assert "&lt;script&gt;" in text
