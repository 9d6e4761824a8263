import numpy as np
import pytest

from ensemblage.datasets import load_dataset
from ensemblage.papers import paper_experiment
from ensemblage.papers._paper_table import read_printed
from ensemblage.papers.inner import _inner_table1 as table1
from ensemblage.papers.inner._inner_network_rows import BAGGING, PLAIN
from ensemblage.papers.inner._inner_networks import as_frame, paper_model
from ensemblage.parallel import Fold


@pytest.fixture(scope="module")
def iris():
    X, y = as_frame(load_dataset("iris"))
    return X[::3], y[::3]


def test_nested_choice_looks_at_the_training_rows_only(iris):
    X, y = iris
    fold = table1.folds_of(y, 5, seed=0)[0]
    grid = table1.NetworkParams(
        dataset="iris", method="nested", repeat=0, seed=0, n_views=[2], view_size=[0.3, 1.0]
    )
    honest = table1.nested_accuracy(X, y, fold, grid, seed=0)
    shuffled = y.copy()
    shuffled.iloc[fold.test] = shuffled.iloc[fold.test[::-1]].to_numpy()
    # with other test labels the choice stays, so the predictions do, and only the score moves
    other = table1.nested_accuracy(X, shuffled, fold, grid, seed=0)
    settings = [{"n_views": 2, "view_size": share, "replace": False} for share in (0.3, 1.0)]
    scores = [
        [table1.accuracy(paper_model("inner", 0, **setting), X, labels, fold)
         for labels in (y, shuffled)]
        for setting in settings
    ]  # fmt: skip
    assert [honest, other] in scores


def test_the_nested_choice_is_the_best_on_the_inner_folds(iris):
    X, y = iris
    grid = table1.NetworkParams(
        dataset="iris", method="nested", repeat=0, seed=0, n_views=[1, 4], view_size=[0.1, 0.8]
    )
    for fold in table1.folds_of(y, 5, seed=0):
        inner = [
            Fold(fold.train[part.train], fold.train[part.test])
            for part in table1.folds_of(np.asarray(y)[fold.train], table1.INNER_FOLDS, 0)
        ]
        settings = [
            {"n_views": size, "view_size": share, "replace": False}
            for size in grid.n_views for share in grid.view_size
        ]  # fmt: skip
        means = [
            np.mean([table1.accuracy(paper_model("inner", 0, **each), X, y, f) for f in inner])
            for each in settings
        ]
        best = paper_model("inner", 0, **settings[int(np.argmax(means))])
        chosen = table1.nested_accuracy(X, y, fold, grid, seed=0)
        assert chosen == table1.accuracy(best, X, y, fold)


def test_a_cell_is_one_cross_validation(iris, monkeypatch):
    monkeypatch.setattr(table1, "as_frame", lambda _: iris)
    experiment = paper_experiment("inner-table1", scale="quick", datasets=["iris"])
    cells = {cell.params["method"]: cell for cell in experiment.cells}
    for method in ("plain", "nested"):
        assert 50 < experiment.compute(cells[method], None)["accuracy"] <= 100
    for method, n_settings in (("bagging", 1), ("inner", 2)):
        accuracies = experiment.compute(cells[method], None)["accuracy"]
        assert len(accuracies) == n_settings
        assert 50 < min(accuracies) <= max(accuracies) <= 100


def test_the_settings_of_a_cell_are_sizes_by_shares(iris):
    """What a list holds at a place is what the setting of that place gives alone."""
    X, y = iris
    params = table1.NetworkParams(
        dataset="iris", method="inner", repeat=0, seed=0, n_views=[1, 4], view_size=[0.1, 0.5],
        replace=True,
    )  # fmt: skip
    fold = table1.folds_of(y, 5, seed=0)[0]
    found = table1.fold_scores(params, X, y, fold, seed=0)
    alone = [
        paper_model("inner", 0, n_views=size, view_size=share, replace=True)
        for size in (1, 4) for share in (0.1, 0.5)
    ]  # fmt: skip
    assert found == [table1.accuracy(model, X, y, fold) for model in alone]


def test_the_papers_means():
    printed = read_printed("inner-table1")
    for column, mean in ((PLAIN, 83.02), (BAGGING, 85.42)):
        figures = [printed.value(name, column) for name in printed.rows]
        assert np.mean(figures) == pytest.approx(mean, abs=0.01)


def test_the_nested_choice_is_among_the_standard_grid_at_most():
    experiment = paper_experiment("inner-table1", scale="full", datasets=["iris"])
    nested = next(cell for cell in experiment.cells if cell.params["method"] == "nested")
    assert nested.params["n_views"] == [10, 30]
    assert nested.params["view_size"] == [0.1, 0.3, 0.5, 0.7, 0.9]
