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
            # the paper has no such column
            assert all((column in row) == (column != "rbf-svm") for row in PAPER.values())


def test_the_most_frequent_class_against_the_rest(shared):
    X, y = binary_problem("pendigits", shared / "data")
    assert X.shape == (2000, 16)
    assert set(np.unique(y)) == {0, 1}
    assert 0.08 < y.mean() < 0.13


@pytest.mark.parametrize("method", METHODS)
def test_each_method_beats_the_coin_on_a_split(shared, method):
    X, y = binary_problem("vehicle", shared / "data")
    assert split_error(X[:400], y[:400], method, seed=0) < 0.4


@pytest.mark.parametrize(("name", "width"), [("indoor-stand-in", 190), ("outdoor-stand-in", 126)])
def test_stand_ins_are_generated(name, width):
    X, y = binary_problem(name)
    assert X.shape == (3500, width)
    assert set(np.unique(y)) == {0, 1}


def reproduce(shared, *options):
    command = [sys.executable, "-m", "ensemblage.cli", "reproduce", *options]
    command += ["--repeats", "1", "--data-dir", str(shared / "data"), "--jobs", "1"]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_one_command_gives_the_table(shared):
    names = ["ecoli", "pendigits", "glass", "yeast", "vehicle"]
    chosen = [part for name in names for part in ("--dataset", name)]
    result = json.loads(reproduce(shared, "hiss-table3", "--json", *chosen).stdout)
    assert [row["dataset"] for row in result["rows"]] == [name for name in names for _ in range(3)]
    assert {"dataset", "method", "paper", "ours", "standard_error", "repeats", "stand_in"} == set(
        result["rows"][0]
    )


def test_the_printed_table_compares_only_what_compares(shared):
    chosen = ["--dataset", "glass", "--dataset", "outdoor-stand-in"]
    shown = reproduce(shared, "hiss-table3", *chosen).stdout
    glass, standin = (
        next(line.split() for line in shown.splitlines() if line.split()[:2] == [name, "hiss"])
        for name in ("glass", "outdoor-stand-in")
    )
    assert glass[2] == "0.161"
    assert float(glass[-1]) == pytest.approx(float(glass[3]) - 0.161, abs=1e-4)
    assert standin[2] == "0.088"
    assert standin[-1] == "-"
    assert "nothing is reproduced there" in shown


def test_an_unknown_row_is_refused(shared):
    result = reproduce(shared, "hiss-table2", "--dataset", "iris")
    assert result.returncode == 1
    assert "no dataset 'iris'; it has: ecoli, pendigits" in result.stderr


def test_our_own_column_has_no_figure_of_the_paper(shared):
    rows = reproduce_hiss("hiss-table2", datasets=["ecoli"], n_repeats=2, data_dir=shared / "data")
    assert {row.method: row.paper is None for row in rows} == {
        method: method == "rbf-svm" for method in TABLES["hiss-table2"]
    }
    assert not any(row.stand_in for row in rows)


@pytest.mark.slow
def test_the_papers_preset_reaches_the_papers_error(shared):
    rows = reproduce_hiss(
        "hiss-table2", datasets=["vehicle", "pendigits"], data_dir=shared / "data", n_jobs=2
    )
    ours = {row.dataset: row.ours for row in rows if row.method == "hiss"}
    assert ours["vehicle"] <= 0.048
    assert ours["pendigits"] <= 0.011
