"""Runs of the command in a process group of their own, to be killed or interrupted."""

import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from ensemblage.cli import app

COMMAND = [sys.executable, "-m", "ensemblage"]
RESULTS = "ensemblage-results.sqlite"
# fits of a few milliseconds: 3 datasets x 2 methods x folds x repeats
STUDY = """
name = "study"
folds = 5
repeats = {repeats}

[[datasets]]
name = "iris"
[[datasets]]
name = "wine"
[[datasets]]
name = "breast-cancer"

[[methods]]
name = "majority"
[[methods]]
name = "majority"
label = "uniform"
params = {{ strategy = "uniform" }}
"""
CELLS_PER_REPEAT = 30
LINES = [f"{i % 7},{i % 5},{'ab'[i % 2]},{'np'[i % 3 > 0]}" for i in range(60)]
SITE_ROWS = "\n".join(["x,z,site,y", *LINES, ""])
SITE_STUDY = """
folds = 2
[[datasets]]
file = "rows.csv"
target = "y"
[[methods]]
name = "majority"
"""


class Running:
    """A command that runs cells, in a folder of its own."""

    def __init__(self, folder, command, jobs, total):
        folder.mkdir()
        self.command = [*COMMAND, *command, "--jobs", str(jobs)]
        self.folder = folder
        self.results = folder / RESULTS
        self.total = total
        self.started = []

    def start(self, *options, **settings):
        process = subprocess.Popen(
            [*self.command, *options], cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **settings,
        )  # fmt: skip
        self.started.append(process)
        return process

    def run(self, *options, **settings):
        process = self.start(*options, **settings)
        output, errors = process.communicate(timeout=240)
        return process.returncode, output, errors

    def export(self):
        code, _, errors = self.run("--export", "cells.csv")
        assert code == 0, errors
        return (self.folder / "cells.csv").read_bytes()

    def cells(self):
        """Committed cells by key, after a check of the whole file."""
        if not self.results.exists():
            return {}
        connection = sqlite3.connect(self.results, timeout=60)
        try:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                return {}
            rows = connection.execute("SELECT key, cell_values, error FROM cells").fetchall()
        finally:
            connection.close()
        return {key: rest for key, *rest in rows}

    def wait_for(self, commits, process, seconds=120):
        """Wait for ``commits`` more commits, or for the process to end."""
        aim, end = self.commits() + commits, time.monotonic() + seconds
        while self.commits() < aim and process.poll() is None:
            assert time.monotonic() < end
            time.sleep(0.002)

    def commits(self):
        """Read SQLite's change counter from the file's header, without a lock."""
        try:
            with self.results.open("rb") as file:
                return int.from_bytes(file.read(28)[24:], "big")
        except FileNotFoundError:
            return 0


def without_progress(errors):
    """Standard error without progress lines, printed every ten seconds."""
    lines = errors.strip().splitlines()
    return "\n".join(line for line in lines if not line.startswith("Running study: "))


def signal_group(process, number):
    os.killpg(process.pid, number)
    output, errors = process.communicate(timeout=120)
    return output, errors


def write_study(folder, repeats, jobs):
    running = Running(folder, ["run", "study.toml"], jobs, repeats * CELLS_PER_REPEAT)
    (folder / "study.toml").write_text(STUDY.format(repeats=repeats), encoding="utf-8")
    return running


@pytest.fixture
def watched():
    """Kill processes that a failed test left running."""
    known = []
    yield known
    for process in [each for running in known for each in running.started]:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


@pytest.fixture
def study(tmp_path, watched):
    """Make a study of ``repeats`` repeats."""

    def make(name, repeats, jobs=2):
        running = write_study(tmp_path / name, repeats, jobs)
        watched.append(running)
        return running

    return make


@pytest.fixture(scope="session")
def stored(tmp_path_factory):
    """The results of a study of one repeat, run once."""
    one = write_study(tmp_path_factory.mktemp("stored") / "one", 1, jobs=1)
    assert one.run()[0] == 0
    return one.results.read_bytes()


@pytest.fixture
def done_study(study, stored):
    """A finished study of one repeat."""
    one = study("one", 1, jobs=1)
    one.results.write_bytes(stored)
    return one


@pytest.fixture(scope="session")
def site_model(tmp_path_factory):
    """A model file of ``SITE_ROWS``."""
    folder = tmp_path_factory.mktemp("model")
    rows, model = folder / "rows.csv", folder / "model.skops"
    rows.write_text(SITE_ROWS, encoding="utf-8")
    fit = ["fit", str(rows), "-t", "y", "-m", "tree", "-o", str(model), "-j", "1"]
    done = CliRunner().invoke(app, fit)
    assert done.exit_code == 0, done.output
    return model.read_bytes()


@pytest.fixture
def audited(tmp_path, watched):
    """Make an audit of six forests and six regressions over four sources."""

    def make(name, jobs=2):
        command = ["audit", "rows.csv", "-t", "y", "--source", "site", "-m", "forest", "--json"]
        command += ["--folds", "2", "--no-learning-curve", "--results", RESULTS]
        running = Running(tmp_path / name, command, jobs, 12)
        rows = [f"{i % 7},{i % 5},{'abcd'[i % 4]},{'np'[i % 7 > i % 3 + 1]}" for i in range(240)]
        text = "\n".join(["x,z,site,y", *rows, ""])
        (running.folder / "rows.csv").write_text(text, encoding="utf-8")
        watched.append(running)
        return running

    return make


@pytest.fixture
def comparison(tmp_path, watched):
    """Make a comparison of two methods on five folds and ``repeats`` repeats."""

    def make(name, repeats, jobs=2):
        methods = ["-m", "majority", "-m", "logistic"]
        command = ["compare", "iris", *methods, "--repeats", str(repeats), "--results", RESULTS]
        running = Running(tmp_path / name, command, jobs, repeats * 10)
        watched.append(running)
        return running

    return make
