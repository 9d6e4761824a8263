"""Progress and times in a pipe and on a screen; pages refused before any work, or written whole."""

import subprocess
import sys
import time

import pytest

from ensemblage.cli import _console
from ensemblage.cli._console import Pace, as_command, in_words, progress_bar


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


def test_times_in_words():
    assert [in_words(each) for each in (4, 89, 240, 7800)] == ["4 s", "89 s", "4 min", "2 h 10 min"]


def test_the_pace_does_not_count_what_was_there_before(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(_console.time, "monotonic", lambda: now[0])
    pace = Pace()
    assert pace.is_new
    pace.begin(100)
    assert pace.line(100, 200) == "100 of 200"
    now[0] = 100.0
    # ten cells in 100 seconds, 90 to go
    assert pace.line(110, 200) == "110 of 200, about 15 min left"


@pytest.fixture
def network(run, table_file):
    chosen = ["-t", "class", "-m", "bayesnet", "--folds", 2, "-j", 1]
    assert run("fit", table_file, *chosen, "-o", "net.skops").exit_code == 0
    return "net.skops"


def test_compare_writes_a_page(run, table_file, tmp_path):
    done = run("compare", table_file, "-t", "class", "-m", "majority", "-m", "logistic",
               "--folds", 3, "-j", 1, "--report", "page.html")  # fmt: skip
    assert done.exit_code == 0
    assert "Report written to page.html." in done.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<title>Methods compared on people.csv</title>" in page
    assert "logistic regression" in page


def test_json_stays_alone_on_standard_output(run, table_file, tmp_path):
    done = run("cluster", table_file, "-k", 2, "-t", "class", "--json", "--report", "page.html")
    assert done.exit_code == 0
    assert done.stdout.startswith("{")
    assert done.stdout.endswith("}\n")
    assert "Clusters of people.csv" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_clusters_of_standard_input(run, table_file, tmp_path):
    text = table_file.read_text(encoding="utf-8")
    assert run("cluster", "-", "-k", 2, "--report", "page.html", stdin=text).exit_code == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Clusters of standard input" in page


@pytest.mark.parametrize("option", ["-o", "--report"])
def test_explain_writes_a_page_by_either_option(run, network, tmp_path, option):
    done = run("explain", network, option, "page.html")
    assert done.exit_code == 0
    assert "Report written to page.html." in done.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "What net.skops learned" in page
    assert "pay given class" in page


def test_explain_draws_a_picture_and_a_page(run, network, tmp_path):
    done = run("explain", network, "-o", "net.svg", "--report", "page.HTML")
    assert done.exit_code == 0
    assert (tmp_path / "net.svg").is_file()
    assert (tmp_path / "page.HTML").is_file()


def test_two_names_for_one_page_are_refused(run, network):
    done = run("explain", network, "-o", "a.html", "--report", "b.html")
    assert done.exit_code == 2
    assert "a.html must end in .png, .svg or .pdf" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--report", "page.txt"], 2, "page.txt must end in .html"),
        (["--report", "none/page.html"], 1, "there is no folder none"),
    ],
)
@pytest.mark.parametrize("command", [["compare"], ["cluster"], ["explain", "none.skops"]])
def test_a_page_that_cannot_be_is_refused_first(run, table_file, command, arguments, code, said):
    # the data or model would be refused too, but later
    data = ["none.csv"] if command[0] == "cluster" else []
    done = run(*command, *data, *arguments)
    assert done.exit_code == code
    assert said in " ".join(done.stderr.replace("│", "").split())


@pytest.mark.parametrize("missing", ["jinja2", "matplotlib"])
def test_a_missing_extra_is_named_before_any_work(tmp_path, missing):
    script = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from ensemblage.cli import main\n"
        "sys.argv = ['ensemblage', 'cluster', 'none.csv', '-k', '2', '--report', 'page.html']\n"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert 'pip install "ensemblage[report]"' in done.stderr
    assert not (tmp_path / "page.html").exists()
