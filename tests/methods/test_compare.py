import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score
from sklearn.metrics import log_loss as sklearn_log_loss

from ensemblage.datasets import Dataset, load_dataset
from ensemblage.methods import METHODS, Method, as_plain, compare, summary_rows
from ensemblage.runs._scoring import balanced_accuracy, log_loss

FAST = ["majority", "logistic", "forest"]


@pytest.fixture(scope="module")
def iris():
    return load_dataset("iris")


def without_seconds(comparison):
    return replace(
        comparison, methods=tuple(replace(each, seconds=()) for each in comparison.methods)
    )


@pytest.mark.filterwarnings("ignore:.* strata hold one class only")
def test_scores_are_the_same_for_any_number_of_processes(iris):
    names = ["logistic", "svm", "strata"]
    one, two = (compare(iris, names, n_splits=3, seed=4, n_jobs=jobs) for jobs in (1, 2))
    # repr: NaN is not equal to itself, but it is written the same
    assert repr(without_seconds(one)) == repr(without_seconds(two))


def test_a_method_does_not_depend_on_the_others(iris):
    alone = compare(iris, ["forest"], n_splits=3).methods[0]
    among = compare(iris, FAST, n_splits=3).methods[2]
    assert alone.accuracy == among.accuracy
    assert alone.log_loss == among.log_loss


def test_repeats_and_progress(iris):
    steps = []
    result = compare(
        iris, ["majority"], n_splits=5, n_repeats=2, progress=lambda *step: steps.append(step)
    )
    assert len(result.methods[0].accuracy) == 10
    assert steps == [(i, 10) for i in range(11)]
    assert result.methods[0].mean("accuracy") == pytest.approx(1 / 3)


def test_ranks_by_hand(iris):
    result = compare(iris, FAST, n_splits=3)
    ranks = np.array([each.ranks for each in result.methods])
    np.testing.assert_array_equal(ranks.sum(axis=0), 6)
    assert (ranks[0] == 3).all()
    assert [each.name for each in result.ranking()][-1] == "majority"


def test_standard_error_by_hand(iris):
    result = compare(iris, ["majority"], n_splits=3)
    # s² = 1, J = 3, k = 3: sqrt(1/3 + 1/2)
    assert result.standard_error([1.0, 2.0, 3.0]) == pytest.approx(np.sqrt(5 / 6))
    assert np.isnan(result.standard_error([1.0, np.nan]))


def broken(seed, n_jobs):
    if seed % 2:
        raise RuntimeError("out of luck")
    return METHODS["majority"].factory(seed, n_jobs)


def test_a_failing_method_does_not_end_the_others(iris, monkeypatch):
    monkeypatch.setitem(METHODS, "broken", Method("broken", "broken", "", lambda *_: 1 / 0))
    monkeypatch.setitem(METHODS, "moody", Method("moody", "moody", "", broken))
    result = compare(iris, ["broken", "moody", "logistic"], n_splits=5)
    bad, moody, good = result.methods
    assert bad.failures == dict.fromkeys(range(5), "ZeroDivisionError: division by zero")
    assert 0 < len(moody.failures) < 5
    assert moody.mean("accuracy") == pytest.approx(1 / 3)
    assert not good.failures
    assert good.ranks == (1.0,) * 5
    rows = {row["method"]: row for row in summary_rows(result)}
    assert rows["broken"]["accuracy"] is None
    assert rows["broken"]["failed_folds"] == 5
    assert "NaN" not in json.dumps(as_plain(result), allow_nan=False)
    assert "Only logistic" in compare(iris, ["broken", "logistic"], n_splits=2).verdict()
    assert compare(iris, ["broken"], n_splits=2).verdict() == "Every method failed."


def noisy(seed, n_jobs):
    warnings.warn(f"{seed} of 20 strata are odd", UserWarning, stacklevel=1)
    return METHODS["majority"].factory(seed, n_jobs)


def test_warnings_are_counted_not_shown(iris, monkeypatch):
    monkeypatch.setitem(METHODS, "noisy", Method("noisy", "noisy", "", noisy))
    said = compare(iris, ["noisy"], n_splits=3).methods[0].warnings
    assert list(said.values()) == [3]
    assert "of 20 strata are odd" in next(iter(said))


def scores(iris, **accuracies):
    base = compare(iris, ["majority"], n_splits=3)
    names = list(accuracies)
    ranks = np.argsort(np.argsort(-np.array(list(accuracies.values())), axis=0), axis=0) + 1.0
    methods = tuple(
        replace(base.methods[0], name=n, label=n, accuracy=tuple(accuracies[n]), ranks=tuple(r))
        for n, r in zip(names, ranks, strict=True)
    )
    return replace(base, methods=methods)


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ((0.9, 0.9, 0.9), (0.8, 0.8, 0.8), "Choose a (mean accuracy 0.9000), the most accurate"),
        ((0.9, 0.9, 0.7), (0.8, 0.8, 0.8), "does not tell it apart from b"),
        ((0.9, 0.9, 0.1), (0.8, 0.8, 0.8), "Choose b (mean accuracy 0.8000)"),
    ],
)
def test_the_verdict_claims_no_more_than_the_folds_show(iris, a, b, words):
    result = scores(iris, a=a, b=b)
    assert words in result.verdict()
    assert as_plain(result)["choice"]["sentence"] == result.verdict()


def test_a_method_that_failed_on_a_fold_is_not_chosen(iris):
    result = scores(iris, a=(0.9, 0.9, np.nan), b=(0.8, 0.8, 0.8), c=(0.5, 0.5, 0.5))
    bad = replace(result.methods[0], failures={2: "out of luck"})
    result = replace(result, methods=(bad, *result.methods[1:]))
    assert result.choice().method == "b"
    assert replace(result, methods=(bad,)).verdict() == (
        "No method has a score on every fold, so there is none to choose."
    )


def test_small_classes_are_noted_and_impossible_folds_refused():
    y = np.array(["a"] * 12 + ["b"] * 7 + ["c"])
    data = Dataset("d", np.arange(20.0)[:, None], y, ("x",), ("number",))
    result = compare(data, ["majority"], n_splits=3)
    assert result.notes == (
        "Class 'c' has 1 row, fewer than the 3 folds: in some folds it is not tested.",
    )
    assert not result.methods[0].failures
    for n_splits, message in ((13, "use at most 12 folds"), (1, "at least 2, got 1")):
        with pytest.raises(ValueError, match=message):
            compare(data, ["majority"], n_splits=n_splits)
    with pytest.raises(ValueError, match="repeats must be at least 1"):
        compare(data, ["majority"], n_repeats=0)
    with pytest.raises(ValueError, match="no method 'x'"):
        compare(data, ["x"])


def test_measures_equal_scikit_learns():
    rng = np.random.default_rng(0)
    y, guess = rng.choice(list("abc"), 50), rng.choice(list("abc"), 50)
    shares = rng.dirichlet([1, 1, 1], 50)
    assert balanced_accuracy(y, guess) == pytest.approx(balanced_accuracy_score(y, guess))
    loss = log_loss(y, shares, np.array(list("abc")))
    assert loss == pytest.approx(sklearn_log_loss(y, shares, labels=list("abc")))


def test_a_class_never_seen_costs_a_finite_loss():
    loss = log_loss(np.array(["a", "z"]), np.array([[1.0], [1.0]]), np.array(["a"]))
    assert loss == pytest.approx(-np.log(1e-15) / 2)
