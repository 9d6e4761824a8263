import pytest

from ensemblage._core import Field, TableBlock
from ensemblage._core import Heading as Column
from ensemblage.report import MapBlock, MapPanel, ShadesBlock
from ensemblage.report._blocks import Shade


def test_a_map_marks_no_row_unless_told():
    block = MapBlock([(0.0, 1.0)], [], [MapPanel("a", "1 row", [0])], "alt", "caption")
    assert block.mark is None
    assert not block.panels[0].own


def test_one_colour_grows_unless_levels_are_differences():
    block = ShadesBlock("cluster", ["0"], [("age", [Shade("31", 0.5)])], "caption")
    assert not block.signed


def test_parts_are_equal_by_what_they_say_and_stay_so():
    assert Column("x", numeric=True) == Column("x", numeric=True)
    field = Field("1", 1.0)
    with pytest.raises(AttributeError):
        field.text = "2"


def test_a_table_is_open_unless_it_is_folded():
    assert not TableBlock([Column("x")], [[Field("1")]], "One").folded
