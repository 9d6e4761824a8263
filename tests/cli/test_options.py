import subprocess
import sys

import pytest
import typer
from hypothesis import given as drawn
from hypothesis import strategies as st
from typer.testing import CliRunner

from ensemblage.cli._cluster import CLUSTER_NAMES
from ensemblage.cli._options import (
    METHOD_NAMES,
    REGRESSION_METHOD_NAMES,
    Budget,
    check_measure,
    complete_measure,
    complete_method,
    parse_time,
)
from ensemblage.evaluation import DECIDING
from ensemblage.studies import CLUSTER_METHODS, METHODS
from ensemblage.studies._methods import methods_for


def test_numbers_that_are_typed_in_are_checked(run):
    shown = run("fit", "iris", "--folds", "1", "-o", "x.skops")
    assert shown.exit_code == 2
    assert "--folds" in shown.output
    shown = run("fit", "iris", "--seed", "many", "-o", "x.skops")
    assert shown.exit_code == 2
    assert "--seed" in shown.output


def test_a_wrong_file_name_needs_no_numpy():
    script = (
        "import sys\n"
        "from ensemblage.cli import app\n"
        "try:\n"
        "    app(['fit', 'absent.csv', '-t', 'y', '--drop', 'a', '-o', 'x.skops'])\n"
        "except SystemExit as end:\n"
        "    print(end.code, sorted({'sklearn', 'numpy'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "1 []"
    assert done.stderr == "Error: There is no file absent.csv.\n"


def test_names_written_out_are_those_of_the_registries():
    assert ", ".join(methods_for("classification")) == METHOD_NAMES
    assert ", ".join(methods_for("regression")) == REGRESSION_METHOD_NAMES
    assert ", ".join(CLUSTER_METHODS) == CLUSTER_NAMES


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("2h", 7200), ("1h30m", 5400), ("1d", 86400), ("45", 45),
     ("0.5m", 30), (" 10 M ", 600)],
)  # fmt: skip
def test_times_are_read(text, seconds):
    assert parse_time(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "10x", "ten", "0s", "-5m", "10m!", "1e3", "m10"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(typer.BadParameter, match="is not a duration such as 90s, 10m, 2h or 1h30m"):
        parse_time(text)


@drawn(st.integers(0, 40), st.integers(0, 59), st.integers(1, 59))
def test_hours_minutes_seconds_add_up(hours, minutes, seconds):
    assert parse_time(f"{hours}h{minutes}m{seconds}s") == hours * 3600 + minutes * 60 + seconds


def test_a_budget_reaches_a_command_in_seconds():
    given = []
    app = typer.Typer()

    @app.command()
    def command(budget: Budget = None):
        given.append(budget)

    assert CliRunner().invoke(app, ["--budget", "1h30m"]).exit_code == 0
    assert CliRunner().invoke(app, []).exit_code == 0
    assert given == [5400, None]


def test_methods_are_completed():
    assert complete_method("strata-") == ["strata-sources", "strata-paper"]
    assert set(complete_method("")) == {*METHODS}
    assert complete_method("rid") == ["ridge"]
    assert complete_method("part") == ["partial-pooling"]
    assert complete_method("x") == []


def test_measures_are_those_of_the_registry_with_hyphens():
    names = complete_measure("")
    assert [check_measure(each) for each in names] == ["auto", *DECIDING]
    assert complete_measure("log") == ["log-loss", "log-score"]
    assert check_measure("log_loss") == "log_loss"
    assert check_measure("balanced") == "balanced_accuracy"
    with pytest.raises(typer.BadParameter, match="'coverage' is not one of: auto, accuracy"):
        check_measure("coverage")


def test_a_task_that_is_none_is_refused(run):
    shown = run("fit", "iris", "--task", "ranking", "-o", "x.skops")
    assert shown.exit_code == 2
    assert "classification, regression" in " ".join(shown.output.replace("│", "").split())
