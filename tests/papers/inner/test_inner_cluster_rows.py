import pytest

from ensemblage.papers import paper_experiment
from ensemblage.papers.inner._inner_cluster_rows import GRAPH, LINKAGE, PLAIN, STABLE
from ensemblage.papers.inner._inner_selection import ALL, BEST, IMPROVING
from ensemblage.runs import CellResult


def values_of(params):
    """Made-up scores: the stable setting is not the best one."""
    n = params["starts"]
    if params["method"] == "kmeans":
        return {"nmi": [0.5] * n, "purity": [0.6] * n}
    if params["method"] == "inner":
        good = params["view_size"] == 0.9
        score, stability = (0.7, 0.2) if good else (0.4, 0.9)
        return {"nmi": [score] * n, "purity": [score] * n, "stability": stability}
    scores = {"CSPA": 0.1, "MCLA": 0.8, "HGPA": 0.3, "single": 0.1, "average": 0.8, "complete": 0.3}
    return {f"{measure}:{name}:{size}": [score] * n
            for name, score in scores.items() for size in params["sizes"]
            for measure in ("nmi", "purity")}  # fmt: skip


@pytest.mark.parametrize(("name", "plain"), [("inner-table2", 0.5), ("inner-table3", 0.6)])
def test_a_line_has_every_column_beside_the_papers(name, plain):
    experiment = paper_experiment(name, scale="quick", datasets=["iris"])
    results = [CellResult(cell, values_of(cell.params), 0.1) for cell in experiment.cells]
    table, shares = experiment.summarise(results)
    ours = {row.column: row.ours for row in table.rows if row.row == "iris"}
    assert ours[PLAIN] == pytest.approx(plain)
    assert ours[ALL] == pytest.approx(0.55)
    assert ours[IMPROVING] == ours[BEST] == pytest.approx(0.7)
    assert ours[STABLE] == pytest.approx(0.4)  # chosen without the classes
    assert ours[GRAPH] == ours[LINKAGE] == pytest.approx(0.8)
    assert shares.rows[0].ours == 50.0
    paper = {row.column: row.paper for row in table.rows if row.row == "iris"}
    assert paper[STABLE] is None
    assert paper[PLAIN] == (0.71 if name == "inner-table2" else 0.83)
