from ensemblage.papers import paper_experiment
from ensemblage.papers.inner._inner_cluster_rows import PLAIN
from ensemblage.runs import CellResult


def test_the_table_shows_its_own_measure():
    experiment = paper_experiment("inner-table3", scale="quick", datasets=["iris"])
    plain = next(cell for cell in experiment.cells if cell.params["method"] == "kmeans")
    values = {"purity": [0.25] * 10, "nmi": [0.75] * 10}
    table = experiment.summarise([CellResult(plain, values, 0.1)])[0]
    assert [row.ours for row in table.rows if row.column == PLAIN] == [0.25, 0.25]
