import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.model_selection import GridSearchCV

from ensemblage._core import Fold
from ensemblage.datasets import ColumnTypes, Dataset
from ensemblage.evaluation import REGRESSION
from ensemblage.studies import Cell, CellResult, StudyParams, compare, get_method, make_model
from ensemblage.studies import _study as module
from ensemblage.studies._study import (
    KEPT_ROWS,
    MethodPoint,
    Splits,
    Study,
    draw_by_class,
    fewer_rows,
    fit_seed,
    quick_notes,
    score_model,
    set_method_params,
    summarise_study,
)

POINTS = (MethodPoint("majority", "m", {}), MethodPoint("svm", "s", {"C": 2.0}))


def test_cells_omit_defaults_and_can_be_parsed():
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
    return Dataset("d", X, y, ("x",), ("numeric",), sources=sources)


def test_folds_of_a_repeat_partition_the_rows(rows):
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


def test_a_test_share_is_stratified(rows):
    splits = Splits(folds=None, test_share=0.25)
    parts = splits.rows(rows, 0, 0)
    assert (rows.y[parts.test] == "a").sum() == 4
    assert len(parts.test) == 10
    assert (splits.share, splits.places()) == (0.25, [(0, 0)])


def test_each_fold_has_its_own_seed():
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
    assert (second.ours, second.note) == (None, "no log loss: the method gives no probabilities")
    assert table.greater_is_better is False
    assert table.notes[0].startswith("Stratified 2-fold cross-validation, the same splits")


def test_a_tuned_parameter_that_is_given_is_fixed():
    model = make_model("svm", ColumnTypes(("a",), ("numeric",), (None,)), seed=0)
    set_method_params(model, {"C": 5.0, "kernel": "rbf"})
    assert isinstance(model[-1], GridSearchCV)
    assert model[-1].estimator.C == 5.0
    assert list(model[-1].param_grid) == ["gamma"]


def test_a_seed_depends_on_the_fit_and_not_on_names():
    params = {"dataset": "iris", "method": "svm", "params": {}, "repeat": 0, "fold": 1, "seed": 0}
    cell = Cell("compare", params | {"folds": 5}, 2, "abc")
    assert fit_seed(cell) == fit_seed(Cell("other", {**cell.params, "dataset": "i"}, 2, "abc"))
    assert fit_seed(cell) == fit_seed(Cell("compare", {**cell.params, "quick": True}, 2, "abc"))
    assert fit_seed(cell) != fit_seed(Cell("compare", {**cell.params, "fold": 2}, 2, "abc"))
    assert fit_seed(cell) != fit_seed(Cell("compare", cell.params, 2, "xyz"))


def test_shares_by_hand():
    y = np.array(["a"] * 80 + ["b"] * 20)
    drawn = draw_by_class(np.arange(100), y, 10, seed=0)
    assert len(drawn) == 10
    assert (y[drawn] == "b").sum() == 2
    np.testing.assert_array_equal(draw_by_class(np.arange(5), y, 10, seed=0), np.arange(5))


@given(st.lists(st.integers(0, 3), min_size=8, max_size=60), st.integers(4, 30), st.integers(0, 9))
def test_classes_keep_their_shares(labels, limit, seed):
    y = np.array(labels)
    rows = np.flatnonzero(np.arange(len(y)) % 2 == 0)
    drawn = draw_by_class(rows, y, limit, seed)
    assert len(drawn) == min(limit, len(rows))
    assert set(drawn) <= set(rows)
    assert set(y[drawn]) == set(y[rows])
    for label in set(labels):
        expected = limit * (y[rows] == label).mean()
        if len(rows) > limit:
            assert abs((y[drawn] == label).sum() - expected) <= len(set(labels))


def test_superlinear_methods_are_subsampled_first(monkeypatch):
    monkeypatch.setattr(module, "SUPERLINEAR_ROWS", 30)
    rows = np.arange(100)
    y = np.array(list("ab") * 50)
    fold = Fold(rows[:60], rows[60:])
    methods = [get_method(name) for name in ("svm", "strata", "forest")]
    svm, strata, forest = (fewer_rows(fold, y, method, 7) for method in methods)
    assert len(svm.train) == 30
    np.testing.assert_array_equal(svm.train, strata.train)
    assert len(forest.train) == 60
    fewer, reduced = quick_notes([fold], methods)
    assert fewer.startswith("`quick`: RBF SVM and strata ensemble fitted on 30 of 60 train")
    assert reduced == "`quick`: smaller hyperparameter grids for RBF SVM."
    monkeypatch.setattr(module, "MAX_ROWS", 50)
    monkeypatch.setattr(module, "TEST_ROWS", 20)
    kept = [fewer_rows(fold, y, method, 7) for method in methods]
    assert [len(each.train) for each in kept] == [30, 30, 50]
    assert [len(each.test) for each in kept] == [20, 20, 20]
    notes = quick_notes([fold], methods)
    assert notes[1].startswith("`quick`: other methods fitted on 50 of 60 training")
    assert notes[2] == "`quick`: 20 test rows per fold."


def test_small_data_are_not_subsampled():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, "a", "b")
    data = Dataset("d", X, y, ("x", "y"), ("numeric", "numeric"))
    quick, usual = (
        compare(data, methods=["logistic"], n_splits=3, quick=each) for each in (True, False)
    )
    assert quick.methods[0].accuracy == usual.methods[0].accuracy
    assert quick.quick
    assert quick.notes == ()


def test_a_quick_fit_has_a_smaller_grid():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    data = Dataset("d", X, np.where(X[:, 0] > 0, "a", "b"), ("x", "y"), ("numeric", "numeric"))
    params = {"dataset": "d", "method": "svm", "params": {}, "repeat": 0, "fold": 0, "seed": 0}
    cells = [Cell("c", {**params, "folds": 3, "quick": each}, 1, "") for each in (True, False)]
    seen = []

    def record(model, *_):
        seen.append(len(model[-1].cv_results_["params"]))
        return {"accuracy": 1.0}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "score_model", record)
        for cell in cells:
            module.score_cell(cell, None, {"d": data})
    assert seen == [4, 12]


class Broken(RegressorMixin, BaseEstimator):
    def predict(self, X):
        return np.full(len(X), np.inf)


def test_infinite_predictions_are_an_error():
    with pytest.raises(ValueError, match="NaN or infinity"):
        score_model(Broken(), np.zeros((3, 1)), np.zeros(3), REGRESSION)


def test_of_many_rows_some_predictions_are_kept():
    many = np.arange(2.0 * KEPT_ROWS + 1)[:, None]
    model = LinearRegression().fit(many, many[:, 0])
    kept = score_model(model, many, many[:, 0], REGRESSION)["kept"]
    assert len(kept["places"]) == len(kept["predicted"]) <= KEPT_ROWS
    assert (kept["places"][:3], kept["intervals"]) == ([0, 3, 6], None)
    few, y = many[:6], np.array([0.0, 2.0, 1.0, 4.0, 3.0, 6.0])
    kept = score_model(BayesianRidge().fit(few, y), few, y, REGRESSION)["kept"]
    assert len(kept["intervals"]) == 6
