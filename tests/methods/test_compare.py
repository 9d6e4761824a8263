import warnings

import numpy as np
import pytest
from msgspec.structs import replace

from ensemblage.datasets import Dataset, load_dataset
from ensemblage.methods import METHODS, Method, compare

FAST = ["majority", "logistic", "forest"]


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
    one, two = (compare(iris, names, n_splits=3, seed=4, n_jobs=jobs) for jobs in (1, 2))
    assert without_seconds(one) == without_seconds(two)


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
    assert result.summary[0].accuracy == pytest.approx(1 / 3)


def test_ranks_by_hand(iris):
    result = compare(iris, FAST, n_splits=3)
    ranks = np.array([each.ranks for each in result.methods])
    np.testing.assert_array_equal(ranks.sum(axis=0), 6)
    assert (ranks[0] == 3).all()
    assert [each.method for each in result.summary][-1] == "majority"


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
    assert not good.failures
    assert good.ranks == (1.0,) * 5
    rows = {row.method: row for row in result.summary}
    assert rows["broken"].accuracy is None
    assert rows["broken"].failed_folds == 5
    assert rows["moody"].accuracy == pytest.approx(1 / 3)
    assert "Only logistic" in compare(iris, ["broken", "logistic"], n_splits=2).verdict
    assert compare(iris, ["broken"], n_splits=2).verdict == "Every method failed."


def noisy(seed, n_jobs):
    warnings.warn(f"{seed} of 20 strata are odd", UserWarning, stacklevel=1)
    return METHODS["majority"].factory(seed, n_jobs)


def test_warnings_are_counted_not_shown(iris, monkeypatch):
    monkeypatch.setitem(METHODS, "noisy", Method("noisy", "noisy", "", noisy))
    said = compare(iris, ["noisy"], n_splits=3).methods[0].warnings
    assert list(said.values()) == [3]
    assert "of 20 strata are odd" in next(iter(said))


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
    with pytest.raises(ValueError, match="must be at least 1, got 0"):
        compare(data, ["majority"], n_repeats=0)
    with pytest.raises(ValueError, match="no method 'x'"):
        compare(data, ["x"])
