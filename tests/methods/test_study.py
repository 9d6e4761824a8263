"""A study laid out as cells, its splits, and its table."""

import numpy as np
import pytest

from ensemblage.datasets import Dataset
from ensemblage.methods._study import MethodPoint, Splits, Study, StudyParams, summarise_study
from ensemblage.runs import Cell, CellResult

POINTS = (MethodPoint("majority", "m", {}), MethodPoint("svm", "s", {"C": 2.0}))


def test_cells_leave_out_what_is_usual_and_read_back():
    study = Study("s", "S", ("iris",), POINTS, Splits(seed=7, folds=2))
    first, *_, last = study.cells({"iris": "abc"})
    assert first.params == {
        "dataset": "iris", "method": "majority", "params": {}, "repeat": 0, "fold": 0, "seed": 7,
        "folds": 2,
    }  # fmt: skip
    assert last.data == "abc"
    assert StudyParams.of(last) == StudyParams("iris", "svm", {"C": 2.0}, 0, 1, 7, 2)
    quick = Study("s", "S", ("iris",), POINTS, Splits(folds=2, new_sources=True, quick=True))
    params = StudyParams.of(quick.cells({"iris": ""})[0])
    assert params.splits == Splits(folds=2, new_sources=True, quick=True)
    assert Cell("s", quick.cells({"iris": ""})[0].params).params["quick"] is True


@pytest.fixture
def rows():
    y = np.array(list("aabbb") * 8)
    sources = np.repeat(["n", "s", "e", "w"], 10)
    X = np.arange(40.0)[:, None]
    return Dataset("d", X, y, ("x",), ("number",), sources=sources)


def test_folds_of_a_repeat_part_the_rows(rows):
    splits = Splits(seed=3, repeats=2, folds=4)
    assert splits.places() == [(r, f) for r in (0, 1) for f in range(4)]
    tested = np.concatenate([splits.rows(rows, 1, fold).test for fold in range(4)])
    np.testing.assert_array_equal(np.sort(tested), np.arange(40))
    # a repeat is the same whatever the number of repeats
    again = Splits(seed=3, repeats=5, folds=4).rows(rows, 1, 2)
    np.testing.assert_array_equal(again.test, splits.rows(rows, 1, 2).test)
    assert splits.share == 1 / 4


def test_new_sources_are_tested_whole(rows):
    splits = Splits(folds=4, new_sources=True)
    for fold in range(4):
        parts = splits.rows(rows, 0, fold)
        assert not set(rows.sources[parts.train]) & set(rows.sources[parts.test])


def test_a_share_is_drawn_by_class(rows):
    splits = Splits(folds=None, test_share=0.25)
    parts = splits.rows(rows, 0, 0)
    assert (rows.y[parts.test] == "a").sum() == 4
    assert len(parts.test) == 10
    assert (splits.share, splits.places()) == (0.25, [(0, 0)])


def test_a_fold_has_a_seed_of_its_own():
    splits = Splits(seed=1, repeats=2, folds=3)
    assert len({splits.fold_seed(*place) for place in splits.places()}) == 6


PLAIN_POINTS = (MethodPoint("majority", "m", {}), MethodPoint("svm", "s", {}))


def test_rows_by_hand():
    study = Study("s", "S", ("d",), PLAIN_POINTS, Splits(folds=2), measure="log_loss")
    cells = study.cells({"d": ""})
    values = {"accuracy": 1.0, "balanced_accuracy": 1.0, "auc": None, "f1": 1.0, "warnings": []}
    losses = [0.5, None, 0.7, None]
    results = [CellResult(cell, values | {"log_loss": loss}, 0.1)
               for cell, loss in zip(cells, losses, strict=True)]  # fmt: skip
    (table,) = summarise_study(results, study)
    first, second = table.rows
    assert (first.ours, first.repeats, first.note) == (0.6, 2, "")
    assert (second.ours, second.note) == (None, "gives no probabilities")
    assert table.greater_is_better is False
    assert table.notes[0].startswith("2 stratified folds, drawn once, the same")
