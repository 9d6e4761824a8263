"""The page of a reproduction or of a user's own experiment."""

import pytest

from ensemblage.pages import NOTHING, BarsBlock, FigureBlock, NotesBlock, TableBlock, TextBlock
from ensemblage.report import experiment_page, render
from report.documents import entry, experiment, large_experiment, table


def small_table(**options):
    rows = [
        entry(row, column, 0.1 * (i + 1) + 0.01 * j, 0.1 * (i + 1) if column != "ours" else None)
        for i, row in enumerate(["pima", "heart", "sonar"])
        for j, column in enumerate(["bagging", "forest", "ours"])
    ]
    return table(rows, summary=["Bagging has the lowest error."], **options)


def kinds(page, section=0):
    return [type(block) for block in page.sections[section].blocks]


def test_a_table_is_said_drawn_ranked_and_listed():
    page = experiment_page(experiment(small_table(notes=["A deviation."])))
    assert page.title == "Table 2 of a paper"
    assert page.summary[0] == "Bagging has the lowest error."
    assert page.summary[1].startswith("Of 6 values that can be compared with the paper's, 6 are")
    assert kinds(page) == [BarsBlock, FigureBlock, TableBlock, TableBlock, NotesBlock]
    bars, ranks, matrix, entries, _ = page.sections[0].blocks
    assert (bars.bars[0].group, bars.bars[0].label, bars.bars[0].reference) == (
        "pima", "bagging", 0.1,
    )  # fmt: skip
    assert "bagging 1.00, forest 2.00, ours 3.00" in ranks.alt
    assert [field.best for field in matrix.rows[0]] == [False, True, False, False]
    assert [field.text for field in entries.rows[1]] == [
        "pima", "forest", "0.1000", "0.1100", "+0.0100", "10",
    ]  # fmt: skip


def test_several_tables_say_their_own_summaries():
    page = experiment_page(experiment(small_table(), small_table(name="other")))
    assert kinds(page)[0] is kinds(page, 1)[0] is TextBlock
    assert page.sections[1].title == "Title of other"


def test_a_row_of_means_is_no_dataset_to_rank_on():
    means = [entry(name, column, value, is_mean=True) for column, value in
             (("bagging", 0.9), ("forest", 0.5), ("ours", 0.1))
             for name in ("mean, 10% noise", "mean")]  # fmt: skip
    whole = small_table()
    whole["rows"] += means
    page = experiment_page(experiment(whole))
    ranks, matrix = page.sections[0].blocks[1:3]
    assert "Mean ranks over 3 rows: bagging 1.00" in ranks.alt
    assert matrix.rows[-1][0].text == "mean"


def test_a_dataset_called_mean_is_ranked_on():
    whole = small_table()
    whole["rows"] += [entry("mean", column, value) for column, value in
                      (("bagging", 0.9), ("forest", 0.5), ("ours", 0.1))]  # fmt: skip
    ranks = experiment_page(experiment(whole)).sections[0].blocks[1]
    assert "Mean ranks over 4 rows" in ranks.alt


def test_rows_still_to_come_are_listed_but_not_compared():
    whole = small_table()
    whole["rows"] += [entry("vote", "bagging", None, 0.4, error=None)]
    page = experiment_page(experiment(whole, done=9))
    ranks, matrix, entries = page.sections[0].blocks[1:4]
    assert "over 3 of 4 rows" in ranks.alt
    assert len(matrix.rows) == 3
    assert entries.rows[-1][0].text == "vote"


def test_a_table_named_like_its_page_is_called_the_results():
    whole = small_table() | {"title": "Table 2 of a paper"}
    assert experiment_page(experiment(whole)).sections[0].title == "Results"


def test_what_is_unfinished_or_failed_is_said():
    page = experiment_page(experiment(small_table(), done=5, failed=1))
    assert "The run is not finished: 5 of 10 cells are computed" in " ".join(page.summary)
    assert "1 cell failed and is left out of the means." in page.summary
    assert ("cells computed", "5 of 10") in page.facts.facts


def test_a_page_without_results():
    page = experiment_page(experiment(table([]), done=0))
    assert page.summary[0] == "Nothing has been computed yet."
    assert "<h2" not in render(page)


def test_an_experiment_of_ones_own_has_no_paper():
    rows = [entry(row, "accuracy", 90.0, error=None) for row in ("a", "b")]
    page = experiment_page(experiment(table(rows, better=None)))
    names = [column.name for column in page.sections[0].blocks[-1].columns]
    assert names == ["row", "column", "mean", "repeats"]
    own = experiment_page(experiment(table(rows), scale="declared"))
    assert [column.name for column in own.sections[0].blocks[-1].columns][:2] == [
        "dataset", "method",
    ]  # fmt: skip
    assert page.summary == ["The tables hold 2 entries."]


def test_stand_ins_failures_and_gaps():
    rows = [
        entry("a", "x", 0.5, 0.4, comparable=False, note="A stand-in."),
        entry("b", "x", None, 0.4, error=None, failures=3),
        entry("b", "y", 0.2, 0.1),
    ]
    page = experiment_page(experiment(table(rows)))
    entries = page.sections[0].blocks[-1]
    assert [column.name for column in entries.columns][-2:] == ["failed", "note"]
    assert [field.text for field in entries.rows[0]][4:] == [NOTHING.text, "10", "0", "A stand-in."]
    assert [field.text for field in entries.rows[1]][2:5] == ["0.4000", NOTHING.text, NOTHING.text]
    assert FigureBlock not in kinds(page)
    assert render(page)


@pytest.mark.parametrize(("largest", "text"), [(0.5, "0.5000"), (87.5, "87.50"), (5000.4, "5000")])
def test_digits_fit_the_measure(largest, text):
    page = experiment_page(experiment(table([entry("a", "x", largest)])))
    assert page.sections[0].blocks[-1].rows[0][2].text == text


def test_the_page_of_the_largest_run_is_below_five_megabytes():
    document = large_experiment()
    assert sum(len(each.rows) for each in document.tables) == 5000
    text = render(experiment_page(document))
    assert len(text.encode()) <= 5_000_000
    assert text.count("<tr>") > 5000
