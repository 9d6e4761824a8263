import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy.stats import t as student

from ensemblage._core import TableBlock
from ensemblage.datasets import ColumnSummary, DataSummary
from ensemblage.report import render
from ensemblage.report._blocks import BarsBlock
from ensemblage.report._comparison import comparison_page, difference_blocks, residual_section
from ensemblage.report._data import data_section, datasets_section
from ensemblage.studies import compare
from report.documents import comparison, method
from studies.homes import homes

COLUMNS = (
    ColumnSummary("age", "numeric", 5, 30, -1.5, 40.0, 52.0),
    ColumnSummary("job", "categorical", 0, 14, top_categories={"cook": 30, "smith": 20}),
)
FOLDS = 3
SIGNIFICANT = "significantly different from the best"
scores = st.lists(st.integers(0, 100).map(lambda k: k / 100), min_size=FOLDS, max_size=FOLDS)


def compared(**accuracy):
    return comparison(*(method(name, list(values)) for name, values in accuracy.items()))


def found(document):
    return difference_blocks(document)[0].bars


def test_two_methods_by_hand():
    document = compared(good=[0.9, 0.8, 0.95], bad=[0.8, 0.75, 0.9])
    (each,) = found(document)
    assert each.label == "bad"
    assert each.value == pytest.approx(-0.2 / 3)
    # differences -0.1, -0.05, -0.05: variance 1/1200, times 1/3 + 1/2
    error = np.sqrt((1 / 3 + 1 / 2) / 1200)
    assert each.error == pytest.approx(student.ppf(1 - 0.025 / 2, 2) * error)
    assert each.group == "not significantly different"


def test_methods_that_never_differ_and_that_always_do():
    document = compared(good=[0.9, 0.9, 0.9], same=[0.9, 0.9, 0.9], bad=[0.5, 0.5, 0.5])
    same, bad = found(document)
    assert (same.value, same.error, same.group) == (0.0, 0.0, "not significantly different")
    assert (bad.value, bad.group) == (pytest.approx(-0.4), SIGNIFICANT)
    # 1500 rows that are right or wrong leave some error, though the folds agree
    error = np.sqrt((0.4 - 0.16) / 1500)
    assert bad.error == pytest.approx(student.ppf(1 - 0.0125 / 2, 2) * error)


def test_bars_are_grouped_by_significance():
    document = compared(good=[0.9, 0.91, 0.9], near=[0.9, 0.92, 0.88], far=[0.1, 0.11, 0.1])
    (block,) = difference_blocks(document)
    assert [(bar.label, bar.group) for bar in block.bars] == [
        ("near", "not significantly different"), ("far", SIGNIFICANT),
    ]  # fmt: skip
    assert [bar.reference for bar in block.bars] == [0.0, 0.0]
    assert block.signed


@given(st.lists(scores, min_size=2, max_size=6))
def test_an_interval_covers_zero_unless_the_difference_is_significant(rows):
    document = compared(**{f"m{k}": row for k, row in enumerate(rows)})
    for each in found(document):
        # on the very border rounding decides
        slack = 1e-9 * (1 + abs(each.value))
        if each.group == SIGNIFICANT:
            assert abs(each.value) >= each.error - slack
        else:
            assert abs(each.value) <= each.error + slack


def test_for_errors_the_smallest_difference_comes_first():
    document = compare(homes(60), methods=["mean", "ridge", "forest"], n_splits=2, measure="rmse")
    bars = found(document)
    for group in {bar.group for bar in bars}:
        means = [bar.value for bar in bars if bar.group == group]
        assert means == sorted(means)


def test_nothing_without_a_choice():
    assert difference_blocks(compared(alone=[0.5, 0.5, 0.5])) == []


def test_methods_that_are_not_compared_are_counted():
    broken = [method(name, [None, 0.5, 0.5], failures={0: "No."}) for name in "xy"]
    whole = [method("a", [0.9, 0.8, 0.9]), method("b", [0.5, 0.6, 0.7])]
    _, note = difference_blocks(comparison(*whole, *broken))
    assert note == "2 methods without a score on every fold are not compared."


def card(classes, **options):
    facts = {"name": "people", "n_rows": 100, "columns": COLUMNS, "target": "kind"}
    return DataSummary(**facts, classes=classes, **options)


def test_data_summary_as_a_section():
    (section,) = data_section(card({"a": 75, "b": 25}, notes=("A note.",)))
    facts, shares, columns, notes = section.blocks
    assert facts == {
        "data": "people",
        "rows": "100",
        "columns": "1 numeric, 1 categorical",
        "missing values": "2.5% of values, in 1 column",
        "highest cardinality": "14 in job",
    }
    assert isinstance(shares, BarsBlock)
    assert [bar.text for bar in shares.bars] == ["75 (75.0%)", "25 (25.0%)"]
    assert isinstance(columns, TableBlock)
    assert [row[-1].text for row in columns.rows] == [
        "min \N{MINUS SIGN}1.5, median 40, max 52", "cook (30%), smith (20%)",
    ]  # fmt: skip
    assert notes == ["A note."]


def test_the_rarest_of_many_classes_share_a_bar():
    (section,) = data_section(card({f"c{k}": k + 1 for k in range(20)}))
    bars = section.blocks[1].bars
    assert len(bars) == 12
    assert (bars[0].label, bars[-1].label, bars[-1].value) == ("c19", "9 others", 45)


def test_no_card_is_no_section_and_several_are_one_table():
    assert data_section(None) == datasets_section(()) == []
    two = [card({"a": 75, "b": 25}), card({"a": 50, "b": 50}, notes=("Odd.",))]
    (section,) = datasets_section(two)
    table, notes = section.blocks
    assert [row[-1].text for row in table.rows] == ["75%", "50%"]
    assert notes == ["people: Odd."]


def blocks(page, kind):
    return [block for section in page.sections for block in section.blocks if type(block) is kind]


def two_methods():
    return (
        method("strata", [0.9, 0.8, 0.95], ours=True),
        method("forest", [0.8, 0.85, 0.9], warnings={"Slow.": 2}),
    )


def test_summary_starts_with_the_verdict():
    page = comparison_page(comparison(*two_methods()))
    assert page.title == "Method comparison: iris"
    assert page.summary[0] == "The first ranks first."
    assert page.summary[1].startswith("Strata is better than forest by 0.033 on average")
    assert "Best method of this library: strata (accuracy 0.8833" in page.summary[2]
    assert page.facts["measure"] == "accuracy"
    assert page.facts["rows"] == "1,500"


def test_values_are_those_of_the_document():
    scores, folds = blocks(comparison_page(comparison(*two_methods())), TableBlock)
    assert scores.rows[0][1].text == "0.8833"
    assert scores.rows[0][1].quiet == "± 0.0100"
    assert scores.rows[0][1].best
    assert scores.rows[0][0].ours
    assert [field.text for field in folds.rows[1]] == ["forest", "0.8000", "0.8500", "0.9000"]
    assert [field.best for field in folds.rows[1]] == [False, False, True, False]


def test_page_notes_that_a_failed_method_is_not_compared():
    failed = method("broken", [None, None, None], failures={0: "It broke."})
    page = comparison_page(comparison(*two_methods(), failed))
    scores, differences = blocks(page, BarsBlock)
    assert scores.bars[2].text == "failed"
    assert [bar.label for bar in differences.bars] == ["forest"]
    (note,) = blocks(page, str)
    assert note == "1 method without a score on every fold is not compared."
    (notes,) = blocks(page, list)
    assert notes == [
        "A note.", "forest, 2 of 3 folds: Slow.", "broken failed on 1 of 3 folds: It broke.",
    ]  # fmt: skip


def test_one_method_has_nothing_to_differ_from():
    page = comparison_page(comparison(two_methods()[0]))
    assert [section.title for section in page.sections if section.blocks] == [
        "Scores", "Scores per fold", "Notes",
    ]  # fmt: skip
    assert len(page.summary) == 1


@pytest.fixture(scope="module")
def result():
    return compare(homes(80, source="site"), methods=["mean", "ridge"], n_splits=2)


def test_residuals_calibration_and_sources_are_shown(result):
    pytest.importorskip("matplotlib")
    (section,) = residual_section(result.residuals)
    residuals, means, table = section.blocks
    assert "ridge regression on 80 rows" in residuals.caption
    assert "a line per source" in means.caption
    assert [row[0].text for row in table.rows] == [each.source for each in result.residuals.sources]
    assert [column.name for column in table.columns] == ["source", "rows", "bias", "RMSE"]


def test_residuals_by_source_have_the_coverage_of_intervals(result):
    ends = tuple((each - 1e9, each + 1e9) for each in result.residuals.predicted)
    sources = tuple(replace(e, coverage=1.0) for e in result.residuals.sources)
    residuals = replace(result.residuals, intervals=ends, sources=sources)
    table = residual_section(residuals)[0].blocks[-1]
    assert {row[-1].text for row in table.rows} == {"1.000"}
    assert "Coverage: share" in table.legend


def test_of_classes_there_is_no_section():
    assert residual_section(None) == []


def test_the_report_of_a_regression(result):
    page = comparison_page(result)
    assert [section.title for section in page.sections][2] == "Residuals and calibration"
    text = render(page)
    assert text.count("<svg") >= 2
    assert "RMSE: " in text
    assert "accuracy" not in text.lower()
    assert "target price" in text
