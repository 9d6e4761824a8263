import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.datasets._column_kinds import type_columns
from ensemblage.datasets._reading_options import Request
from ensemblage.datasets.streams._text_digest import MOST_SHAPES, TextDigest

NUMBERS = st.sampled_from(["1,5", "2.5", "1.234", "1,234", "12", "1.234,5", "$3", "4%", "-", "n/a"])
DATES = st.sampled_from(["3/4/2021", "13/4/2021", "3/14/2021", "01.12.2020", "2021-03-01", "?"])
COLUMN = st.one_of(st.lists(each, min_size=1, max_size=12) for each in (NUMBERS, DATES))


def digest(texts, kind=None, block=3):
    found = TextDigest(kind)
    for start in range(0, len(texts), block):
        found.add(texts[start : start + block])
    return found.texts


def test_texts_of_one_shape_are_kept_once_by_their_first():
    assert digest(["12345.5", "98765.1", "0.5", "12345.25"], "number") == [
        "12345.5", "0.5", "12345.25"
    ]  # fmt: skip
    assert digest(["13.04.2021", "14.05.2021", "03.04.2021"]) == ["13.04.2021", "03.04.2021"]


def test_of_words_one_is_enough_and_many_shapes_end_it():
    assert digest(["", "NA", "x", "y"], "word", block=10) == ["x", "y"]
    assert digest(["", "x", "y"], "word", block=2) == ["x"]
    many = ["".join(chr(97 + int(digit)) for digit in str(i)) for i in range(3 * MOST_SHAPES)]
    assert len(digest(many, block=1000)) == MOST_SHAPES


def test_texts_with_the_inner_separator_are_kept_as_they_are():
    assert digest(["a\x1fb", "12", "34"]) == ["a\x1fb", "12", "34"]


@given(columns=st.lists(COLUMN, min_size=1, max_size=4))
def test_a_digest_decides_what_the_whole_decides(columns):
    """And the recipes then read any part as the whole was read."""
    named = {f"c{j}": texts for j, texts in enumerate(columns)}
    whole = type_columns(named, Request("a.csv"))
    found = type_columns({name: digest(texts) for name, texts in named.items()}, Request("a.csv"))
    assert found.recipes == whole.recipes
    assert found.notes == whole.notes
    for recipe, column, texts in zip(found.recipes, whole.columns, columns, strict=True):
        parts = [recipe.read(texts[i : i + 2]) for i in range(0, len(texts), 2)]
        np.testing.assert_array_equal(np.concatenate(parts), column)


def test_a_recipe_refuses_what_it_was_not_made_for():
    (recipe,) = type_columns({"a": ["1", "2"]}, Request("a.csv")).recipes
    with pytest.raises(ValueError, match="Column 'a' holds 'x', which is not a finite number"):
        recipe.read(["x"])
