import numpy as np
import pandas as pd
import pytest

from ensemblage.datasets import load_dataset
from ensemblage.papers import paper_experiment
from ensemblage.papers.inner import _inner_table1 as table1
from ensemblage.papers.inner._inner_networks import DATASETS, BaggedNetworks, as_frame, paper_model
from ensemblage.papers.inner._inner_printed import TABLE_1
from ensemblage.papers.inner._inner_selection import ALL, BEST, IMPROVING
from ensemblage.papers.inner._inner_table1_rows import BAGGING, NESTED, PLAIN
from ensemblage.runs._experiment import CellResult


@pytest.fixture(scope="module")
def iris():
    X, y = as_frame(load_dataset("iris"))
    return X[::3], y[::3]


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


def test_nested_choice_looks_at_the_training_rows_only(iris):
    X, y = iris
    train, test = next(table1.folds(y, 5, seed=0))
    settings = [{"n_views": 2, "view_size": share, "replace": False} for share in (0.3, 1.0)]
    honest = table1.nested_accuracy(X, y, train, test, settings, seed=0)
    shuffled = y.copy()
    shuffled.iloc[test] = shuffled.iloc[test[::-1]].to_numpy()
    # with other test labels the choice stays, so the predictions do, and only the score moves
    other = table1.nested_accuracy(X, shuffled, train, test, settings, seed=0)
    scores = [
        [table1.accuracy(paper_model("inner", 0, **setting), X, labels, train, test)
         for labels in (y, shuffled)]
        for setting in settings
    ]  # fmt: skip
    assert [honest, other] in scores


def test_a_cell_is_one_cross_validation(iris, monkeypatch):
    monkeypatch.setattr(table1, "as_frame", lambda _: iris)
    experiment = paper_experiment("inner-table1", scale="quick", datasets=["iris"])
    cells = {cell.params["method"]: cell for cell in experiment.cells}
    for method in ("plain", "bagging", "nested"):
        assert 50 < experiment.compute(cells[method], None)["accuracy"] <= 100


def test_bagging_keeps_every_member(iris):
    bag = paper_model("bagging", 0, n_views=3)
    assert isinstance(bag, BaggedNetworks)
    assert len(bag.fit(*iris).members_) == 3
    assert np.mean(bag.predict(iris[0]) == np.asarray(iris[1])) > 0.8


def test_frames_keep_declared_categories(shared):
    X, y = as_frame(load_dataset("heart-c", shared / "data"))
    assert isinstance(y.dtype, pd.CategoricalDtype)
    assert len(y.cat.categories) == 5
    assert X["cp"].cat.categories.tolist()[0] == "typ_angina"


def test_the_papers_means():
    assert tuple(TABLE_1) == DATASETS
    rows = TABLE_1.values()
    assert np.mean([row.plain for row in rows]) == pytest.approx(83.02, abs=0.01)
    assert np.mean([row.bagging for row in rows]) == pytest.approx(85.42, abs=0.01)
