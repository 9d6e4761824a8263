import pytest
from msgspec.structs import replace

from ensemblage.report import comparison_page, render
from ensemblage.report._comparison import residual_section
from ensemblage.studies import compare
from studies.homes import homes

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def result():
    return compare(homes(80, source="site"), methods=["mean", "ridge"], n_splits=2)


def test_residuals_calibration_and_sources_are_shown(result):
    (section,) = residual_section(result.residuals)
    residuals, means, table = section.blocks
    assert "ridge regression misses on 80 rows" in residuals.caption
    assert "a line per source" in means.caption
    assert [row[0].text for row in table.rows] == [each.source for each in result.residuals.sources]
    assert [column.name for column in table.columns] == ["source", "rows", "bias", "RMSE"]


def test_intervals_tell_what_they_cover(result):
    ends = tuple((each - 1e9, each + 1e9) for each in result.residuals.predicted)
    sources = tuple(replace(e, coverage=1.0) for e in result.residuals.sources)
    told = replace(result.residuals, intervals=ends, sources=sources)
    table = residual_section(told)[0].blocks[-1]
    assert {row[-1].text for row in table.rows} == {"1.000"}
    assert "Covered is the share" in table.legend


def test_of_classes_there_is_no_section():
    assert residual_section(None) == []


def test_the_page_speaks_of_numbers(result):
    page = comparison_page(result)
    assert [section.title for section in page.sections][2] == "Residuals"
    text = render(page)
    assert text.count("<svg") >= 2
    assert "RMSE is the root mean squared error" in text
    assert "accuracy" not in text.lower()
    assert "target price" in text
