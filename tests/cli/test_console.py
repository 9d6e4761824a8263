"""Progress in a pipe and on a screen."""

import time

from ensemblage.cli import _console
from ensemblage.cli._console import as_command, progress_bar


def test_a_pipe_hears_of_progress_during_a_long_step(capsys, monkeypatch):
    monkeypatch.setattr(_console, "LINE_SECONDS", 0.05)
    with progress_bar("Fitting") as advance:
        advance(1, 4)
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2
    assert set(lines) == {"Fitting: 1 of 4"}


def test_a_pipe_hears_of_work_that_has_not_begun_to_count(capsys, monkeypatch):
    monkeypatch.setattr(_console, "LINE_SECONDS", 0.05)
    with progress_bar("Fitting"):
        time.sleep(0.2)
    assert "Fitting: at work" in capsys.readouterr().err


def test_a_pipe_hears_of_the_time_left(capsys, monkeypatch):
    monkeypatch.setattr(_console, "LINE_SECONDS", 0.05)
    with progress_bar("Fitting") as advance:
        advance(0, 4)
        time.sleep(0.1)
        advance(2, 4)
        time.sleep(0.1)
    assert "Fitting: 2 of 4, about " in capsys.readouterr().err


def test_a_short_step_is_silent(capsys):
    with progress_bar("Fitting") as advance:
        advance(1, 1)
    assert capsys.readouterr().err == ""


def test_what_was_found_is_said_once(capsys, tmp_path):
    with progress_bar("Running", results=tmp_path / "r.sqlite") as advance:
        advance(2, 4)
        advance(3, 4)
    assert capsys.readouterr().err == f"2 of 4 cells found in {tmp_path / 'r.sqlite'}.\n"


def test_parameters_are_named_as_options():
    assert as_command("Give `n_clusters`, or `quick`.") == "Give --clusters, or --quick."


def test_the_bar_moves_during_a_long_fit(on_screen):
    script = (
        "import time; from ensemblage.cli._console import progress_bar\n"
        "with progress_bar('Fitting') as advance:\n"
        "    advance(0, 2); time.sleep(1.5)"
    )
    shown, _ = on_screen("-c", script)
    assert len({frame for frame in shown.split("\r") if "Fitting" in frame}) >= 5
