"""Maps are values."""

from ensemblage.pages import MapBlock, MapPanel


def test_a_map_marks_no_row_unless_told():
    block = MapBlock([(0.0, 1.0)], [], [MapPanel("a", "1 row", [0])], "alt", "caption")
    assert block.mark is None
    assert not block.panels[0].own
