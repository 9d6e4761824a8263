from dataclasses import replace as dataclass_replace

import numpy as np
import pytest
from msgspec import structs

from ensemblage._core import NOTHING, TableBlock
from ensemblage.report import Explanation, clustering_page, explanation_page, render
from ensemblage.report._blocks import BarsBlock, Section, ShadesBlock
from ensemblage.report._contributions import RowExplanation
from ensemblage.report._pages import profile_figure
from ensemblage.studies import ClusteringDocument, Prototype


def test_categorical_prototypes_are_not_drawn():
    assert profile_figure([Prototype(0, 2, {"kind": "a"})], {}) is None
    gone = {"x": np.array([np.nan, np.nan])}
    assert profile_figure([Prototype(0, 2, {"x": None})], gone) is None


def test_of_many_columns_those_with_the_largest_differences_are_drawn():
    rng = np.random.default_rng(0)
    rows = {f"c{j:02d}": rng.normal(size=30) for j in range(40)}
    prototypes = [Prototype(k, 15, {name: k * j for j, name in enumerate(rows)}) for k in (0, 1)]
    block = profile_figure(prototypes, rows)
    names = [name for name, _ in block.rows]
    assert "c39" in names
    assert "c00" not in names
    assert "The 16 columns in which the clusters differ least are not shown." in block.caption


def test_colour_levels_are_standard_deviations_from_the_mean():
    rows = {"x": np.array([0.0, 2.0])}
    block = profile_figure([Prototype(0, 1, {"x": 0.0}), Prototype(1, 1, {"x": 9.0})], rows)
    # mean 1, deviation 1, full strength at 2
    assert [level for _, level in block.rows[0][1]] == [-0.5, 1.0]
    assert block.signed


CLUSTERING = ClusteringDocument(
    method="inner", clusters=2, labels=[0, 0, 1], agreement=[1.0, 0.5, 0.8],
    prototypes=[Prototype(0, 2, {"size": -1.5, "kind": "a"}),
                Prototype(1, 1, {"size": 9.0, "kind": None})],
    scores={"nmi": 0.5, "purity": 0.75}, output=None,
)  # fmt: skip


def test_sizes_prototypes_and_agreement():
    columns = {"size": np.array([-2.0, -1.0, 9.0])}
    page = clustering_page(CLUSTERING, name="things.csv", label="Inner K-means", columns=columns)
    assert page.summary[0] == "Inner K-means: 3 rows in 2 clusters of 1 to 2 rows."
    assert "normalised mutual information 0.5000, purity 0.7500" in page.summary[2]
    sizes, prototypes, notes = page.sections
    assert isinstance(sizes.blocks[0], BarsBlock)
    figure, table = prototypes.blocks
    assert isinstance(figure, ShadesBlock)
    assert isinstance(table, TableBlock)
    assert [field.text for field in table.rows[0]] == [
        "cluster 0", "2", "75.0%", "\N{MINUS SIGN}1.5", "a",
    ]  # fmt: skip
    assert [field.text for field in table.rows[1]][-1] == NOTHING.text
    assert not notes.blocks


def test_a_consensus_has_no_agreement():
    document = structs.replace(CLUSTERING, agreement=None, scores={})
    page = clustering_page(document, name="things.csv", label="MCLA", notes=["Few rows."])
    assert len(page.summary) == 1
    (table,) = page.sections[1].blocks
    assert [column.name for column in table.columns] == ["cluster", "rows", "size", "kind"]
    assert page.sections[2].blocks[0] == ["Few rows."]


EXPLAINED = Explanation(
    None, ["It is new."], {"parts": "3"}, [Section("Parts", ["Three."])], "No drawing."
)


def test_model_report_with_details_of_the_training():
    details = {"dataset": "people.csv", "n_rows": 1200, "accuracy": 0.9, "accuracy_se": 0.01,
               "learned": ["4 columns", "5 strata"], "method": "new"}  # fmt: skip
    page = explanation_page(EXPLAINED, name="m.skops", target="paid", details=details)
    assert page.title == "Model report: paid, trained on people.csv"
    assert page.summary == [
        "It is new.", "Cross-validated accuracy in training (± standard error): 0.9000 ± 0.0100.",
    ]  # fmt: skip
    assert page.facts == {
        "parts": "3", "trained on": "people.csv", "rows": "1,200", "model": "m.skops",
    }  # fmt: skip
    assert [section.title for section in page.sections] == ["Parts", "Training summary"]
    assert page.sections[1].blocks == ["4 columns.", "5 strata."]


@pytest.mark.parametrize("details", [None, {}, {"accuracy": None, "accuracy_se": None}])
def test_model_report_without_details(details):
    page = explanation_page(EXPLAINED, name="m", details=details)
    assert page.summary == ["It is new."]
    assert page.facts == {"parts": "3"}
    assert [section.title for section in page.sections if section.blocks] == ["Parts"]


def test_sections_of_a_row_come_before_those_of_the_model():
    row = dataclass_replace(EXPLAINED, row_sections=[Section("Row 3", ["Predicted.", "Why."])])
    page = explanation_page(row, name="m")
    assert page.summary == ["Predicted.", "It is new."]
    assert [each.title for each in page.sections][:2] == ["Row 3", "Parts"]
    assert page.sections[0].blocks == ["Why."]


def test_title_has_what_is_known_of_target_and_data():
    assert explanation_page(EXPLAINED, name="m", target="y").title == "Model report: y (m)"
    row = dataclass_replace(EXPLAINED, document=RowExplanation(3, "yes", [], []))
    page = explanation_page(row, name="m", target="y", details={"dataset": "a.csv"})
    assert page.title == "Prediction report, row 3: y, trained on a.csv"


def test_any_result_is_rendered():
    pytest.importorskip("jinja2")
    assert "Cluster report: things.csv" in render(CLUSTERING, name="things.csv")
    assert "Model report: m.skops" in render(EXPLAINED, name="m.skops")
