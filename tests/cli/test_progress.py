"""Progress and times in a pipe and on a screen."""

import time

from ensemblage.cli import _progress
from ensemblage.cli._progress import Pace, in_words, late_bar, progress_bar


def test_a_pipe_hears_of_progress_during_a_long_step(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "LINE_SECONDS", 0.05)
    with progress_bar("Fitting") as advance:
        advance(1, 4)
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2
    assert set(lines) == {"Fitting: 1 of 4"}


def test_a_pipe_hears_of_work_that_has_not_begun_to_count(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "LINE_SECONDS", 0.05)
    with progress_bar("Fitting"):
        time.sleep(0.2)
    assert "Fitting: at work" in capsys.readouterr().err


def test_a_pipe_hears_of_the_time_left(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "LINE_SECONDS", 0.05)
    with progress_bar("Fitting") as advance:
        advance(0, 4)
        advance.expect(5000)
        advance(2, 4)
        time.sleep(0.1)
    assert "Fitting: 2 of 4, about 1 h 23 min left" in capsys.readouterr().err


def test_a_short_step_is_silent(capsys):
    with progress_bar("Fitting") as advance:
        advance(1, 1)
    assert capsys.readouterr().err == ""


def test_what_was_found_is_said_once(capsys, tmp_path):
    with progress_bar("Running", results=tmp_path / "r.sqlite") as advance:
        advance(2, 4)
        advance(3, 4)
    assert capsys.readouterr().err == f"2 of 4 cells found in {tmp_path / 'r.sqlite'}.\n"


def test_the_bar_moves_during_a_long_fit(on_screen):
    script = (
        "import time; from ensemblage.cli._progress import progress_bar\n"
        "with progress_bar('Fitting') as advance:\n"
        "    advance(0, 2); time.sleep(1.5)"
    )
    shown, _ = on_screen("-c", script)
    assert len({frame for frame in shown.split("\r") if "Fitting" in frame}) >= 5


def test_times_in_words():
    assert [in_words(each) for each in (4, 89, 240, 7800)] == ["4 s", "89 s", "4 min", "2 h 10 min"]


def test_the_pace_counts_down_and_says_nothing_rather_than_nonsense(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: now[0])
    pace = Pace()
    assert pace.is_new
    pace.begin(100)
    assert pace.line(100, 200) == "100 of 200"
    pace.expect(1000.0)
    now[0] = 100.0
    assert pace.line(110, 200) == "110 of 200, about 15 min left"
    now[0] = 1001.0
    assert pace.line(110, 200) == "110 of 200"
    pace.expect(None)
    assert pace.line(110, 200) == "110 of 200"


def test_a_first_fit_says_that_it_compiles(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    pace, other = Pace(compiles=True), Pace()
    for each in (pace, other):
        each.begin(2)
    assert pace.line(2, 5) == "2 of 5, compiling, once per machine"
    assert pace.line(3, 5) == "3 of 5"
    assert other.line(2, 5) == "2 of 5"


def test_a_late_bar_is_silent_until_it_is_told_something(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "LINE_SECONDS", 0.05)
    with late_bar("Predicting rows"):
        pass
    assert capsys.readouterr().err == ""
    with late_bar("Predicting rows") as advance:
        advance(10, 1000)
        time.sleep(0.2)
        advance(20, 1000)
        time.sleep(0.2)
    said = capsys.readouterr().err
    assert "Predicting rows: 10 of 1000" in said
    assert "Predicting rows: 20 of 1000, about " in said
