"""The joint feature subsets on real data: Table 2."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from ensemblage.datasets import Dataset, Table
from ensemblage.papers import paper_experiment
from ensemblage.papers.joint._joint_literal import BASE, GAINS, LOGISTIC, UNTRAINED
from ensemblage.papers.joint._joint_table2 import STAND_IN, plain_numbers, table_2_split
from ensemblage.runs._experiment import CellResult


def test_words_become_numbers():
    table = Table.from_texts(
        ["sex", "size", "class"], [["M", "F", "M"], ["1", "2", "3"], ["a", "b", "a"]]
    )
    X, y = plain_numbers(Dataset.from_table(table, "class"))
    np.testing.assert_array_equal(X[:, 1], [1, 2, 3])
    assert len(np.unique(X[:, 0])) == 2
    np.testing.assert_array_equal(y, [0, 1, 0])


def test_a_split_has_the_ensembles_and_the_controls():
    scores = table_2_split(*load_iris(return_X_y=True), ("auto", 1e-4), seed=0)
    assert set(scores) == {BASE, *GAINS, UNTRAINED, LOGISTIC}
    assert all(0 <= score <= 100 for score in scores.values())
    # Theorem 1: somebody who knows the answer is never worse than a member
    assert scores[GAINS[0]] >= scores[BASE]


def test_gains_are_relative_to_the_base_of_the_same_split():
    experiment = paper_experiment("joint-table2", scale="quick", datasets=[STAND_IN])
    made = [{BASE: 50.0, GAINS[3]: 55.0}, {BASE: 80.0, GAINS[3]: 84.0}]
    results = [
        CellResult(cell, {**dict.fromkeys((*GAINS, UNTRAINED, LOGISTIC), 60.0), **values}, 0.1)
        for cell, values in zip(experiment.cells[:2], made, strict=True)
    ]
    gains, accuracies = experiment.summarise(results)
    (row,) = [row for row in gains.rows if row.column == GAINS[3]]
    assert row.ours == pytest.approx((10 + 5) / 2)
    assert row.standard_error == pytest.approx(2.5)
    assert row.paper == 5.1
    assert row.difference is None  # a stand-in is not compared
    (base,) = [row for row in accuracies.rows if row.column == BASE]
    assert base.ours == 65.0


@pytest.mark.slow
def test_abalone_literally(shared):
    experiment = paper_experiment("joint-table2", data_dir=shared / "data", datasets=["abalone"])
    results = [CellResult(cell, experiment.compute(cell, experiment.data_dir), 0.0)
               for cell in experiment.cells[:20]]  # fmt: skip
    gains, accuracies = experiment.summarise(results)
    ours = {row.column: row.ours for row in gains.rows}
    assert 54 <= accuracies.rows[0].ours <= 58
    assert 35 <= ours[GAINS[0]] <= 42
    assert 35 <= ours[GAINS[1]] <= 42
