import time
from types import SimpleNamespace

import pytest

from ensemblage.cli import _console
from ensemblage.cli._console import _progress_line, progress_bar


@pytest.mark.parametrize(
    ("done", "total", "line"),
    [
        (0, None, "Fitting: 20 s"),
        (0, 30, "Fitting: 0 of 30 after 20 s"),
        (2, 30, "Fitting: 2 of 30 after 20 s"),
        (10, 30, "Fitting: 10 of 30 after 20 s, about 40 s left"),
    ],
)
def test_a_line_says_how_far_it_is(done, total, line):
    task = SimpleNamespace(description="Fitting", completed=done, total=total)
    assert _progress_line(task, 20.0) == line


def test_a_pipe_hears_of_progress_during_a_long_step(capsys, monkeypatch):
    monkeypatch.setattr(_console, "LINE_SECONDS", 0.05)
    with progress_bar("Fitting") as advance:
        advance(1, 4)
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2
    assert lines[0].startswith("Fitting: 1 of 4 after 0 s")


def test_a_short_step_is_silent(capsys):
    with progress_bar("Fitting") as advance:
        advance(1, 1)
    assert capsys.readouterr().err == ""
