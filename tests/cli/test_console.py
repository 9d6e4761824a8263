import os
import re
import signal
import subprocess
import sys
import time

import pytest
import typer

from ensemblage.cli import _console as _progress
from ensemblage.cli._console import (
    _interrupts_remembered,
    as_command,
    format_duration,
    guarded,
    late_bar,
    progress_bar,
)


def test_parameters_are_named_as_options():
    assert as_command("Give `n_clusters`, or `quick`.") == "Give --clusters, or --quick."


def test_begin_work_enables_garbage_collection():
    script = (
        "import gc; from ensemblage.cli._console import begin_work\n"
        "begin_work(); print(gc.isenabled(), gc.get_freeze_count())\n"
        "gc.disable(); begin_work(); print(gc.isenabled(), gc.get_freeze_count() > 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["True", "0", "True", "True"]


@pytest.fixture
def network(fit_people, tmp_path):
    (tmp_path / "net.skops").write_bytes(fit_people("bayesnet", "--folds", 2))
    return "net.skops"


def test_compare_writes_a_page(run, table_file, tmp_path):
    done = run("compare", table_file, "-t", "class", "-m", "majority", "-m", "logistic",
               "--folds", 3, "-j", 1, "--report", "page.html")  # fmt: skip
    assert done.exit_code == 0
    assert "Report written to page.html." in done.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<title>Method comparison: class in people.csv</title>" in page
    assert "logistic regression" in page


def test_json_stays_alone_on_standard_output(run, table_file, tmp_path):
    done = run("cluster", table_file, "-k", 2, "-t", "class", "--json", "--report", "page.html")
    assert done.exit_code == 0
    assert done.stdout.startswith("{")
    assert done.stdout.endswith("}\n")
    assert "Cluster report: people.csv" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_clusters_of_standard_input(run, table_file, tmp_path):
    text = table_file.read_text(encoding="utf-8")
    assert run("cluster", "-", "-k", 2, "--report", "page.html", stdin=text).exit_code == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Cluster report: standard input" in page


@pytest.mark.parametrize("option", ["-o", "--report"])
def test_explain_writes_a_page_by_either_option(run, network, tmp_path, option):
    done = run("explain", network, option, "page.html")
    assert done.exit_code == 0
    assert "Report written to page.html." in done.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Model report: class, trained on people.csv" in page
    assert "pay given class" in page


def test_explain_writes_a_figure_and_a_report(run, network, tmp_path):
    done = run("explain", network, "-o", "net.svg", "--report", "page.HTML")
    assert done.exit_code == 0
    assert (tmp_path / "net.svg").is_file()
    assert (tmp_path / "page.HTML").is_file()


def test_two_names_for_one_page_are_refused(run, network):
    done = run("explain", network, "-o", "a.html", "--report", "b.html")
    assert done.exit_code == 2
    assert "--output and --report are both reports" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--report", "page.txt"], 2, "page.txt must end in .html"),
        (["--report", "none/page.html"], 1, "there is no folder none"),
    ],
)
@pytest.mark.parametrize("command", [["compare"], ["cluster"], ["explain", "none.skops"]])
def test_a_page_that_cannot_be_is_refused_first(run, table_file, command, arguments, code, message):
    # a model that is not there would be refused too, but later
    data = ["people.csv"] if command[0] == "cluster" else []
    done = run(*command, *data, *arguments)
    assert done.exit_code == code
    assert message in " ".join(done.stderr.replace("│", "").split())


@pytest.mark.parametrize("missing", ["jinja2", "matplotlib"])
def test_a_missing_extra_is_named_before_any_work(run, tmp_path, monkeypatch, missing):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n3,4\n", encoding="utf-8")
    monkeypatch.setitem(sys.modules, missing, None)
    done = run("cluster", "rows.csv", "-k", 2, "--report", "page.html")
    assert done.exit_code == 1
    assert 'pip install "ensemblage[report]"' in done.stderr
    assert not (tmp_path / "page.html").exists()


class EndsIn:
    """Raises as it is freed."""

    def __init__(self, error):
        self.error = error

    def __del__(self):
        raise self.error


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupt_that_became_another_error_is_one():
    @guarded
    def terminate():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except KeyboardInterrupt as stop:  # as Python does in an import
            raise RuntimeError("Error calling __set_name__") from stop

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(typer.Exit) as stop:
        terminate()
    assert stop.value.exit_code == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before
    with progress_bar("Fitting") as advance:  # a later one is not interrupted
        advance(1, 1)


def test_an_interrupt_that_comes_while_something_is_freed_is_not_shown(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda ignored: seen.append(ignored.exc_type))
    with _interrupts_remembered():
        for error in (KeyboardInterrupt(), ValueError()):
            EndsIn(error)
    EndsIn(KeyboardInterrupt())
    assert seen == [ValueError, KeyboardInterrupt]


def test_lines_of_progress_during_a_long_step(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "LINE_SECONDS", 0.05)
    with progress_bar("Fitting") as advance:
        advance(1, 4)
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2
    assert set(lines) == {"Fitting: 1 of 4"}


def test_a_line_before_the_first_step(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "LINE_SECONDS", 0.05)
    with progress_bar("Fitting"):
        time.sleep(0.2)
    assert "Fitting: running" in capsys.readouterr().err


def test_the_time_left_is_estimated_by_expected_cost(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "LINE_SECONDS", 0.05)
    with progress_bar("Fitting") as advance:
        for spent, done in ((0.0, 0), (1.0, 1), (2.0, 2)):
            advance.expect(spent, 5e4)
            advance(done, 4)
            time.sleep(0.1)
    (far,) = {line for line in capsys.readouterr().err.splitlines() if "left" in line}
    hours = re.fullmatch(r"Fitting: 2 of 4, about (\d+) h \d+ min left", far)
    assert 1 <= int(hours[1]) <= 3  # 49,998 more of what takes a tenth of a second


def test_a_short_step_is_silent(capsys):
    with progress_bar("Fitting") as advance:
        advance(1, 1)
    assert capsys.readouterr().err == ""


def test_stored_results_are_mentioned_once(capsys, tmp_path):
    with progress_bar("Running", results=tmp_path / "r.sqlite") as advance:
        advance(2, 4)
        advance(3, 4)
    assert capsys.readouterr().err == (
        f"Resuming: 2 of 4 cells stored in {tmp_path / 'r.sqlite'}.\n"
    )


def test_the_bar_moves_during_a_long_fit(on_screen):
    script = (
        "import time; from ensemblage.cli._console import progress_bar\n"
        "with progress_bar('Fitting') as advance:\n"
        "    advance(0, 2); time.sleep(1.5)"
    )
    shown, _ = on_screen("-c", script)
    assert len({frame for frame in shown.split("\r") if "Fitting" in frame}) >= 5


def test_durations():
    assert [format_duration(each) for each in (4, 89, 240, 7800)] == [
        "4 s",
        "89 s",
        "4 min",
        "2 h 10 min",
    ]


def test_compiling_is_shown(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(_progress, "LINE_SECONDS", 0.05)
    for compiles in (True, False):
        with progress_bar("Fitting", compiles=compiles) as advance:
            advance(2, 5)
            time.sleep(0.2)
            advance(3, 5)
            time.sleep(0.2)
        shown = capsys.readouterr().err
        assert ("Fitting: 2 of 5, compiling kernels (once per machine)" in shown) == compiles
        assert "Fitting: 3 of 5, about 1 s left" in shown


def test_a_late_bar_is_silent_until_its_first_call(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "LINE_SECONDS", 0.05)
    with late_bar("Predicting rows"):
        pass
    assert capsys.readouterr().err == ""
    with late_bar("Predicting rows") as advance:
        advance(10, 1000)
        time.sleep(0.2)
        advance(20, 1000)
        time.sleep(0.2)
    shown = capsys.readouterr().err
    assert "Predicting rows: 10 of 1000" in shown
    assert "Predicting rows: 20 of 1000, about " in shown
