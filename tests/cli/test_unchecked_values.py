"""Values that pass without a check, and those that typer checks as ever."""

import subprocess
import sys
from pathlib import Path

import pytest

from ensemblage.cli._unchecked_values import UNKNOWN, unchecked


def test_what_needs_no_check():
    assert unchecked("x", str) == "x"
    assert unchecked("x.csv", Path) == Path("x.csv")
    assert unchecked(3, int) == 3
    assert unchecked(("a", "b"), list[str]) == ["a", "b"]


@pytest.mark.parametrize(
    ("value", "kind"), [("3", int), ("0.5", float), ("yes", bool), (True, int), (("1",), list[int])]
)
def test_what_typer_checks(value, kind):
    assert unchecked(value, kind) is UNKNOWN


def test_numbers_that_are_typed_in_are_checked(run):
    shown = run("fit", "iris", "--folds", "1", "-o", "x.skops")
    assert shown.exit_code == 2
    assert "--folds" in shown.output
    shown = run("fit", "iris", "--seed", "many", "-o", "x.skops")
    assert shown.exit_code == 2
    assert "--seed" in shown.output


def test_a_wrong_file_name_needs_no_pydantic():
    script = (
        "import sys\n"
        "from ensemblage.cli import app\n"
        "try:\n"
        "    app(['fit', 'absent.csv', '-t', 'y', '--drop', 'a', '-o', 'x.skops'])\n"
        "except SystemExit as end:\n"
        "    print(end.code, sorted({'pydantic', 'numpy'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "1 []"
    assert done.stderr == "Error: There is no file absent.csv.\n"
