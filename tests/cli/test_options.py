"""Options that name what a registry knows, and words as times."""

import pytest
import typer
from hypothesis import given as drawn
from hypothesis import strategies as st
from typer.testing import CliRunner

from ensemblage.cli._cluster_command import CLUSTER_NAMES
from ensemblage.cli._options import (
    METHOD_NAMES,
    NUMBER_METHOD_NAMES,
    Budget,
    MeasureName,
    TaskName,
    complete_method,
    parse_time,
)
from ensemblage.messages import TASKS
from ensemblage.methods import CLUSTER_METHODS, METHODS, NUMBER_METHODS


def test_names_written_out_are_those_of_the_registries():
    assert ", ".join(METHODS) == METHOD_NAMES
    assert ", ".join(NUMBER_METHODS) == NUMBER_METHOD_NAMES
    assert [each.value for each in TaskName] == [*TASKS]
    deciding = [name for task in TASKS.values() for name in task.deciding]
    assert [each.name for each in MeasureName] == ["auto", *deciding]
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
    with pytest.raises(typer.BadParameter, match="is no time; write 90s, 10m, 2h or 1h30m"):
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
    assert set(complete_method("")) == {*METHODS, *NUMBER_METHODS}
    assert complete_method("rid") == ["ridge"]
    assert complete_method("x") == []
