import pytest

from ensemblage.papers import paper_experiment
from ensemblage.papers.inner._inner_cluster_rows import PLAIN
from ensemblage.papers.inner._inner_cluster_tables import MEASURES
from ensemblage.runs import CellResult


@pytest.mark.parametrize("method", ["kmeans", "inner", "consensus"])
def test_a_cell_scores_every_start_by_every_measure(method):
    experiment = paper_experiment("inner-table2", scale="quick", datasets=["iris"])
    cell = next(cell for cell in experiment.cells if cell.params["method"] == method)
    values = experiment.compute(cell, None)
    assert ("stability" in values) == (method == "inner")
    lists = {name: value for name, value in values.items() if name != "stability"}
    assert {name.partition(":")[0] for name in lists} == set(MEASURES)
    assert {len(value) for value in lists.values()} == {cell.params["starts"]}


@pytest.mark.parametrize(("name", "own", "other"), [("2", "nmi", "purity"), ("3", "purity", "nmi")])
def test_a_table_shows_its_own_measure(name, own, other):
    experiment = paper_experiment(f"inner-table{name}", scale="quick", datasets=["iris"])
    plain = next(cell for cell in experiment.cells if cell.params["method"] == "kmeans")
    values = {own: [0.25] * 10, other: [0.75] * 10}
    table = experiment.summarise([CellResult(plain, values, 0.1)])[0]
    assert [row.ours for row in table.rows if row.column == PLAIN] == [0.25, 0.25]
