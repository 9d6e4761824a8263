from dataclasses import replace

import pytest

from ensemblage.papers import paper_experiment
from ensemblage.papers._declaration import read_printed
from ensemblage.papers.inner._networks import RANGES, range_rows
from ensemblage.studies import CellResult


def values_of(params):
    """Made-up scores: K-means .5; half of the features .4, nine tenths .7, views of rows .5."""
    n = params["starts"]
    if params["method"] == "kmeans":
        return {"nmi": [0.5] * n, "purity": [0.6] * n}
    score = {"rows": 0.5, "features": 0.7 if params["view_size"] == 0.9 else 0.4}[params["method"]]
    return {f"{measure}:{size}": [score] * n
            for measure in ("nmi", "purity") for size in params["sizes"]}  # fmt: skip


@pytest.fixture
def tables():
    experiment = paper_experiment("inner-sampling", scale="quick", datasets=["iris"])
    results = [CellResult(cell, values_of(cell.params), 0.1) for cell in experiment.cells]
    return {table.name.removeprefix("inner-sampling-"): table
            for table in experiment.summarise(results)}  # fmt: skip


def test_shares_and_ranges_of_the_settings_that_improve(tables):
    rows = {(row.row, row.column): row for row in tables["nmi-improved"].rows}
    assert rows["iris", "with replacement"].ours == 50.0
    assert rows["iris", "with replacement"].paper == 48
    assert [rows["mean", f"{mode} replacement"].paper for mode in ("with", "without")] == [55, 53]
    ranges = tables["purity-range"].rows
    assert [row.ours for row in ranges] == [90, 90, 10, 10]
    assert [row.paper for row in ranges] == [50, 90, 10, 100]


def test_gains_by_setting(tables):
    for mode in ("with", "without"):
        rows = tables[f"grid-{mode}-replacement"].rows
        gains = {row.row: row.ours for row in rows}
        assert gains == pytest.approx({"50% of the features": -0.1, "90% of the features": 0.2})
    assert [row.ours for row in tables["rows"].rows] == pytest.approx([-0.1, -0.1, 0.0, 0.0])


def test_a_dataset_without_printed_range_has_none():
    printed = read_printed("inner-table2")
    rows = range_rows(printed, "ecoli", {(10, 0.5): {0: 1.0}}, {0: 1.0})
    assert [(row.column, row.paper, row.ours) for row in rows] == [(c, None, None) for c in RANGES]
    rows = range_rows(printed, "glass", {(10, 0.5): {0: 1.0}, (20, 0.3): {0: 2.0}}, {0: 1.0})
    assert [(row.paper, row.ours) for row in rows] == [(40, 30), (90, 30), (10, 20), (100, 20)]


def test_a_full_sample_without_replacement_is_k_means():
    experiment = paper_experiment("inner-sampling", datasets=["wine"])
    full = {"method": "features", "view_size": 1.0, "replace": False}
    scores = []
    for wanted in ({"method": "kmeans"}, full):
        cell = next(each for each in experiment.cells if wanted.items() <= each.params.items())
        fewer = {"starts": 2} | ({"sizes": (10,)} if wanted is full else {})
        values = experiment.compute(replace(cell, params=cell.params | fewer), None)
        scores.append(values["nmi:10" if wanted is full else "nmi"])
    assert scores[0] == pytest.approx(scores[1])
