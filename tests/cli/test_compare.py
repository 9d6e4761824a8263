"""``ensemblage compare`` on real files."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from cli.conftest import COMMAND

posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
CATEGORIES = {"city": 30, "street": 200, "job": 5, "smoker": 2, "grade": 8, "level": 3, "plan": 12}


def test_compare_shows_a_table_and_writes_it(run, table_file, tmp_path):
    names = ["majority", "logistic", "forest"]
    chosen = [part for name in names for part in ("-m", name)]
    result = run(
        "compare", table_file, "--target", "class", *chosen, "--folds", 3, "-j", 1,
        "--output", "table.csv",
    )  # fmt: skip
    assert result.exit_code == 0
    assert "people.csv: 40 rows, 3 columns, 2 classes; 3 folds, seed 0" in result.stdout
    assert "  columns: " in result.stdout
    assert "logistic regression" in result.stdout
    assert "Recommended: " in result.stdout.splitlines()[-2]
    assert "Written to table.csv." in result.stderr
    rows = list(csv.DictReader((tmp_path / "table.csv").read_text().splitlines()))
    assert {row["method"] for row in rows} == set(names)
    assert all(0 <= float(row["accuracy"]) <= 1 for row in rows)


def test_compare_quick_takes_three_folds_and_notes_the_subsample(run, tmp_path):
    rows = [f"{i % 13},{i % 7},{'ab'[i % 3 > 0]}" for i in range(3200)]
    (tmp_path / "many.csv").write_text("\n".join(["x,z,y", *rows]), encoding="utf-8")
    result = run("compare", "many.csv", "-t", "y", "--quick", "-m", "strata-paper", "-j", 1)
    assert result.exit_code == 0
    assert "3 folds" in result.stdout
    assert "fitted on 1000 of 2134 training rows" in " ".join(result.stderr.split())


def test_compare_without_data_uses_a_bundled_dataset(run):
    result = run("compare", "-m", "majority", "-j", 1)
    assert result.exit_code == 0
    assert "bundled dataset 'breast-cancer'" in result.stderr


def test_compare_marks_our_methods(run):
    result = run("compare", "iris", "-m", "strata", "-m", "majority", "--folds", 2, "-j", 1)
    assert "strata ensemble *" in result.stdout
    assert "* method of this library." in result.stdout


def test_compare_json_is_all_of_standard_output(run, table_file):
    result = run("compare", table_file, "-t", "class", "-m", "svm", "--json", "-j", 1)
    facts = json.loads(result.stdout)
    assert facts["summary"][0]["method"] == "svm"
    assert facts["summary"][0]["log_loss"] is None
    assert len(facts["methods"][0]["accuracy"]) == 5


def test_compare_reads_standard_input(run, table_file):
    result = run(
        "compare", "-", "-t", "class", "-m", "majority", "-j", 1, stdin=table_file.read_text()
    )
    assert result.exit_code == 0
    assert "standard input: 40 rows" in result.stdout


def test_compare_uses_a_folder(run, table_file):
    result = run("compare", "people", "--data-dir", table_file.parent, "-m", "majority", "-j", 1)
    assert result.exit_code == 0


def test_compare_notes_missing_targets_and_small_classes(run, tmp_path):
    rows = [f"{i},{i % 5},{'ab'[i % 2]}" for i in range(30)] + ["31,1,c", "32,2,"]
    (tmp_path / "odd.csv").write_text("\n".join(["row,x,y", *rows]), encoding="utf-8")
    result = run("compare", "odd.csv", "-t", "y", "-m", "majority", "-j", 1)
    assert result.exit_code == 0
    assert "Note: Rows with a missing value of 'y', left out: 1." in result.stderr
    assert "Note: Class 'c' has 1 row, fewer than the 5 folds" in result.stderr
    clean = run("compare", "odd.csv", "-t", "y", "--drop", "row", "-m", "majority", "-j", 1)
    assert "31 rows, 1 column, 3 classes" in clean.stdout


def test_stored_scores_are_not_computed_again(run, tmp_path):
    asked = ["compare", "iris", "-m", "majority", "-m", "logistic", "--folds", 2, "-j", 1, "--json"]
    first = run(*asked, "--results", "r.sqlite")
    assert first.exit_code == 0, first.output
    again = run(*asked, "--results", "r.sqlite")
    assert "Resuming: 4 of 4 cells stored in r.sqlite." in again.stderr
    assert again.stdout == first.stdout
    # nothing is stored unless a file is named
    (tmp_path / "r.sqlite").unlink()
    in_memory = json.loads(run(*asked).stdout)
    assert list(tmp_path.iterdir()) == []
    scores = [[each["accuracy"] for each in facts["methods"]] for facts in
              (in_memory, json.loads(first.stdout))]  # fmt: skip
    assert scores[0] == scores[1]


def test_a_budget_that_is_too_small(run):
    asked = ["compare", "iris", "-m", "majority", "-j", 1, "--budget", "0.000001s"]
    alone = run(*asked)
    assert alone.exit_code == 1
    assert "the budget ended before every method had a fold: increase --budget." in alone.stderr
    kept = run(*asked, "--results", "r.sqlite")
    assert "increase --budget, or run the same command again to resume." in kept.stderr


def test_a_parameter_of_the_library_is_named_as_an_option(run, table_file):
    asked = ["compare", table_file, "-t", "class", "-m", "majority", "-j", 1]
    new = run(*asked, "--new-sources")
    assert new.exit_code == 1
    assert "--new-sources needs the source of each row: name its column by --source." in new.stderr
    noted = run(*asked, "--source", "age", "--folds", 2)
    assert "Without --source, the source is a feature" in " ".join(noted.stderr.split())


@posix
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupt_exits_with_130_and_writes_nothing(tmp_path, jobs):
    arguments = ["compare", "--repeats", "500", "--jobs", jobs, "--output", "out.csv"]
    process = subprocess.Popen(
        [*COMMAND, *arguments], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert "bundled dataset" in process.stderr.readline()
    time.sleep(3)
    # A terminal sends Ctrl-C to the workers too.
    os.killpg(process.pid, signal.SIGINT)
    try:
        output, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Interrupted; nothing was written." in errors
    assert "Traceback" not in errors
    assert output == ""
    assert list(tmp_path.iterdir()) == []


def test_a_screen_gets_a_bar_with_the_time_left(on_screen):
    chosen = ["compare", "iris", "-m", "forest", "--jobs", "1", "--json"]
    shown, output = on_screen("-m", "ensemblage", *chosen)
    assert "Comparing 1 method" in shown
    assert re.search(r"\d of \d+.{1,20}0:00:\d\d.{1,20}0:00:\d\d", shown)
    assert output.startswith("{")


def write_table(path, n_rows=10_000):
    """Write 13 numeric and 7 categorical columns; one value in twenty is missing."""
    rng = np.random.default_rng(0)
    numeric = rng.normal(size=(n_rows, 13)).round(3)
    categorical = {name: rng.integers(0, kinds, n_rows) for name, kinds in CATEGORIES.items()}
    score = numeric[:, 0] + 0.8 * numeric[:, 1] * numeric[:, 2] + 0.7 * (categorical["job"] == 1)
    label = np.where(score + rng.logistic(size=n_rows) > 0.2, "stay", "leave")
    cells = [column.astype(str) for column in numeric.T]
    cells += [np.char.add(name, codes.astype(str)) for name, codes in categorical.items()]
    table = np.column_stack(cells)
    table[rng.random(table.shape) < 0.05] = ""
    lines = [",".join([*(f"n{j}" for j in range(13)), *CATEGORIES, "outcome"])]
    lines += [",".join([*row, truth]) for row, truth in zip(table, label, strict=True)]
    path.write_text("\n".join(lines), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ten_thousand_rows_take_three_minutes_at_most(tmp_path):
    write_table(tmp_path / "user.csv")
    command = [sys.executable, "-m", "ensemblage", "compare", "user.csv", "-t", "outcome"]
    start = time.monotonic()
    result = subprocess.run(
        [*command, "--quick", "--json", "--jobs", "2"], cwd=tmp_path, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert time.monotonic() - start <= 180
    assert "Comparing 9 methods: " in result.stderr
    facts = json.loads(result.stdout)
    assert facts["verdict"].startswith("Recommended: ")
    assert not any(each["failed_folds"] for each in facts["summary"])


def test_quick_samples_the_rows_of_a_large_file(run, tmp_path, monkeypatch):
    pa, parquet = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.parquet"))
    rows = {"n": [float(i) for i in range(200)], "kind": ["ab"[i % 2] for i in range(200)]}
    parquet.write_table(pa.table(rows), tmp_path / "rows.parquet")
    monkeypatch.setattr("ensemblage.datasets._parquet.ALWAYS_FINE", 0)
    monkeypatch.setattr("ensemblage.cli._compare.QUICK_ROWS", 60)
    asked = ("compare", tmp_path / "rows.parquet", "-t", "kind", "-m", "majority", "-j", 1)
    quick = run(*asked, "--quick", "--seed", 3)
    assert quick.exit_code == 0, quick.output
    note = "A random sample of 60 of 200 rows is used (seed 3)."
    assert note in " ".join(quick.stderr.split())
    assert "random sample" not in run(*asked, "--folds", 2).stderr
