from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest

from bayes.coded import draw, space
from ensemblage._core import Fold
from ensemblage.bayes import k2_search, make_measure
from ensemblage.datasets import load_dataset
from ensemblage.inner import InnerEnsemble, draw_views
from ensemblage.papers import paper_experiment
from ensemblage.papers._declaration import find_table, read_printed
from ensemblage.papers.inner import _networks as table1
from ensemblage.papers.inner._networks import (
    ALL,
    BAGGING,
    BEST,
    IMPROVING,
    NESTED,
    BaggedNetworks,
    FoldNetworks,
    SettingValues,
    accuracy,
    as_frame,
    by_setting,
    folds_of,
    paper_model,
    search_prefixes,
    selection_rows,
    setting_values,
    share_row,
)
from ensemblage.papers.inner._networks import PLAIN as INNER_NETWORK_ROWS_PLAIN
from ensemblage.papers.inner._networks import PLAIN as INNER_TABLE1_PLAIN
from ensemblage.studies import Cell, CellResult

PLAIN = {0: 0.5, 1: 0.5}


GRID = SettingValues([{0: 0.4, 1: 0.4}, {0: 0.6, 1: 0.8}, {0: 0.6, 1: 0.6}], 3)


def test_all_settings_those_that_improved_and_the_best():
    rows = selection_rows(find_table("inner-table2"), "iris", GRID, PLAIN)
    ours = {row.column: row.ours for row in rows}
    assert ours == pytest.approx({ALL: 3.4 / 6, IMPROVING: 0.65, BEST: 0.7})
    assert [row.paper for row in rows] == [None, 0.75, 0.80]
    assert [row.failures for row in rows] == [3, 3, 3]


def test_the_share_that_improved():
    row = share_row("iris", "with replacement", GRID, PLAIN, 48.0)
    assert row.ours == pytest.approx(200 / 3)
    assert (row.paper, row.repeats, row.failures) == (48.0, 3, 3)
    assert share_row("iris", "with replacement", GRID, {}, None).ours is None


def test_a_setting_without_values_is_left_out():
    cell = Cell("e", {"repeat": 0})
    done, broken = CellResult(cell, {"a": 1.0}, 0.1), CellResult(cell, {}, 0.1, "ValueError: no")
    assert setting_values([[done], [broken], []], "a") == ([{0: 1.0}], 1)


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
    scores = {"plain": 90.0, "nested": 89.0, "bagging": 95.0, "pooled": 96.0, "default": 91.0}
    by_share = {0.3: 80.0, 0.7: 94.0}
    results = made_up(
        experiment,
        lambda p: by_share[p["view_size"]] if p["method"] == "inner" else scores[p["method"]],
    )
    table, shares, ranges, without, with_replacement = experiment.summarise(results)
    ours = {row.column: row.ours for row in table.rows if row.row == "iris"}
    assert ours[ALL] == 87.0
    assert ours[IMPROVING] == ours[BEST] == 94.0
    assert (ours[INNER_NETWORK_ROWS_PLAIN], ours[NESTED], ours[BAGGING]) == (90.0, 89.0, 95.0)
    assert [row.ours for row in shares.rows if row.row == "iris"] == [50.0, 50.0]
    assert [row.ours for row in ranges.rows] == [70, 70, 10, 10]
    assert [row.paper for row in ranges.rows] == [10, 90, 10, 100]
    assert shares.rows[-1].paper == 46
    assert [row.ours for row in without.rows] == [-10.0, 4.0]
    assert len(with_replacement.rows) == 2
    paper = {row.column: row.paper for row in table.rows if row.row == "iris"}
    assert (paper[INNER_NETWORK_ROWS_PLAIN], paper[IMPROVING], paper[ALL]) == (92.87, 93.24, None)


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


SIZES = (2, 3, 5, 8)


def words(n_rows=90, seed=0):
    """Words that hang together, some missing, and a number; three classes and one never seen."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    columns = {"number": y + rng.normal(size=n_rows)}
    before = y
    for j in range(5):
        before = np.where(rng.random(n_rows) < 0.5, before, rng.integers(0, 3, n_rows))
        known = np.array(list("abc"), dtype=object)[before]
        known[rng.random(n_rows) < 0.05] = None
        columns[f"word{j}"] = pd.Categorical(known, categories=list("abcd"))
    classes = pd.Categorical.from_codes(y, categories=["z", "x", "y", "never"])
    return pd.DataFrame(columns), pd.Series(classes, name="class")


@pytest.fixture(scope="module", params=["iris", "words"])
def rows(request):
    return words() if request.param == "words" else as_frame(load_dataset("iris"))


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("share", [0.2, 0.7, 1.0])
def test_inner_networks_of_all_sizes_equal_those_fitted_one_by_one(rows, share, replace):
    X, y = rows
    for fold in folds_of(y, 5, seed=3)[:2]:
        found = FoldNetworks(X, y, fold).inner(SIZES, share, replace, seed=7)
        setting = {"view_size": share, "replace": replace}
        alone = [paper_model("inner", 7, n_views=size, **setting) for size in SIZES]
        assert found == [accuracy(model, X, y, fold) for model in alone]


def test_bags_of_all_sizes_equal_those_fitted_one_by_one(rows):
    X, y = rows
    fold = folds_of(y, 5, seed=3)[0]
    found = FoldNetworks(X, y, fold).bags(SIZES, seed=7)
    alone = [paper_model("bagging", 7, n_views=size) for size in SIZES]
    assert found == [accuracy(model, X, y, fold) for model in alone]


def test_a_single_class_leaves_nothing_to_search():
    X, y = words()
    alone = np.flatnonzero(y == "x")
    fold = Fold(alone, np.arange(len(y)))
    networks = FoldNetworks(X, y, fold)
    share = 100.0 * len(alone) / len(y)
    assert networks.inner([2, 4], 0.5, replace=False, seed=0) == pytest.approx([share] * 2)
    assert networks.bags([1, 2], seed=0) == pytest.approx([share] * 2)


@pytest.mark.parametrize("replace", [False, True])
def test_sizes_that_part_find_the_structures_that_they_find_alone(replace):
    parted = 0
    for seed in range(6):
        rows = draw(seed)
        views = draw_views(rows.n_rows, range(20 * seed, 20 * seed + 8), 0.3, replace)
        measure = make_measure("probability", rows, 0.5)
        found = search_prefixes(measure, views, SIZES, space([1, 2, 3], "empty"))
        for size in SIZES:
            fresh = make_measure("probability", rows, 0.5)
            crowd = InnerEnsemble(fresh, lambda _, v=views[:size]: v)
            assert found[size] == k2_search(partial(crowd), space([1, 2, 3], "empty"))
        parted += len(set(found.values())) > 1
    assert parted > 1  # or nothing was tried


@pytest.fixture(scope="module")
def iris():
    X, y = as_frame(load_dataset("iris"))
    return X[::3], y[::3]


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
    for column, mean in ((INNER_TABLE1_PLAIN, 83.02), (BAGGING, 85.42)):
        figures = [printed.value(name, column) for name in printed.rows]
        assert np.mean(figures) == pytest.approx(mean, abs=0.01)


def test_the_nested_choice_is_among_the_standard_grid_at_most():
    experiment = paper_experiment("inner-table1", scale="full", datasets=["iris"])
    nested = next(cell for cell in experiment.cells if cell.params["method"] == "nested")
    assert nested.params["n_views"] == [10, 30]
    assert nested.params["view_size"] == [0.1, 0.3, 0.5, 0.7, 0.9]
