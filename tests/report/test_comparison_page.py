"""The page of a comparison."""

from ensemblage.pages import BarsBlock, NotesBlock, TableBlock, TextBlock
from ensemblage.report import comparison_page
from report.documents import comparison, method


def blocks(page, kind):
    return [block for section in page.sections for block in section.blocks if type(block) is kind]


def two_methods():
    return (
        method("strata", [0.9, 0.8, 0.95], ours=True),
        method("forest", [0.8, 0.85, 0.9], warnings={"Slow.": 2}),
    )


def test_the_verdict_comes_first():
    page = comparison_page(comparison(*two_methods()))
    assert page.title == "Methods compared on iris"
    assert page.summary[0] == "The first ranks first."
    assert page.summary[1].startswith("Strata is ahead of forest by 0.033 on average")
    assert "Of this library's methods strata does best, with accuracy 0.8833" in page.summary[2]
    assert ("measure", "accuracy") in page.facts.facts
    assert ("rows", "1,500") in page.facts.facts


def test_numbers_are_those_of_the_document():
    scores, folds = blocks(comparison_page(comparison(*two_methods())), TableBlock)
    assert scores.rows[0][1].text == "0.8833"
    assert scores.rows[0][1].quiet == "± 0.0100"
    assert scores.rows[0][1].best
    assert scores.rows[0][0].ours
    assert [field.text for field in folds.rows[1]] == ["forest", "0.8000", "0.8500", "0.9000"]
    assert [field.best for field in folds.rows[1]] == [False, False, True, False]


def test_differences_leave_out_a_method_that_failed_and_the_page_says_so():
    failed = method("broken", [None, None, None], failures={0: "It broke."})
    page = comparison_page(comparison(*two_methods(), failed))
    scores, differences = blocks(page, BarsBlock)
    assert scores.bars[2].text == "failed"
    assert [bar.label for bar in differences.bars] == ["forest"]
    (said,) = blocks(page, TextBlock)
    assert said.paragraphs == ["1 method without a score on every fold is left out here."]
    (notes,) = blocks(page, NotesBlock)
    assert notes.notes == [
        "A note.", "forest, 2 of 3 folds: Slow.", "broken failed on 1 of 3 folds: It broke.",
    ]  # fmt: skip


def test_one_method_has_nothing_to_differ_from():
    page = comparison_page(comparison(two_methods()[0]))
    assert [section.title for section in page.sections if section.blocks] == [
        "Scores", "Fold by fold", "Notes",
    ]  # fmt: skip
    assert len(page.summary) == 1
