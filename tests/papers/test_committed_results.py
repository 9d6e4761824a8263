"""Cells computed anew give the figures that stand in the pages."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ensemblage.evaluation import compare_methods
from ensemblage.papers import paper_experiment
from ensemblage.studies import CellResult

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
        pytest.param("inner-table2", "inner", "inner, all settings", marks=pytest.mark.slow),
        pytest.param(
            "inner-table3", "consensus", "graph-based, all settings", marks=pytest.mark.slow
        ),
    ],
)
@pytest.mark.timeout(1200)
def test_bundled_rows_are_clustered_as_the_page_says(table, method, column):
    check(table, "wine", method, column, data_dir=None)


# the first start of two of the cells behind the page
ONE_START = {
    "inner": ({"n_views": 20, "view_size": 0.3}, {"nmi": 0.502267, "purity": 0.803371}),
    "consensus": (
        {"view_size": 0.3},
        {
            "nmi:CSPA:10": 0.681991, "nmi:MCLA:10": 0.423657, "nmi:HGPA:10": 0.456515,
            "nmi:single:10": 0.0414945, "nmi:average:10": 0.492476, "nmi:complete:10": 0.214671,
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("method", ONE_START)
def test_one_start_is_clustered_as_in_the_cells_of_the_page(method):
    setting, expected = ONE_START[method]
    experiment = paper_experiment("inner-table2", scale="full", seed=0, datasets=["wine"])
    wanted = {"method": method, **setting}.items()
    cell = next(each for each in experiment.cells if wanted <= each.params.items())
    fewer = {"starts": 1} | ({"sizes": (10,)} if method == "consensus" else {})
    values = experiment.compute(replace(cell, params=cell.params | fewer), None)
    for name, value in expected.items():
        assert float(f"{values[name][0]:.6g}") == value


@pytest.mark.parametrize(
    ("dataset", "method", "column"),
    [
        ("iris", "plain", "plain network"),
        ("labor", "plain", "plain network"),
        ("iris", "default", "default network (ours)"),
        pytest.param("iris", "pooled", "pooled tables (ours)", marks=pytest.mark.slow),
        pytest.param("iris", "bagging", "bagging, all sizes", marks=pytest.mark.slow),
        pytest.param("iris", "inner", "inner, all settings", marks=pytest.mark.slow),
        pytest.param("iris", "nested", "inner, nested choice", marks=pytest.mark.slow),
    ],
)
def test_networks_are_as_accurate_as_the_page_says(dataset, method, column, shared):
    check("inner-table1", dataset, method, column, str(shared / "data"))


@pytest.mark.parametrize(
    ("table", "dataset", "method"),
    [
        ("hiss-table3", "ecoli", "em-3"),
        ("hiss-readings", "ecoli-327", "hiss"),
        pytest.param("hiss-table2", "glass", "hiss", marks=pytest.mark.slow),
        pytest.param("hiss-multiclass", "iris", "hiss-rest", marks=pytest.mark.slow),
    ],
)
def test_strata_have_the_errors_of_the_page(table, dataset, method, shared):
    check(table, dataset, method, method, str(shared / "data"))


METHODS = {
    "1, average": {"BN": "plain network", "IEBN": "inner, improving settings",
                   "BGBN": "bagging, all sizes"},
    "1, best": {"BN": "plain network", "IEBN": "inner, best setting",
                "BGBN": "bagging, best size"},
    **{
        f"{table}, {part}": {
            "K-means": "K-means", "IEK-m": f"inner, {inner}", "G-based": f"graph-based, {other}",
            "HAC": f"linkage, {other}",
        }
        for table in (2, 3)
        for part, inner, other in (
            ("average", "improving settings", "all settings"),
            ("best", "best setting", "best setting"),
        )
    },
}  # fmt: skip


def test_q_values_on_the_page_are_those_of_the_tables():
    page = (RESULTS.parent / "inner-significance.md").read_text("utf-8")
    lines = [line.strip("| ").split(" | ") for line in page.splitlines() if line.count("|") == 9]
    rows = [line for line in lines if line[0] in METHODS]
    assert len(rows) == 16
    for table, pair, _, printed, _, _, ours, _ in rows:
        methods = METHODS[table]
        run = json.loads((RESULTS / f"inner-table{table[0]}.json").read_text("utf-8"))
        values = {(row["row"], row["column"]): row for row in run["tables"][0]["rows"]}
        names = list(dict.fromkeys(row for row, _ in values if row != "mean"))
        for source, shown in (("paper", printed), ("ours", ours)):
            scores = {key: [values[name, column][source] for name in names]
                      for key, column in methods.items()}  # fmt: skip
            (q,) = [
                row.nemenyi_statistic
                for row in compare_methods(scores).pairwise
                if {row.first, row.second} == set(pair.split(", "))
            ]
            assert f"{q:.3f}" == shown, (table, pair, source)


@pytest.mark.parametrize(
    ("method", "column"),
    [
        ("splits-16", "ensemble splits, 16 leaves"),
        ("stopping-16", "ensemble stopping, 16 leaves"),
    ],
)
def test_trees_by_an_ensemble_are_as_accurate_as_the_page_says(method, column, shared):
    check("inner-tree", "hepatitis", method, column, str(shared / "data"))
