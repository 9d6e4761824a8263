"""The joint feature subsets on real data: Table 2."""

import numpy as np
import pytest

from ensemblage.datasets import Dataset, Table
from ensemblage.papers import paper_experiment
from ensemblage.papers.joint._joint_literal import BASE, GAINS, LOGISTIC, UNTRAINED, Rows
from ensemblage.papers.joint._joint_table2 import STAND_IN, plain_numbers, split_in_parts
from ensemblage.runs import CellResult


def test_words_become_numbers():
    table = Table.from_texts(
        ["sex", "size", "class"], [["M", "F", "M"], ["1", "2", "3"], ["a", "b", "a"]]
    )
    X, y = plain_numbers(Dataset.from_table(table, "class"))
    np.testing.assert_array_equal(X[:, 1], [1, 2, 3])
    assert len(np.unique(X[:, 0])) == 2
    np.testing.assert_array_equal(y, [0, 1, 0])


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


def test_the_parts_of_a_split_share_no_row():
    rows = Rows(np.arange(50)[:, None], np.arange(50))
    parts = split_in_parts(rows, seed=3)
    assert [len(part.y) for part in parts] == [40, 5, 5]
    assert sorted(np.concatenate([part.y for part in parts])) == list(range(50))
