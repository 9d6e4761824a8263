import dataclasses
import tempfile
import warnings

import numpy as np
import pytest
from msgspec.structs import replace

from ensemblage._core import text_table
from ensemblage.datasets import Dataset, load_dataset, open_dataset
from ensemblage.studies import (
    METHODS,
    ExperimentInterrupt,
    Method,
    ResultStore,
    compare,
    comparison_block,
    read_study,
    run_study,
)
from ensemblage.studies import _study as _study_cell
from ensemblage.studies._choice import signed_scores
from ensemblage.studies._compare import _auto_measure, check_measure, is_imbalanced
from studies.homes import homes
from studies.made_scores import made_scores


@pytest.mark.parametrize("quick", [False, True])
def test_residuals_are_of_the_rows_that_they_belong_to(quick):
    data = homes(source="site")
    result = compare(data, methods=["ridge", "mean"], n_splits=3, n_repeats=2, quick=quick)
    found = result.residuals
    assert (found.method, found.intervals) == ("ridge", None)
    np.testing.assert_array_equal(found.observed, data.y)  # every row is tested once
    np.testing.assert_array_equal(found.row_sources, data.sources)
    residuals = np.subtract(found.observed, found.predicted)
    folds = np.mean(np.square(result.methods[0].rmse[:3]))
    assert np.mean(residuals**2) == pytest.approx(folds)
    assert sum(each.rows for each in found.sources) == len(data.y)
    north = residuals[data.sources == "north"]
    assert {each.source: each.bias for each in found.sources}["north"] == pytest.approx(
        north.mean()
    )


def test_classification_has_no_residuals():
    X = np.random.default_rng(0).normal(size=(40, 2))
    result = compare(X, X[:, 0] > 0, ["majority"], n_splits=2)
    assert result.residuals is None


@pytest.fixture(scope="module")
def result():
    return compare(load_dataset("iris"), methods=["majority", "bayesnet", "logistic"], n_splits=3)


def test_repr_shows_an_aligned_table_and_the_recommendation(result):
    lines = str(result).splitlines()
    assert lines[0] == "iris: 150 rows, 4 columns, 3 classes; 3 folds, seed 0"
    assert lines[2].split() == ["method", "accuracy", "balanced", "log", "loss", "AUC", "seconds"]
    assert len(set(map(len, lines[3:7]))) == 1
    assert lines[4].startswith("logistic regression  0.9")
    assert "Bayesian network *" in lines[5]
    assert lines[-2] == result.verdict
    assert repr(result) == str(result)


def test_a_notebook_gets_html(result):
    page = result._repr_html_()
    assert page.count("<tr>") == 4
    assert '<td style="text-align: left">logistic regression</td>' in page
    assert result.verdict in page


def test_rows_are_plain(result):
    rows = result.rows()
    assert [row["method"] for row in rows] == ["logistic", "bayesnet", "majority"]
    assert rows[0]["score"] == rows[0]["accuracy"]


@pytest.mark.parametrize("measure", ["accuracy", "balanced_accuracy", "log_loss", "auc", "f1"])
def test_the_table_fits_a_screen_of_80(result, measure):
    widest = replace(result.summary[0], label="strata ensemble (paper)", ours=True, seconds=1234.5)
    block = comparison_block(replace(result, measure=measure, summary=(widest,)))
    assert max(map(len, text_table(block).splitlines())) <= 80


def test_a_method_that_failed_says_so(result):
    failed = replace(result.summary[0], accuracy=None, score=None, seconds=None)
    assert comparison_block(replace(result, summary=(failed,))).rows[0][1].text == "failed"
    without = replace(result.summary[0], score=None, score_se=None, auc=None)
    shown = comparison_block(replace(result, summary=(without,))).rows[0]
    assert [shown[1].text, shown[4].text] == ["-", "-"]


FAST = ["majority", "logistic", "tree"]


@pytest.fixture(scope="module")
def iris():
    return load_dataset("iris")


def without_seconds(comparison):
    return replace(
        comparison,
        methods=tuple(replace(each, seconds=()) for each in comparison.methods),
        summary=tuple(replace(each, seconds=None) for each in comparison.summary),
    )


@pytest.mark.filterwarnings("ignore:.* strata hold one class only")
def test_scores_are_the_same_for_any_number_of_processes(iris):
    names = ["logistic", "svm", "strata"]
    one, two = (compare(iris, methods=names, n_splits=3, seed=4, n_jobs=jobs) for jobs in (1, 2))
    assert without_seconds(one) == without_seconds(two)


def test_a_method_does_not_depend_on_the_others(iris):
    alone = compare(iris, methods=["tree"], n_splits=3).methods[0]
    among = compare(iris, methods=FAST, n_splits=3).methods[2]
    assert alone.accuracy == among.accuracy
    assert alone.log_loss == among.log_loss


def test_repeats_and_progress(iris):
    steps = []
    result = compare(
        iris,
        methods=["majority"],
        n_splits=5,
        n_repeats=2,
        progress=lambda *step: steps.append(step),
    )
    assert len(result.methods[0].accuracy) == 10
    assert steps == [(i, 10) for i in range(11)]
    assert result.summary[0].accuracy == pytest.approx(1 / 3)


def test_ranks_by_hand(iris):
    result = compare(iris, methods=FAST, n_splits=3)
    ranks = np.array([each.ranks for each in result.methods])
    np.testing.assert_array_equal(ranks.sum(axis=0), 6)
    assert (ranks[0] == 3).all()
    assert [each.method for each in result.summary][-1] == "majority"


def broken(seed, n_jobs):
    if seed % 2:
        raise RuntimeError("out of luck")
    return METHODS["majority"].classifier(seed, n_jobs)


def test_a_failing_method_does_not_end_the_others(iris, monkeypatch):
    monkeypatch.setitem(METHODS, "broken", Method("broken", "broken", "", lambda *_: 1 / 0))
    monkeypatch.setitem(METHODS, "moody", Method("moody", "moody", "", broken))
    result = compare(iris, methods=["broken", "moody", "logistic"], n_splits=5)
    bad, moody, good = result.methods
    assert bad.failures == dict.fromkeys(range(5), "ZeroDivisionError: division by zero")
    assert 0 < len(moody.failures) < 5
    assert not good.failures
    assert good.ranks == (1.0,) * 5
    rows = {row.method: row for row in result.summary}
    assert rows["broken"].accuracy is None
    assert rows["broken"].failed_folds == 5
    assert rows["moody"].accuracy == pytest.approx(1 / 3)
    assert "only logistic" in compare(iris, methods=["broken", "logistic"], n_splits=2).verdict
    assert compare(iris, methods=["broken"], n_splits=2).verdict == "Every method failed."


def noisy(seed, n_jobs):
    warnings.warn(f"{seed} of 20 strata are odd", UserWarning, stacklevel=1)
    return METHODS["majority"].classifier(seed, n_jobs)


def test_warnings_are_counted_not_shown(iris, monkeypatch):
    monkeypatch.setitem(METHODS, "noisy", Method("noisy", "noisy", "", noisy))
    found = compare(iris, methods=["noisy"], n_splits=3).methods[0].warnings
    assert list(found.values()) == [3]
    assert "of 20 strata are odd" in next(iter(found))


def test_small_classes_are_noted_and_impossible_folds_refused():
    y = np.array(["a"] * 12 + ["b"] * 7 + ["c"])
    data = Dataset("d", np.arange(20.0)[:, None], y, ("x",), ("numeric",))
    result = compare(data, methods=["majority"], n_splits=3)
    assert result.notes == (
        "Class 'c' has 1 row, fewer than the 3 folds: some folds have no test row of it.",
    )
    assert not result.methods[0].failures
    for n_splits, message in ((13, "use at most 12 folds"), (1, "at least 2, got 1")):
        with pytest.raises(ValueError, match=message):
            compare(data, methods=["majority"], n_splits=n_splits)
    with pytest.raises(ValueError, match="must be at least 1, got 0"):
        compare(data, methods=["majority"], n_repeats=0)
    with pytest.raises(ValueError, match="Unknown method 'x'"):
        compare(data, methods=["x"])


STUDY = """
name = "anything"
seed = 4
folds = 3
repeats = 2

[[datasets]]
name = "wine"

[[datasets]]
name = "flowers"
file = "flowers.csv"
target = "kind"

[[methods]]
name = "logistic"
[[methods]]
name = "tree"
"""


def test_a_study_of_the_same_gives_the_same_scores(iris, tmp_path):
    rows = [",".join(map(str, [*x, y])) for x, y in zip(iris.X.tolist(), iris.y, strict=True)]
    (tmp_path / "flowers.csv").write_text("\n".join(["a,b,c,d,kind", *rows]), encoding="utf-8")
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    results = run_study(read_study(tmp_path / "study.toml"), n_jobs=1)
    flowers = open_dataset(str(tmp_path / "flowers.csv"), "kind")
    compared = compare(flowers, methods=["tree", "logistic"], n_splits=3, n_repeats=2, seed=4)
    for method in compared.methods:
        studied = [
            each.values for each in results
            if (each.cell.params["dataset"], each.cell.params["method"]) == ("flowers", method.name)
        ]  # fmt: skip
        for measure in ("accuracy", "balanced_accuracy", "log_loss"):
            assert method[measure] == tuple(each[measure] for each in studied)


def test_stored_scores_are_resumed(iris, tmp_path):
    def stop(done, total):
        if done == 3:
            raise KeyboardInterrupt

    asked = {"methods": FAST, "n_splits": 3, "seed": 1}
    with ResultStore(tmp_path / "r.sqlite") as store:
        with pytest.raises(
            ExperimentInterrupt, match="Interrupted after 3 of 9 cells; run the same"
        ):
            compare(iris, **asked, store=store, progress=stop)
        steps = []
        result = compare(iris, **asked, store=store, progress=lambda *step: steps.append(step))
        assert steps[0] == (3, 9)
        # other folds or rows are other cells
        fewer = replace_rows(iris, slice(None, -1))
        compare(fewer, methods=["majority"], n_splits=3, seed=1, store=store)
        assert len(store) == 12
    assert without_seconds(result) == without_seconds(compare(iris, **asked))


def replace_rows(dataset, rows):
    return dataclasses.replace(dataset, X=dataset.X[rows], y=dataset.y[rows])


def test_a_budget_leaves_whole_folds(iris):
    nothing = compare(iris, methods=["majority"], n_splits=3, budget=1e-9)
    assert not nothing.finished
    assert nothing.methods[0].accuracy == ()
    assert nothing.summary[0].accuracy is None
    assert nothing.notes[-1].startswith("Stopped at the end of the budget after 0 of 3 fits")
    assert nothing.verdict.startswith("No fold has results of every method")


def test_an_interrupt_without_a_store_has_no_message(iris):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        compare(iris, methods=["majority"], n_jobs=2, progress=stop)
    assert str(caught.value) == ""


def test_many_rows_reach_the_workers_by_a_file(iris, monkeypatch, tmp_path):
    usual = compare(iris, methods=["logistic"], n_splits=3)
    monkeypatch.setattr(_study_cell, "LARGE", 0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    by_file = compare(iris, methods=["logistic"], n_splits=3, n_jobs=2)
    assert without_seconds(by_file) == without_seconds(usual)
    assert not list(tmp_path.glob("ensemblage-*"))


def test_imbalanced_classes_are_not_compared_by_accuracy():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=200) > 1.0, "rare", "usual")
    result = compare(X, y, ["majority", "logistic"], n_splits=3)
    assert result.measure == result.choice.measure == "log_loss"
    assert result.methods[1].ranks == (1.0, 1.0, 1.0)
    assert "% of the rows), so methods are compared by log loss" in result.notes[-1]
    silent = compare(X, y, ["majority", "logistic", "svm"], n_splits=3)
    assert silent.measure == "log_loss"
    assert silent.notes[-1].startswith("RBF SVM has no log loss")
    alone = compare(X, y, ["majority", "svm"], n_splits=3)
    assert alone.measure == "balanced_accuracy"
    asked = compare(X, y, ["logistic", "svm", "majority"], n_splits=3, measure="log_loss")
    assert [row.method for row in asked.summary] == ["logistic", "majority", "svm"]
    assert asked.notes[-1].startswith("RBF SVM has no log loss")


def test_groups_are_kept_in_one_fold(monkeypatch):
    seen = []

    def record(fold, *_):
        seen.append(fold)
        return fold

    monkeypatch.setattr(_study_cell, "fewer_rows", record)
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(60, 2)), np.repeat(np.arange(12), 5)
    y = (X[:, 0] > 0).astype(int)
    result = compare(X, y, ["majority"], groups=groups, n_splits=3, quick=True)
    assert len(seen) == 3
    for fold in seen:
        assert not set(groups[fold.train]) & set(groups[fold.test])
    assert result.notes == ()
    with pytest.raises(ValueError, match="`groups` and `sources` exclude each other"):
        compare(X, y, ["majority"], groups=groups, sources=groups)


def noisy_twice(seed, n_jobs):
    for number in (seed, seed + 1):
        warnings.warn(f"{number} of 20 strata are odd", UserWarning, stacklevel=1)
    return METHODS["majority"].classifier(seed, n_jobs)


def test_a_fold_that_warns_twice_is_one_fold(iris, monkeypatch):
    monkeypatch.setitem(METHODS, "noisy", Method("noisy", "noisy", "", noisy_twice))
    found = compare(iris, methods=["noisy"], n_splits=3).methods[0].warnings
    assert list(found.values()) == [3]


@pytest.mark.parametrize(
    ("classes", "imbalanced"),
    [
        ({"a": 75, "b": 25}, False),
        ({"a": 76, "b": 24}, True),
        ({"a": 50, "b": 25, "c": 25}, False),
        ({"a": 51, "b": 25, "c": 24}, True),
    ],
)
def test_the_threshold_of_imbalance_is_that_of_the_guide(classes, imbalanced):
    assert is_imbalanced(classes) is imbalanced


def test_imbalanced_classes_are_compared_by_log_loss_if_all_methods_have_it():
    X = np.zeros((20, 1))
    even, imbalanced = (
        Dataset("d", X, np.array(list(labels)), ("x",), ("numeric",))
        for labels in ("ab" * 10, "a" * 19 + "b")
    )
    without = made_scores(a=(0.5, 0.6), b=(0.5, 0.7))
    giving = [replace(each, log_loss=(0.1, 0.2)) for each in without]
    assert _auto_measure(even, without) == "accuracy"
    assert _auto_measure(imbalanced, without) == "balanced_accuracy"
    assert _auto_measure(imbalanced, [giving[0], without[1]]) == "balanced_accuracy"
    assert _auto_measure(imbalanced, giving) == "log_loss"
    # a method that failed throughout does not count
    failed = replace(without[0], failures={0: "out of luck", 1: "out of luck"})
    assert _auto_measure(imbalanced, [failed, *giving]) == "log_loss"


def test_signed_scores_are_higher_if_better():
    (method,) = made_scores(a=(0.5, 1.0))
    method = replace(method, log_loss=(0.5, None))
    np.testing.assert_array_equal(signed_scores(method, "log_loss"), [-0.5, np.nan])
    np.testing.assert_array_equal(signed_scores(method, "auc"), [0.5, 1.0])


def test_an_unknown_measure_is_refused():
    with pytest.raises(ValueError, match=r"'acuracy' is not known\. Did you mean 'accuracy'"):
        check_measure("acuracy")
