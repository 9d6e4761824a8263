from itertools import product

from ensemblage.papers import paper_experiment
from ensemblage.papers.inner._inner_network_rows import BAGGING, NESTED, PLAIN, by_setting
from ensemblage.papers.inner._inner_selection import ALL, BEST, IMPROVING
from ensemblage.runs import Cell, CellResult


def made_up(experiment, accuracy):
    """Give each setting of each cell an accuracy."""
    results = []
    for cell in experiment.cells:
        method, params = cell.params["method"], cell.params
        if method == "inner":
            grid = product(params["n_views"], params["view_size"])
            value = [accuracy(params | {"view_size": share}) for _, share in grid]
        else:
            one = accuracy(params)
            value = [one] * len(params["n_views"]) if method == "bagging" else one
        results.append(CellResult(cell, {"accuracy": value}, 0.1))
    return results


def test_only_improving_settings_enter_the_papers_average():
    experiment = paper_experiment("inner-table1", scale="quick", datasets=["iris"])
    scores = {"plain": 90.0, "nested": 89.0, "bagging": 95.0, "crowd": 96.0, "default": 91.0}
    by_share = {0.3: 80.0, 0.7: 94.0}
    results = made_up(
        experiment,
        lambda p: by_share[p["view_size"]] if p["method"] == "inner" else scores[p["method"]],
    )
    table, shares, without, with_replacement = experiment.summarise(results)
    ours = {row.column: row.ours for row in table.rows if row.row == "iris"}
    assert ours[ALL] == 87.0
    assert ours[IMPROVING] == ours[BEST] == 94.0
    assert (ours[PLAIN], ours[NESTED], ours[BAGGING]) == (90.0, 89.0, 95.0)
    assert [row.ours for row in shares.rows if row.row == "iris"] == [50.0, 50.0]
    assert [row.ours for row in without.rows] == [-10.0, 4.0]
    assert len(with_replacement.rows) == 2
    paper = {row.column: row.paper for row in table.rows if row.row == "iris"}
    assert (paper[PLAIN], paper[IMPROVING], paper[ALL]) == (92.87, 93.24, None)


def test_a_cell_that_failed_counts_at_each_of_its_settings():
    cell = Cell("t", {"method": "inner", "n_views": [10, 20], "view_size": [0.1], "repeat": 0})
    parts = list(by_setting(CellResult(cell, {}, 0.1, error="ValueError: no")))
    assert [(part.cell.params["n_views"], part.error) for part in parts] == [
        (10, "ValueError: no"), (20, "ValueError: no"),
    ]  # fmt: skip


def test_a_cell_is_taken_apart_by_sizes_and_then_by_shares():
    cell = Cell("t", {"method": "inner", "n_views": [10, 20], "view_size": [0.1, 0.2]})
    parts = by_setting(CellResult(cell, {"accuracy": [1.0, 2.0, 3.0, 4.0]}, 0.1))
    found = {
        (part.cell.params["n_views"], part.cell.params["view_size"]): part.values["accuracy"]
        for part in parts
    }
    assert found == {(10, 0.1): 1.0, (10, 0.2): 2.0, (20, 0.1): 3.0, (20, 0.2): 4.0}


def test_where_nothing_improves_the_plain_network_stands():
    experiment = paper_experiment("inner-table1", scale="quick", datasets=["iris"])
    results = made_up(experiment, lambda p: 90.0 if p["method"] == "plain" else 80.0)
    table = experiment.summarise(results)[0]
    (row,) = [row for row in table.rows if (row.row, row.column) == ("iris", IMPROVING)]
    assert row.ours == 90.0
    assert "No setting improved" in row.note


def test_the_papers_own_columns_give_its_friedman_statistics(shared):
    experiment = paper_experiment("inner-table1", scale="quick", data_dir=shared / "data")
    summary = " ".join(experiment.summarise([])[0].summary)
    assert "26.14" in summary
    assert "22.29" in summary
