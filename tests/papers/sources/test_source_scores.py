import numpy as np
import pytest

from ensemblage.datasets import Dataset
from ensemblage.papers.sources._source_scores import excess_gap, known_scores, new_scores
from ensemblage.papers.sources._source_sets import SourceSet, known_task


def made(n_sources, n_rows=150, seed=0):
    rng = np.random.default_rng(seed)
    sources = np.repeat(np.arange(n_sources), n_rows)
    X = rng.normal(size=(len(sources), 2))
    y = (2 * X[:, 0] + rng.logistic(size=len(X)) > 2 * (sources == 0)).astype(int)
    names = tuple(f"s{s}" for s in range(n_sources))
    data = Dataset("made", X, y.astype(str), ("a", "b"), ("number", "number"))
    return SourceSet(data, y.astype(np.intp), sources.astype(np.intp), names)


def test_a_gap_that_chance_makes_is_none():
    said = np.tile([0.5, 0.5], (100, 1))
    assert excess_gap(said, np.repeat([0, 1], 50)) == 0
    assert excess_gap(said, np.repeat([0, 1], [55, 45])) == 0
    # a gap of .4 less the variance .25 / 100
    assert excess_gap(said, np.repeat([0, 1], [90, 10])) == pytest.approx(np.sqrt(0.16 - 0.0025))


def test_known_sources():
    found = known_scores("one-hot", known_task(made(3), 0))
    assert set(found) == {"log_loss", "error", "worst", "gap", "cv_loss"}
    assert found["error"] <= found["worst"]
    assert 0 < found["log_loss"] < np.log(2)


def test_a_new_source_that_differs():
    found = new_scores("logistic", made(4), 0, 0)
    assert found["held"] == float(found["truth"] <= found["bound"])
    assert found["after_100"] < found["before_100"]
    assert found["truth"] > found["left_out"]
    assert 0.3 < found["novelty"] < 0.7
    assert 0 <= found["covered_left_out"] <= 1


def test_with_two_sources_there_is_nothing_to_leave_out():
    found = new_scores("logistic", made(2), 1, 0)
    assert "left_out" not in found
    assert "held" not in found
    assert found["ordinary"] > 0


def test_few_rows_are_not_recalibrated_by_more():
    found = new_scores("logistic", made(3, 60), 1, 0)
    assert "after_20" in found
    assert "after_50" not in found
