"""Cells computed anew give the figures that stand in the pages."""

import json
from pathlib import Path

import pytest

from ensemblage.papers import paper_experiment
from ensemblage.runs import CellResult

RESULTS = Path(__file__).parents[2] / "docs" / "reproduction" / "results"


def committed(table, dataset, column):
    run = json.loads((RESULTS / f"{table}.json").read_text("utf-8"))
    (row,) = [
        row for row in run["tables"][0]["rows"] if (row["row"], row["column"]) == (dataset, column)
    ]
    return run, row


def check(table, dataset, method, column, data_dir):
    """Compute a method's cells on one dataset, and compare to the digits that are kept."""
    run, row = committed(table, dataset, column)
    experiment = paper_experiment(
        table, scale=run["scale"], seed=run["seed"], datasets=[dataset], data_dir=data_dir
    )
    results = [
        CellResult(cell, experiment.compute(cell, data_dir), 0.0)
        for cell in experiment.cells
        if cell.params["method"] == method
    ]
    (fresh,) = [
        each
        for each in experiment.summarise(results)[0].rows
        if (each.row, each.column) == (dataset, column)
    ]
    assert float(f"{fresh.ours:.6g}") == row["ours"]
    assert fresh.repeats == row["repeats"]


@pytest.mark.parametrize(
    ("table", "method", "column"),
    [
        ("inner-table2", "kmeans", "K-means"),
        ("inner-table3", "kmeans", "K-means"),
        ("inner-table2", "inner", "inner, all settings"),
        ("inner-table2", "consensus", "linkage, all settings"),
        ("inner-table3", "consensus", "graph-based, all settings"),
    ],
)
def test_bundled_rows_are_clustered_as_the_page_says(table, method, column):
    check(table, "wine", method, column, data_dir=None)


@pytest.mark.parametrize(
    ("dataset", "method", "column"),
    [
        ("iris", "plain", "plain network"),
        ("labor", "plain", "plain network"),
        ("iris", "default", "default network (ours)"),
        pytest.param("iris", "crowd", "pooled tables (ours)", marks=pytest.mark.slow),
        pytest.param("iris", "bagging", "bagging, all sizes", marks=pytest.mark.slow),
        pytest.param("iris", "inner", "inner, all settings", marks=pytest.mark.slow),
        pytest.param("iris", "nested", "inner, nested choice", marks=pytest.mark.slow),
    ],
)
def test_networks_are_as_accurate_as_the_page_says(dataset, method, column, shared):
    check("inner-table1", dataset, method, column, str(shared / "data"))
