"""The joint feature subsets on real data: Table 2, and a tuned baseline."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from ensemblage.datasets import Dataset, Table, load_dataset, table_encoder
from ensemblage.experiments._joint_real import (
    LITERAL_SETTINGS,
    compare_with_logistic,
    plain_numbers,
    table_2_rows,
    table_2_split,
)
from ensemblage.experiments._joint_tables import COMPARED, main


def test_words_become_numbers():
    table = Table.from_cells(
        ["sex", "size", "class"], [["M", "F", "M"], ["1", "2", "3"], ["a", "b", "a"]]
    )
    X, y = plain_numbers(Dataset.from_table(table, "class"))
    np.testing.assert_array_equal(X[:, 1], [1, 2, 3])
    assert len(np.unique(X[:, 0])) == 2
    np.testing.assert_array_equal(y, [0, 1, 0])


def test_a_row_of_table_2():
    X, y = load_iris(return_X_y=True)
    splits = [table_2_split(X, y, ("auto", 1e-4), seed) for seed in range(2)]
    ours, untrained, logistic = table_2_rows("iris", splits)
    assert len(ours) == len(untrained) == len(logistic) == 7
    assert ours[1] == pytest.approx(np.mean([split.base for split in splits]))
    assert table_2_rows("abalone", splits)[0][1] == 54.2


def test_verdict_on_easy_data():
    verdict = compare_with_logistic(*load_wine(return_X_y=True), n_splits=2)
    assert verdict.auto > 90
    assert 0 <= verdict.t_test <= 1


def test_figure_2_from_the_command_line(capsys):
    main(["figure2", "--runs", "1"])
    assert capsys.readouterr().out.count("per class") == 2


@pytest.mark.slow
def test_abalone_literally(shared):
    X, y = plain_numbers(load_dataset("abalone", shared / "data"))
    splits = [table_2_split(X, y, LITERAL_SETTINGS["abalone"], seed) for seed in range(20)]
    ours = table_2_rows("abalone", splits)[1]
    assert 54 <= ours[1] <= 58
    assert 35 <= ours[2] <= 42
    assert 35 <= ours[3] <= 42


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_automatic_fusion_against_a_tuned_logistic_regression(shared):
    verdicts = {}
    for name in COMPARED:
        dataset = load_dataset(name, shared / "data")
        X = table_encoder(dataset.kinds).fit_transform(dataset.X)
        verdicts[name] = compare_with_logistic(X, np.unique(dataset.y, return_inverse=True)[1])
    for name, verdict in verdicts.items():
        assert verdict.gain >= -verdict.error, (name, verdict)
    assert sum(verdict.gain > 0 for verdict in verdicts.values()) >= 3
