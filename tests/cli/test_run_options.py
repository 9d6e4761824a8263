"""Options of the commands that run cells."""

from pathlib import Path

from ensemblage.cli._run_options import RunOptions


def test_a_budget_in_seconds():
    options = RunOptions(Path("r.sqlite"), 1, 0, "quick")
    assert options.seconds is None
    assert RunOptions(Path("r.sqlite"), 1, 0, "quick", budget="1h30m").seconds == 5400
