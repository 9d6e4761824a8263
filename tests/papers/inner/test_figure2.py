import pytest

from ensemblage.papers import paper_experiment
from ensemblage.studies import CellResult


def test_times_are_averaged_over_datasets_and_compared():
    experiment = paper_experiment("inner-figure2", scale="quick", datasets=["iris"])
    times = {("inner", 10): 1.0, ("inner", 50): 2.0, ("bagging", 10): 10.0, ("bagging", 50): 40.0}
    results = [
        CellResult(cell, {"milliseconds": times[key], "rows": 150}, 0.1)
        for cell in experiment.cells
        if (key := (cell.params["method"], cell.params["n_views"])) in times
    ]
    (table,) = experiment.summarise(results)
    ours = {(row.row, row.column): row.ours for row in table.rows}
    assert ours["ensemble size 50", "bagging"] == pytest.approx(40.0)
    assert table.summary == [
        "inner score, one network: 1.00 ms with 10, 2.00 ms with 50: 2.0 times as long.",
        "bagging: 10.00 ms with 10, 40.00 ms with 50: 4.0 times as long.",
        "Bagging of 50 takes 20 times as long as one network.",
    ]
