import pytest

from ensemblage.papers import paper_experiment
from ensemblage.papers.hiss._hiss_table2 import HissTable2
from ensemblage.runs import CellResult


def test_columns_of_our_own_have_no_figure_of_the_paper(shared):
    experiment = paper_experiment("hiss-table2", datasets=["ecoli"], data_dir=shared / "data")
    (table,) = experiment.summarise([])
    printed = {row.column: row.paper is None for row in table.rows if row.row == "ecoli"}
    assert printed == {method: method in HissTable2.own_columns for method in HissTable2().columns}


@pytest.mark.slow
def test_the_papers_preset_reaches_the_papers_error(shared):
    experiment = paper_experiment(
        "hiss-table2", data_dir=shared / "data", datasets=["vehicle", "pendigits"]
    )
    cells = [cell for cell in experiment.cells if cell.params["method"] == "hiss"]
    results = [CellResult(cell, experiment.compute(cell, experiment.data_dir), 0.0)
               for cell in cells]  # fmt: skip
    (table,) = experiment.summarise(results)
    ours = {row.row: row.ours for row in table.rows if row.column == "hiss"}
    assert ours["vehicle"] <= 0.048
    assert ours["pendigits"] <= 0.011
