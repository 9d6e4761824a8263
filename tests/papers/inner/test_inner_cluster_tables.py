import pytest

from ensemblage.papers import paper_experiment
from ensemblage.papers.inner._inner_cluster_tables import MEASURES


@pytest.mark.parametrize("method", ["kmeans", "inner", "linkage"])
def test_a_cell_scores_every_start_by_every_measure(method):
    experiment = paper_experiment("inner-table2", scale="quick", datasets=["iris"])
    cell = next(cell for cell in experiment.cells if cell.params["method"] == method)
    values = experiment.compute(cell, None)
    assert ("stability" in values) == (method == "inner")
    lists = {name: value for name, value in values.items() if name != "stability"}
    assert {name.partition(":")[0] for name in lists} == set(MEASURES)
    assert {len(value) for value in lists.values()} == {cell.params["starts"]}
