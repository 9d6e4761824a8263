"""The page of a reproduction or of a user's own experiment."""

from ensemblage.pages import TextBlock
from ensemblage.report import experiment_page, render
from report.documents import entry, experiment, large_experiment, small_table, table


def kinds(page, section=0):
    return [type(block) for block in page.sections[section].blocks]


def test_the_summary_of_a_table_is_the_pages():
    page = experiment_page(experiment(small_table()))
    assert page.title == "Table 2 of a paper"
    assert page.summary[0] == "Bagging has the lowest error."
    assert page.summary[1].startswith("Of 6 values that can be compared with the paper's, 6 are")


def test_several_tables_say_their_own_summaries():
    page = experiment_page(experiment(small_table(), small_table(name="other")))
    assert kinds(page)[0] is kinds(page, 1)[0] is TextBlock
    assert page.sections[1].title == "Title of other"
    assert page.summary[0] == "Bagging has the lowest error."


def test_what_several_tables_note_is_said_once():
    one, other = small_table(notes=["Alike.", "One."]), small_table(name="b", notes=["Alike."])
    page = experiment_page(experiment(one, other))
    text = render(page)
    assert text.count("Alike.") == text.count("One.") == 1
    assert page.sections[-1].title == "Notes"


def test_a_table_named_like_its_page_is_called_the_results():
    whole = small_table() | {"title": "Table 2 of a paper"}
    assert experiment_page(experiment(whole)).sections[0].title == "Results"


def test_a_section_does_not_say_the_pages_title_again():
    tables = [
        small_table() | {"title": f"Table 2 of a paper{each}"}
        for each in (": errors", ": R²", ", raw features")
    ]
    page = experiment_page(experiment(*tables))
    assert [section.title for section in page.sections][:3] == ["Errors", "R²", "Raw features"]


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
    assert names == ["row", "column", "mean", "values"]
    own = experiment_page(experiment(table(rows), scale="declared"))
    assert [column.name for column in own.sections[0].blocks[-1].columns][:2] == [
        "dataset", "method",
    ]  # fmt: skip
    assert page.summary == ["The tables hold 2 entries."]


def test_stand_ins_and_gaps_are_rendered():
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
