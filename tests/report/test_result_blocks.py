"""A table of results as blocks of a page."""

import msgspec
import pytest

from ensemblage.pages import NOTHING, BarsBlock, NotesBlock, RanksBlock, TableBlock
from ensemblage.report._result_blocks import result_blocks
from ensemblage.runs import TableDocument
from report.documents import entry, small_table, table


def blocks(shown):
    return result_blocks(msgspec.convert(shown, TableDocument), ("row", "column"))


def kinds(shown):
    return [type(block) for block in shown]


def test_a_table_is_drawn_ranked_and_listed():
    shown = blocks(small_table(notes=["A deviation."]))
    assert kinds(shown) == [BarsBlock, RanksBlock, TableBlock, TableBlock, NotesBlock]
    bars, ranks, matrix, entries, _ = shown
    assert (bars.bars[0].group, bars.bars[0].label, bars.bars[0].reference) == (
        "pima", "bagging", 0.1,
    )  # fmt: skip
    assert "bagging 1.00, forest 2.00, ours 3.00" in ranks.alt
    assert [field.best for field in matrix.rows[0]] == [False, True, False, False]
    assert [field.text for field in entries.rows[1]] == [
        "pima", "forest", "0.1000", "0.1100", "+0.0100", "10",
    ]  # fmt: skip


def test_a_row_of_means_is_no_dataset_to_rank_on():
    means = [entry(name, column, value, is_mean=True) for column, value in
             (("bagging", 0.9), ("forest", 0.5), ("ours", 0.1))
             for name in ("mean, 10% noise", "mean")]  # fmt: skip
    whole = small_table()
    whole["rows"] += means
    ranks, matrix = blocks(whole)[1:3]
    assert "Mean ranks over 3 rows: bagging 1.00" in ranks.alt
    assert matrix.rows[-1][0].text == "mean"


def test_rows_that_are_no_datasets_are_not_ranked_on():
    assert kinds(blocks(small_table() | {"ranked": False})) == [BarsBlock, TableBlock, TableBlock]


def test_a_dataset_called_mean_is_ranked_on():
    whole = small_table()
    whole["rows"] += [entry("mean", column, value) for column, value in
                      (("bagging", 0.9), ("forest", 0.5), ("ours", 0.1))]  # fmt: skip
    ranks = blocks(whole)[1]
    assert "Mean ranks over 4 rows" in ranks.alt


def test_rows_still_to_come_are_listed_but_not_compared():
    whole = small_table()
    whole["rows"] += [entry("vote", "bagging", None, 0.4, error=None)]
    ranks, matrix, entries = blocks(whole)[1:4]
    assert "over 3 of 4 rows" in ranks.alt
    assert len(matrix.rows) == 3
    assert entries.rows[-1][0].text == "vote"


def test_stand_ins_failures_and_gaps():
    rows = [
        entry("a", "x", 0.5, 0.4, comparable=False, note="A stand-in."),
        entry("b", "x", None, 0.4, error=None, failures=3),
        entry("b", "y", 0.2, 0.1),
    ]
    shown = blocks(table(rows))
    entries, notes = shown[-2:]
    assert [column.name for column in entries.columns][-2:] == ["values", "failed"]
    assert [field.text for field in entries.rows[0]][4:] == [NOTHING.text, "10", "0"]
    assert notes.notes == ["a: A stand-in."]
    assert [field.text for field in entries.rows[1]][2:5] == ["0.4000", NOTHING.text, NOTHING.text]
    assert RanksBlock not in kinds(shown)


def test_each_note_stands_once_with_what_it_is_of():
    rows = [entry(row, column, 0.1, note="Odd." if (row, column) != ("b", "y") else "Late.")
            for row in "ab" for column in "xy"]  # fmt: skip
    assert blocks(table(rows, notes=["All."]))[-1].notes == [
        "a and b (x): Odd.", "b (y): Late.", "All.",
    ]  # fmt: skip
    alike = [entry(row, "x", 0.1, note="Odd.") for row in "ab"]
    assert blocks(table(alike))[-1].notes == ["All rows: Odd."]


def test_the_librarys_methods_are_marked_everywhere():
    shown = blocks(small_table() | {"library": ["ours"]})
    bars, ranks, matrix, entries = shown
    assert {bar.label for bar in bars.bars if bar.ours} == {"ours"}
    assert [each.name for each in ranks.methods if each.ours] == ["ours"]
    assert [column.name for column in matrix.columns if column.ours] == ["ours"]
    assert {row[1].text for row in entries.rows if row[1].ours} == {"ours"}


@pytest.mark.parametrize(("largest", "text"), [(0.5, "0.5000"), (87.5, "87.50"), (5000.4, "5000")])
def test_digits_fit_the_measure(largest, text):
    assert blocks(table([entry("a", "x", largest)]))[-1].rows[0][2].text == text


@pytest.mark.parametrize(("n_rows", "folded"), [(24, False), (25, True)])
def test_a_long_list_of_entries_waits_to_be_opened(n_rows, folded):
    assert blocks(table([entry(str(k), "x", 0.1) for k in range(n_rows)]))[-1].folded is folded


def test_many_methods_are_ranked_though_no_table_could_hold_them():
    rows = [entry(row, f"m{k}", k / 20) for row in "abc" for k in range(13)]
    assert kinds(blocks(table(rows))) == [BarsBlock, RanksBlock, TableBlock]
