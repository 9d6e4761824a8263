import msgspec
import pytest

from ensemblage._core import NOTHING, TableBlock
from ensemblage.report import render
from ensemblage.report._blocks import BarsBlock, RanksBlock
from ensemblage.report._experiment import (
    critical_difference_figure,
    experiment_page,
    result_blocks,
)
from ensemblage.studies import ResultTable
from report.documents import entry, experiment, large_experiment, small_table, table

SCORES = [[0.9, 0.5, 0.1]] * 4


def ranked(*, greater):
    return critical_difference_figure(SCORES, "abc", {"b"}, greater=greater, over="4 datasets")


def test_diagram_has_the_ranks_as_a_text_alternative():
    assert "Mean ranks over 4 datasets: a 1.00, b 2.00, c 3.00." in ranked(greater=True).alt
    assert "c 1.00, b 2.00, a 3.00." in ranked(greater=False).alt


def test_ties_and_the_librarys_methods_are_marked():
    block = ranked(greater=True)
    # three methods on four rows: 2.343 * sqrt(3 * 4 / (6 * 4)) = 1.66
    assert round(block.critical_difference, 2) == 1.66
    assert block.ties == [[True, False], [True, True], [False, True]]
    assert [each.ours for each in block.methods] == [False, True, False]


def blocks(shown):
    return result_blocks(msgspec.convert(shown, ResultTable), ("row", "column"))


def kinds(shown):
    return [type(block) for block in shown]


def test_a_table_is_drawn_ranked_and_listed():
    shown = blocks(small_table(notes=["A deviation."]))
    assert kinds(shown) == [BarsBlock, RanksBlock, TableBlock, TableBlock, list]
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


def test_substitutes_failures_and_missing_values():
    rows = [
        entry("a", "x", 0.5, 0.4, comparable=False, note="A stand-in."),
        entry("b", "x", None, 0.4, error=None, failures=3),
        entry("b", "y", 0.2, 0.1),
    ]
    shown = blocks(table(rows))
    entries, notes = shown[-2:]
    assert [column.name for column in entries.columns][-2:] == ["repeats", "failed"]
    assert [field.text for field in entries.rows[0]][4:] == [NOTHING.text, "10", "0"]
    assert notes == ["a: A stand-in."]
    assert [field.text for field in entries.rows[1]][2:5] == ["0.4000", NOTHING.text, NOTHING.text]
    assert RanksBlock not in kinds(shown)


def test_each_note_is_listed_once_with_its_entries():
    rows = [entry(row, column, 0.1, note="Odd." if (row, column) != ("b", "y") else "Late.")
            for row in "ab" for column in "xy"]  # fmt: skip
    assert blocks(table(rows, notes=["All."]))[-1] == [
        "a and b (x): Odd.", "b (y): Late.", "All.",
    ]  # fmt: skip
    alike = [entry(row, "x", 0.1, note="Odd.") for row in "ab"]
    assert blocks(table(alike))[-1] == ["All rows: Odd."]


def test_the_librarys_methods_are_marked_everywhere():
    shown = blocks(small_table() | {"library": ["ours"]})
    bars, ranks, matrix, entries = shown
    assert {bar.label for bar in bars.bars if bar.ours} == {"ours"}
    assert [each.label for each in ranks.methods if each.ours] == ["ours"]
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


def section_kinds(page, section=0):
    return [type(block) for block in page.sections[section].blocks]


def test_the_summary_of_a_table_is_the_pages():
    page = experiment_page(experiment(small_table()))
    assert page.title == "Experiment report: Table 2 of a paper"
    assert page.summary[0] == "Bagging has the lowest error."
    assert page.summary[1].startswith("6 of 6 comparable values of the paper are")


def test_several_tables_have_their_own_summaries():
    page = experiment_page(experiment(small_table(), small_table(name="other")))
    assert section_kinds(page)[0] is section_kinds(page, 1)[0] is str
    assert page.sections[1].title == "Title of other"
    assert page.summary[0] == "Bagging has the lowest error."


def test_notes_of_several_tables_are_listed_once():
    one, other = small_table(notes=["Alike.", "One."]), small_table(name="b", notes=["Alike."])
    page = experiment_page(experiment(one, other))
    text = render(page)
    assert text.count("Alike.") == text.count("One.") == 1
    assert page.sections[-1].title == "Notes"


def test_a_table_named_like_its_page_is_called_the_results():
    whole = small_table() | {"title": "Table 2 of a paper"}
    assert experiment_page(experiment(whole)).sections[0].title == "Results"


def test_section_title_does_not_repeat_the_title_of_the_page():
    tables = [
        small_table() | {"title": f"Table 2 of a paper{each}"}
        for each in (": errors", ": R²", ", raw features")
    ]
    page = experiment_page(experiment(*tables))
    assert [section.title for section in page.sections][:3] == ["Errors", "R²", "Raw features"]


def test_summary_notes_unfinished_and_failed_cells():
    page = experiment_page(experiment(small_table(), done=5, failed=1))
    assert "The run is not finished: the tables show 5 of 10 cells" in " ".join(page.summary)
    assert "1 cell failed and is left out of the means." in page.summary
    assert page.facts["cells computed"] == "5 of 10"


def test_a_page_without_results():
    page = experiment_page(experiment(table([]), done=0))
    assert page.summary[0] == "No results yet."
    assert "<h2" not in render(page)


def test_a_declared_experiment_has_no_paper():
    rows = [entry(row, "accuracy", 90.0, error=None) for row in ("a", "b")]
    page = experiment_page(experiment(table(rows, better=None)))
    names = [column.name for column in page.sections[0].blocks[-1].columns]
    assert names == ["row", "column", "mean", "repeats"]
    own = experiment_page(experiment(table(rows), scale="declared"))
    assert [column.name for column in own.sections[0].blocks[-1].columns][:2] == [
        "dataset", "method",
    ]  # fmt: skip
    assert page.summary == ["The tables hold 2 entries."]


def test_substitutes_and_missing_values_are_rendered():
    rows = [
        entry("a", "x", 0.5, 0.4, comparable=False, note="A stand-in."),
        entry("b", "x", None, 0.4, error=None, failures=3),
    ]
    assert "A stand-in." in render(experiment_page(experiment(table(rows))))


def test_the_page_of_the_largest_run_is_below_five_megabytes():
    document = large_experiment()
    assert sum(len(each.rows) for each in document.tables) == 5000
    text = render(experiment_page(document))
    assert len(text.encode()) <= 5_000_000
    assert text.count("<tr>") > 5000
