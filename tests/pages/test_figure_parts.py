"""Figures are values."""

from ensemblage.pages import Shade, ShadesBlock


def test_one_colour_grows_unless_levels_are_differences():
    block = ShadesBlock("cluster", ["0"], [("age", [Shade("31", 0.5)])], "caption")
    assert not block.signed
