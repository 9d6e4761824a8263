"""Commands as a user runs them: called here, in a process of their own, or on a screen."""

import os
import subprocess
import sys
from functools import cache

import pytest
from typer.testing import CliRunner

import ensemblage.papers
from ensemblage.cli import app
from studies.arithmetic import experiment

STUDY = """
name = "study"
title = "A study"
folds = 2

[[datasets]]
name = "iris"
[[datasets]]
name = "wine"

[[methods]]
name = "majority"
[[methods]]
name = "forest"
params = { n_estimators = [2, 4] }
"""
COMMAND = [sys.executable, "-m", "ensemblage"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in an empty folder; whatever happens, no traceback."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ENSEMBLAGE_DATA", raising=False)

    def call(*arguments, stdin=None):
        result = CliRunner().invoke(app, [str(each) for each in arguments], input=stdin)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert "Traceback" not in result.output
        return result

    return call


@pytest.fixture
def study(tmp_path):
    """A declared experiment of 12 quick cells, in the folder of ``run``."""
    path = tmp_path / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def fit_people(tmp_path_factory, people_rows):
    """Give the model file of a method for the rows in ``table_file``, fitted once."""
    folder = tmp_path_factory.mktemp("people")
    rows = folder / "people.csv"
    rows.write_text(people_rows, encoding="utf-8")

    @cache
    def fitted(method, *options):
        path = folder / "m.skops"
        asked = ["fit", rows, "-t", "class", "-m", method, "-o", path, "-j", 1, *options]
        assert CliRunner().invoke(app, [str(each) for each in asked]).exit_code == 0
        return path.read_bytes()

    return fitted


@pytest.fixture
def people_model(fit_people, run, table_file, tmp_path):
    """A model of the rows in ``table_file``, both in the folder of ``run``."""
    path = tmp_path / "m.skops"
    path.write_bytes(fit_people("logistic"))
    return path


@pytest.fixture
def papers(monkeypatch):
    """A stand-in for the declarations: notes what it was asked for, gives arithmetic."""
    asked = []

    def declare(name, **options):
        asked.append((name, options))
        return experiment(declare.cells, **declare.special)

    declare.cells, declare.special, declare.asked = 4, {}, asked
    monkeypatch.setattr(ensemblage.papers, "paper_experiment", declare)
    return declare


@pytest.fixture
def run_apart():
    """Run a command in a process of its own."""

    def call(*arguments, **options):
        return subprocess.run(
            [*COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False, **options
        )

    return call


@pytest.fixture
def on_screen(tmp_path):
    """Run a program whose standard error is a screen; give what that shows, and the output."""
    pty = pytest.importorskip("pty", reason="a terminal of POSIX")

    def call(*program):
        parent, child = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, *program], cwd=tmp_path, stdout=subprocess.PIPE, stderr=child,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        )  # fmt: skip
        os.close(child)
        shown = b""
        try:
            while chunk := os.read(parent, 4096):
                shown += chunk
        except OSError:  # the other end is closed
            pass
        os.close(parent)
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        return shown.decode(), output.decode()

    return call
