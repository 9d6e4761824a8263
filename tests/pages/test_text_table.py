"""Text that fits: nothing cut, no word broken inside, a mark beside its word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.pages import Column, Field, TableBlock, fold_sentence, text_table, text_width

NOTE = "a rather long note about the things"
METHODS = TableBlock(
    [Column("method"), Column("mean rank", numeric=True), Column("note")],
    [
        [Field("strata ensemble (paper) *"), Field("1.2", quiet="± 0.3"), Field(NOTE)],
        [Field("forest"), Field("11.2"), Field("")],
    ],
    "",
)


def test_a_table_that_fits_is_as_wide_as_it_is():
    assert text_table(METHODS).splitlines() == [
        "method                     mean rank  note",
        "─" * 73,
        "strata ensemble (paper) *  1.2 ± 0.3  a rather long note about the things",
        "forest                          11.2",
    ]


def test_texts_fold_at_blanks_and_a_star_stays_beside_its_word():
    assert text_table(METHODS, 44).splitlines() == [
        "method           mean rank  note",
        "─" * 44,
        "strata ensemble  1.2 ± 0.3  a rather long",
        "(paper) *                   note about the",
        "                            things",
        "forest                11.2",
    ]


def test_what_cannot_be_folded_is_turned():
    assert text_table(METHODS, 30).splitlines() == [
        "method     strata ensemble",
        "           (paper) *",
        "mean rank  1.2 ± 0.3",
        "note       a rather long note",
        "           about the things",
        "",
        "method     forest",
        "mean rank  11.2",
    ]


def test_numbers_follow_in_groups_of_columns():
    columns = [Column("name"), *(Column(str(d), numeric=True) for d in range(4))]
    table = TableBlock(columns, [[Field(text) for text in ("long_name", *"5678")]], "")
    assert text_table(table, 15).splitlines() == [
        "name       0  1", "─" * 15, "long_name  5  6", "",
        "name       2  3", "─" * 15, "long_name  7  8",
    ]  # fmt: skip


def test_wide_letters_take_two_places():
    assert text_width("日本 a\u0301") == 6
    table = TableBlock([Column("x"), Column("y")], [[Field("日本"), Field("a")]], "")
    assert text_table(table).splitlines()[0] == "x     y"


def test_a_sentence_folds_under_its_first_word():
    assert fold_sentence("- one two three", 9) == "- one two\n  three"
    assert fold_sentence("  one two three", 9) == "  one two\n  three"
    assert fold_sentence("one two", None) == "one two"
    assert fold_sentence("abcdefgh", 5) == "abcde\nfgh"


words = st.text("abc*", min_size=1, max_size=7)


@given(
    rows=st.lists(st.lists(st.lists(words, max_size=6), min_size=2, max_size=2), max_size=4),
    width=st.integers(20, 60),
)
def test_every_word_is_there_and_no_line_is_too_long(rows, width):
    fields = [[Field(" ".join(each)) for each in row] for row in rows]
    shown = text_table(TableBlock([Column("first"), Column("second")], fields, ""), width)
    assert max((text_width(line) for line in shown.splitlines()), default=0) <= width
    found = sorted(shown.replace("─", "").split())
    expected = sorted(word for row in rows for each in row for word in each)
    heads = [word for word in found if word in {"first", "second"}]
    assert sorted([*expected, *heads]) == found


@pytest.mark.parametrize("width", [25, 40, 80])
def test_a_mark_never_starts_a_line(width):
    starts = {line.split()[0] for line in text_table(METHODS, width).splitlines() if line}
    assert "*" not in starts
