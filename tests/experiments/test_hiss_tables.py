import json
import subprocess
import sys

import numpy as np
import pytest

from ensemblage.experiments import reproduce_hiss
from ensemblage.experiments._hiss_tables import METHODS, PAPER, TABLES, binary_problem, split_error


def test_every_column_has_a_method_and_a_figure_of_the_paper():
    for columns in TABLES.values():
        for column in columns:
            assert column in METHODS
            assert all(column in row for row in PAPER.values())


def test_the_most_frequent_class_against_the_rest(shared):
    X, y = binary_problem("pendigits", shared / "data")
    assert X.shape == (2000, 16)
    assert set(np.unique(y)) == {0, 1}
    assert 0.08 < y.mean() < 0.13


@pytest.mark.parametrize("method", METHODS)
def test_each_method_beats_the_coin_on_a_split(shared, method):
    X, y = binary_problem("vehicle", shared / "data")
    assert split_error(X[:400], y[:400], method, seed=0) < 0.4


def test_one_command_prints_the_table(shared):
    command = [
        sys.executable, "-m", "ensemblage.cli", "reproduce", "hiss-table3", "--repeats", "1",
        "--json", "--data-dir", str(shared / "data"), "--jobs", "1",
    ]  # fmt: skip
    result = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert len(result["rows"]) == 15
    assert {"dataset", "method", "paper", "ours", "standard_error", "repeats"} == set(
        result["rows"][0]
    )


@pytest.mark.slow
def test_the_papers_preset_reaches_the_papers_error(shared):
    rows = reproduce_hiss("hiss-table2", data_dir=shared / "data", n_jobs=2)
    ours = {row.dataset: row.ours for row in rows if row.method == "hiss"}
    assert ours["vehicle"] <= 0.048
    assert ours["pendigits"] <= 0.011
