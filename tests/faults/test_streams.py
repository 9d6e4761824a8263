"""Closed and full standard streams: one sentence and an exit code, never a lost result."""

import os
import re
import subprocess
import sys

import pytest

from faults.conftest import SITE_ROWS, SITE_STUDY

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="devices of Linux")  # noqa: PTH110

COMMANDS = {
    "predict": ["predict", "model.skops", "rows.csv"],
    "--version": ["--version"],
    "--help": ["--help"],
    "datasets": ["datasets"],
    "json": ["datasets", "--json"],
    "doctor": ["doctor"],
    "fit": ["fit", "rows.csv", "-t", "y", "-m", "majority", "-o", "new.skops"],
    "compare": ["compare", "rows.csv", "-t", "y", "-m", "majority", "-m", "tree"],
    "explain": ["explain", "model.skops", "rows.csv"],
    "audit": ["audit", "rows.csv", "-t", "y", "--source", "site", "-m", "logistic"],
    "cluster": ["cluster", "rows.csv", "-k", "2"],
    "run": ["run", "study.toml"],
}
BUFFERED = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}
SECONDS = re.compile(r" +\d+\.\d\d$", re.MULTILINE)
QUICK = {"predict", "--version"}
CLOSED = pytest.param("2>&-", marks=pytest.mark.slow)
EACH = [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in COMMANDS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, site_model):
    path = tmp_path_factory.mktemp("streams")
    (path / "rows.csv").write_text(SITE_ROWS, encoding="utf-8")
    (path / "study.toml").write_text(SITE_STUDY, encoding="utf-8")
    (path / "model.skops").write_bytes(site_model)
    return path


def run(folder, arguments, redirected):
    """Run a command with streams that a shell redirects."""
    program = ["sh", "-c", f'exec "$@" {redirected}', "sh", sys.executable, "-m", "ensemblage"]
    if arguments[0] not in {"--version", "--help"}:
        arguments = [*arguments, "-j", "1"]
    done = subprocess.run(
        [*program, *arguments], cwd=folder, capture_output=True, text=True, check=False,
        env=BUFFERED, timeout=120,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def errors(text):
    return [line for line in text.splitlines() if line.startswith("Error: ")]


@pytest.mark.parametrize("name", EACH)
def test_closed_output_is_an_error(folder, name):
    code, _, said = run(folder, COMMANDS[name], ">&-")
    assert code == 1
    assert said == ("Error: Standard output is closed: redirect it to a file or to /dev/null.\n")
    assert not (folder / "new.skops").exists()


@pytest.mark.parametrize("name", EACH)
def test_full_output_is_an_error(folder, name):
    code, _, said = run(folder, COMMANDS[name], "> /dev/full")
    assert code == 1
    assert errors(said) == ["Error: No space left on device."]
    (folder / "new.skops").unlink(missing_ok=True)


@pytest.mark.parametrize("redirected", [CLOSED, "2> /dev/full"])
@pytest.mark.parametrize("name", [each for each in EACH if each.values[0] != "doctor"])
def test_results_do_not_need_standard_error(folder, name, redirected):
    code, wanted, _ = run(folder, COMMANDS[name], "")
    assert code == 0
    code, found, _ = run(folder, COMMANDS[name], redirected)
    assert (code, SECONDS.sub("", found)) == (0, SECONDS.sub("", wanted))
    (folder / "new.skops").unlink(missing_ok=True)


def test_a_file_needs_no_stream(folder):
    command = [*COMMANDS["predict"], "-o", "out.csv"]
    assert run(folder, command, "<&- >&- 2>&-")[0] == 0
    assert (folder / "out.csv").read_text(encoding="utf-8") == run(folder, COMMANDS["predict"], "")[
        1
    ]


@pytest.mark.parametrize("redirected", [CLOSED, "2> /dev/full"])
def test_the_exit_code_does_not_need_standard_error(folder, redirected):
    assert run(folder, ["predict", "model.skops", "none.csv"], redirected)[0] == 1


@pytest.mark.parametrize(
    "command",
    [
        ["predict", "model.skops", "-"],
        pytest.param(["explain", "model.skops", "-"], marks=pytest.mark.slow),
        pytest.param(["compare", "-", "-t", "y", "-m", "majority"], marks=pytest.mark.slow),
        pytest.param(["fit", "-", "-t", "y", "-o", "new.skops"], marks=pytest.mark.slow),
        pytest.param(["cluster", "-", "-k", "2"], marks=pytest.mark.slow),
        pytest.param(["audit", "-", "-t", "y", "--source", "site"], marks=pytest.mark.slow),
    ],
    ids=lambda command: command[0],
)
def test_closed_input_is_an_error(folder, command):
    assert run(folder, command, "<&-") == (
        1, "", "Error: `-` is standard input, which is closed: name a file instead.\n",
    )  # fmt: skip


@pytest.mark.slow
def test_debug_shows_the_traceback_of_a_full_output(folder):
    program = [sys.executable, "-m", "ensemblage", *COMMANDS["predict"], "--debug"]
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123
        done = subprocess.run(
            program, cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
            env=BUFFERED,
        )  # fmt: skip
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_a_reader_that_stops_is_no_error_to_tell(folder):
    process = subprocess.Popen(
        [sys.executable, "-m", "ensemblage", *COMMANDS["json"]], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert (process.wait(timeout=60), said) == (1, "")
