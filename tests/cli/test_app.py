"""The application as a whole: help, common options, and errors in one sentence."""

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from cli.conftest import COMMAND
from ensemblage import __version__
from ensemblage.cli import app


def test_version_and_help(run):
    assert run("--version").stdout == f"ensemblage {__version__}\n"
    assert run("--help").exit_code == 0


def test_python_runs_the_package_as_a_program():
    command = [sys.executable, "-m", "ensemblage", "--version"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout == f"ensemblage {__version__}\n"


def test_help_imports_nothing_heavy():
    script = (
        "import sys; from ensemblage.cli import app\n"
        "heavy = {'sklearn', 'numba', 'scipy', 'numpy', 'skops', 'msgspec'} & set(sys.modules)\n"
        "print(sorted(heavy))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]"


def test_help_is_fast(run_apart):
    def seconds():
        before = os.times()
        assert run_apart("--help").returncode == 0
        after = os.times()
        spent = after.children_user + after.children_system
        return spent - before.children_user - before.children_system

    # Of the processor, and the best of several: other work on the machine is not the program's.
    # The aim is a quarter of a second; a slow machine may take twice that.
    assert min(seconds() for _ in range(3)) < 0.5


def test_every_command_takes_the_common_options(run, people_model, table_file):
    for arguments in (["datasets"], ["predict", people_model, table_file]):
        assert run(*arguments, "--seed", 1, "--jobs", 1, "--json", "--debug").exit_code == 0


BAD_FILES = {
    "empty.csv": "",
    "header.csv": "age,class\n",
    "ragged.csv": "age,class\n1,a\n2\n",
    "twice.csv": "age,age,class\n1,2,a\n3,4,b\n",
    "one.csv": "age,class\n1,a\n2,a\n",
    "amount.csv": "age,class\n" + "\n".join(f"{i},{i * 1.37}" for i in range(40)),
    "few.csv": "age,class\n1,a\n2,b\n",
    "table.xlsx": "PK",
}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["compare", "empty.csv", "-t", "class"], 1, "empty.csv is empty"),
        (["compare", "header.csv", "-t", "class"], 1, "a header but no rows"),
        (["compare", "ragged.csv", "-t", "class"], 1, "Line 3 of ragged.csv has 1 value,"),
        (
            ["compare", "twice.csv", "-t", "age_3"],
            1,
            "no target column 'age_3'. Did you mean 'age_2'",
        ),
        (["compare", "one.csv", "-t", "class"], 1, "has only one class, 'a'"),
        (
            ["compare", "amount.csv", "-t", "class", "-m", "logistic"],
            2,
            "The method 'logistic' is for classification, not regression.",
        ),
        (
            ["compare", "few.csv", "-t", "class"],
            1,
            "as no class has that many rows: more rows are needed.",
        ),
        (["compare", "few.csv", "-t", "clas"], 1, "no target column 'clas'. Did you mean 'class'?"),
        (
            ["compare", "few.csv"],
            2,
            "--target to the column to predict. The columns are: age, class.",
        ),
        (["compare", "absent.csv", "-t", "x"], 1, "There is no file absent.csv."),
        (["compare", ".", "-t", "x"], 1, ". is a folder; expected a CSV, TSV, ARFF or Parquet"),
        (["compare", "../", "-t", "x"], 1, ".. is a folder; expected a CSV"),
        (["compare", "table.xlsx", "-t", "x"], 1, "table.xlsx is not a spreadsheet, or it is"),
        (["compare", "irsi"], 1, "no dataset 'irsi'. Did you mean 'iris'?"),
        (["compare", "iris", "--data-dir", "no"], 1, "--data-dir is no, which is not a folder"),
        (["compare", "iris", "-m", "forrest"], 2, "Did you mean 'forest'?"),
        (["compare", "iris", "-o", "no/out.csv"], 1, "there is no folder no"),
        (["compare", "iris", "-o", "."], 1, "The output . is a folder"),
        (["compare", "iris", "--folds", "1"], 2, "--folds"),
        (["compare", "iris", "--jobs", "0"], 2, "0 is not a number of processes"),
        (["fit", "iris"], 2, "--output"),
        (["fit", "iris", "-m", "x", "-o", "m.skops"], 2, "Unknown method 'x'"),
        (["fit", "few.csv", "-o", "m.skops"], 2, "Set --target to the column to predict"),
        (["fit", "few.csv", "-t", "class", "-o", "no/m.skops"], 1, "there is no folder no"),
        (["predict", "absent.skops", "few.csv"], 1, "There is no model file absent.skops"),
        (["predict", "few.csv", "few.csv"], 1, "few.csv is not a model file"),
        (["predict", ".", "few.csv"], 1, "is a folder; expected a model file"),
        (["kompare"], 2, "compare"),
    ],
)
def test_bad_input_ends_in_one_sentence(run, tmp_path, arguments, code, message):
    for name, content in BAD_FILES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    before = sorted(path.name for path in tmp_path.iterdir())
    result = run(*arguments)
    assert result.exit_code == code
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert result.stdout == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_debug_shows_the_error_itself(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["compare", "absent.csv", "--debug"])
    assert isinstance(result.exception, ValueError)


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_closed_pipe_is_not_an_error():
    process = subprocess.Popen(
        [*COMMAND, "datasets"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    process.wait()
    assert "Traceback" not in errors
