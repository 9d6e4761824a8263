import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage._core import (
    NOTHING,
    Field,
    Heading,
    TableBlock,
    count_field,
    display_width,
    fold_sentence,
    html_table,
    mark_best,
    mark_best_of,
    number_field,
    share_field,
    signed_field,
    text_table,
)


def test_a_number_with_its_error_and_a_true_minus():
    field = number_field(-0.12345, 3, 0.01)
    assert (field.text, field.quiet, field.value) == ("\N{MINUS SIGN}0.123", "± 0.010", -0.12345)
    assert number_field(None, 3) == share_field(None) == NOTHING
    assert share_field(0.256).text == "25.6%"


def test_counts_and_differences():
    assert count_field(12345) == Field("12,345", 12345)
    assert signed_field(0.25, 2).text == "+0.25"
    assert signed_field(-0.25, 2).text == "\N{MINUS SIGN}0.25"
    assert signed_field(-0.00004, 4).text == "+0.0000"
    assert signed_field(None, 2) == NOTHING


@pytest.mark.parametrize(("greater", "best"), [(True, [0, 2]), (False, [1])])
def test_the_best_is_marked_and_equals_as_shown_share_it(greater, best):
    fields = [number_field(value, 2) for value in (0.901, 0.5, 0.899, None)]
    marked = mark_best_of(fields, greater_is_better=greater)
    assert [k for k, field in enumerate(marked) if field.best] == best


def test_there_is_no_best_among_equals():
    fields = [number_field(value, 1) for value in (0.51, 0.52, None)]
    assert not any(field.best for field in mark_best_of(fields, greater_is_better=True))


def test_only_columns_with_a_direction_are_marked():
    columns = [Heading("name"), Heading("score", numeric=True, greater_is_better=True),
               Heading("seconds", numeric=True)]  # fmt: skip
    rows = [
        [Field("a"), Field("1", 1.0), Field("9", 9.0)],
        [Field("b"), Field("2", 2.0), Field("1", 1)],
    ]
    marked = mark_best(columns, rows)
    assert [[field.best for field in row] for row in marked] == [
        [False, False, False], [False, True, False],
    ]  # fmt: skip


NOTE = "a rather long note about the things"


METHODS = TableBlock(
    [Heading("method"), Heading("mean rank", numeric=True), Heading("note")],
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


def test_texts_wrap_at_blanks_and_a_star_stays_beside_its_word():
    assert text_table(METHODS, 44).splitlines() == [
        "method           mean rank  note",
        "─" * 44,
        "strata ensemble  1.2 ± 0.3  a rather long",
        "(paper) *                   note about the",
        "                            things",
        "forest                11.2",
    ]


def test_tables_that_cannot_be_wrapped_become_blocks():
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


def test_numeric_tables_are_split_into_groups_of_columns():
    columns = [Heading("name"), *(Heading(str(d), numeric=True) for d in range(4))]
    table = TableBlock(columns, [[Field(text) for text in ("long_name", *"5678")]], "")
    assert text_table(table, 15).splitlines() == [
        "name       0  1", "─" * 15, "long_name  5  6", "",
        "name       2  3", "─" * 15, "long_name  7  8",
    ]  # fmt: skip


def test_wide_letters_take_two_places():
    assert display_width("日本 a\u0301") == 6
    table = TableBlock([Heading("x"), Heading("y")], [[Field("日本"), Field("a")]], "")
    assert text_table(table).splitlines()[0] == "x     y"


def test_a_sentence_has_a_hanging_indent():
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
    shown = text_table(TableBlock([Heading("first"), Heading("second")], fields, ""), width)
    assert max((display_width(line) for line in shown.splitlines()), default=0) <= width
    found = sorted(shown.replace("─", "").split())
    expected = sorted(word for row in rows for each in row for word in each)
    heads = [word for word in found if word in {"first", "second"}]
    assert sorted([*expected, *heads]) == found


@pytest.mark.parametrize("width", [25, 40, 80])
def test_a_mark_never_starts_a_line(width):
    starts = {line.split()[0] for line in text_table(METHODS, width).splitlines() if line}
    assert "*" not in starts


def test_text_is_escaped_and_numbers_are_right_aligned():
    table = TableBlock(
        [Heading("a<b"), Heading("n", numeric=True)],
        [[Field("<x>"), Field("1", quiet="± 2")]],
        "What & why",
    )
    assert html_table(table) == (
        "<table><caption>What &amp; why</caption><thead><tr>"
        '<th style="text-align: left">a&lt;b</th><th style="text-align: right">n</th></tr></thead>'
        '<tbody><tr><td style="text-align: left">&lt;x&gt;</td>'
        '<td style="text-align: right">1 ± 2</td></tr></tbody></table>'
    )
