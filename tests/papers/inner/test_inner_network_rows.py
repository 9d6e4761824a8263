from ensemblage.papers import paper_experiment
from ensemblage.papers.inner._inner_network_rows import BAGGING, NESTED, PLAIN
from ensemblage.papers.inner._inner_selection import ALL, BEST, IMPROVING
from ensemblage.runs import CellResult


def made_up(experiment, accuracy):
    return [CellResult(cell, {"accuracy": accuracy(cell.params)}, 0.1) for cell in experiment.cells]


def test_only_improving_settings_enter_the_papers_average():
    experiment = paper_experiment("inner-table1", scale="quick", datasets=["iris"])
    scores = {"plain": 90.0, "nested": 89.0, "bagging": 95.0, "crowd": 96.0, "default": 91.0}
    results = made_up(
        experiment,
        lambda p: {0.3: 80.0, 0.7: 94.0}[p["view_size"]]
        if p["method"] == "inner" else scores[p["method"]],
    )  # fmt: skip
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
