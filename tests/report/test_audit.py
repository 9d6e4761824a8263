"""The report of an audit."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from msgspec.structs import replace

from ensemblage._core import TableBlock
from ensemblage.datasets import Dataset
from ensemblage.report import render
from ensemblage.report._audit import audit_page
from ensemblage.report._blocks import ForestBlock, PanelsBlock
from ensemblage.report._svg import panel_svg
from ensemblage.sources import Panels, panels_of
from ensemblage.sources._display import Line, Panel
from ensemblage.studies import audit

NAME = 'Saint <Anna> & the "long" hospital of the northern district'


def dataset(numeric=False, n_sources=6):
    rng = np.random.default_rng(0)
    n = 60 * n_sources
    X = np.column_stack([rng.normal(size=(n, 2)), np.arange(n) % 5])
    X[rng.random(n) < 0.1, 1] = np.nan
    line = X[:, 0] + rng.logistic(size=n)
    sources = np.array([NAME, *(f"site {s}" for s in range(1, n_sources))])[np.arange(n) // 60]
    y = line if numeric else np.where(line > 0, "ill", "well")
    return Dataset(
        "sites.csv", X, y, ("age", "bmi", "year"), ("numeric",) * 3, target="outcome",
        sources=sources,
    )  # fmt: skip


@pytest.fixture(scope="module")
def document():
    return audit(dataset(), "logistic", time="year", event="ill")


def sections(page):
    return {each.title: each.blocks for each in page.sections if each.blocks}


def test_the_page_has_three_sentences_and_every_figure(document):
    page = audit_page(document)
    assert page.title == "Validation at new sources: outcome in sites.csv"
    assert len(page.summary) == 3
    found = sections(page)
    assert [*found] == [
        "What else was found", "What to expect at a new source", "Forest plots",
        "Calibration by source", "Decision curves", "Predicted risk by outcome", "Sources",
        "Missing values by source", "Columns that differ between sources",
        "How many sources are enough", "Over time", "TRIPOD-Cluster", "Data",
    ]  # fmt: skip
    forest = [each for each in found["Forest plots"] if isinstance(each, ForestBlock)]
    assert [each.forest.title for each in forest] == ["AUC", "O:E ratio", "calibration slope"]
    assert found["Missing values by source"][0].columns[1].name == "bmi"


def test_figures_and_tables_agree(document):
    found = sections(audit_page(document))
    table = document.table()
    auc = found["Forest plots"][0].forest
    assert [row.text for row in auc.rows] == [row[3].text for row in table.rows]
    panels, benefit = found["Decision curves"]
    assert isinstance(panels, PanelsBlock)
    t = [float(each.name.removeprefix("at ")) for each in benefit.columns[1:]]
    for panel, row in zip(panels.panels.panels, benefit.rows, strict=True):
        model = dict(panel.lines[-1].points)
        for threshold, field in zip(t, row[1:], strict=True):
            x = min(model, key=lambda each, x=threshold: abs(each - x))
            assert field.value == model[x]


def test_the_nineteen_items(document):
    [table] = sections(audit_page(document))["TRIPOD-Cluster"]
    assert isinstance(table, TableBlock)
    assert [row[0].text for row in table.rows] == [str(item) for item in range(1, 20)]
    texts = [row[2].text for row in table.rows]
    assert sum("For the authors" in text for text in texts) >= 10
    assert "360 rows" in texts[4]
    assert "Model: logistic regression." in texts[7]


class Parts(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def test_the_file_is_escaped_and_names_every_curve(document):
    page = render(document)
    assert "<Anna>" not in page
    parts = Parts()
    parts.feed(page)
    for name in [NAME, *(f"site {s}" for s in range(1, 6))]:
        assert parts.text.count(name) >= 6
    figures = [attrs["class"] for tag, attrs in parts.tags if tag == "figure" and "class" in attrs]
    assert sum("forest" in each for each in figures) == 3 + 4
    assert sum("panels" in each for each in figures) == 4
    assert not any("style" in attrs for _, attrs in parts.tags)
    places = [float(each) for each in re.findall(r'x="(-?[0-9.]+)%"', page)]
    assert all(0 <= each <= 100 for each in places)


def test_a_numeric_target_has_no_decision_curve():
    found = sections(audit_page(audit(dataset(numeric=True), "ridge", learning_curve=False)))
    assert "Decision curves" not in found
    assert "Predicted risk by outcome" not in found
    assert "How many sources are enough" not in found
    assert [each.forest.title for each in found["Forest plots"][:3]] == [
        "R²", "RMSE", "calibration slope",
    ]  # fmt: skip


def test_a_page_over_time_alone():
    timed = dataset()
    alone = Dataset(
        timed.name, timed.X, timed.y, timed.feature_names, timed.kinds, target="outcome"
    )
    page = audit_page(audit(alone, "logistic", time="year"))
    assert page.title == "Validation over time: outcome in sites.csv"
    assert [*sections(page)][1:3] == ["Over time", "Data"] or "Over time" in sections(page)
    assert "expected in the next period" in " ".join(page.facts)


def test_several_classes_and_suspects(document):
    three = dataset()
    labels = np.digitize(np.nan_to_num(three.X[:, 0]), [-0.5, 0.5]).astype(str)
    found = audit(
        Dataset("three", three.X, labels, three.feature_names, three.kinds, sources=three.sources),
        "logistic", learning_curve=False,
    )  # fmt: skip
    [table] = sections(audit_page(found))["One class against the rest"]
    assert [row[0].text for row in table.rows] == ["0", "1", "2"]
    assert "Sources to be checked" not in sections(audit_page(document))
    suspect = found.sources[0].source
    flagged = replace(
        document,
        suspects=(__import__("ensemblage.sources._suspects", fromlist=["Suspect"]).Suspect(
            suspect, "inverted", None, "Check it."),),
    )  # fmt: skip
    assert flagged.inverted_sources == (suspect,)
    assert flagged.table().rows[0][0].tag == "inverted?"
    assert "Sources to be checked" in sections(audit_page(flagged))


def test_lines_are_cut_where_they_leave_the_axes(document):
    panels = Panels((), (0.0, 1.0), (0.0, 1.0), "x", "y", {})
    svg = panel_svg(panels, Panel("", (Line("model", ((0.0, 0.5), (0.5, 1.5), (1.0, 0.5))),)))
    [path] = re.findall(r'class="line model" d="M([^"]*)"', svg)
    assert path == "38.0 72.0L74.5 6.0"
    assert "circle" in panel_svg(panels, Panel("", (Line("model", ((0.5, 0.5),)),)))
    made = panels_of(document, "decision")
    assert all("nan" not in panel_svg(made, each) for each in made.panels)
