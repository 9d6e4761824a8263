"""Parts of a page are values."""

import pytest

from ensemblage.pages import Column, Field, TableBlock


def test_parts_are_equal_by_what_they_say_and_stay_so():
    assert Column("x", numeric=True) == Column("x", numeric=True)
    field = Field("1", 1.0)
    with pytest.raises(AttributeError):
        field.text = "2"


def test_a_table_is_open_unless_it_is_folded():
    assert not TableBlock([Column("x")], [[Field("1")]], "One").folded
