"""Signals end commands and scripts with all their workers, files and semaphores."""

import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from faults.conftest import COMMAND, STUDY

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads /proc")

# Inherited by all processes of a run, by which they are found.
MARK = "ENSEMBLAGE_TEST_RUN"
# Seconds within which nothing of a run may be left.
PATIENCE = 10
TIMES = 10
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]


class Run:
    """A process in a session of its own, with a folder for temporary files, and what is left."""

    def __init__(self, command, folder):
        self.folder, self.temporary = folder, folder / "tmp"
        self.temporary.mkdir(parents=True, exist_ok=True)
        self.mark = uuid.uuid4().hex
        environment = {**os.environ, MARK: self.mark, "TMPDIR": str(self.temporary)}
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.pids = {self.process.pid}

    def alive(self):
        """Command lines of the run's processes, without zombies."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if f"{MARK}={self.mark}".encode() in (folder / "environ").read_bytes():
                    found[int(folder.name)] = (folder / "cmdline").read_bytes()
            except OSError:  # it has just ended, or is another user's
                continue
        self.pids |= set(found)
        return {pid: line for pid, line in found.items() if line}

    def handles_signals(self):
        """Whether the command handles SIGTERM, or ignores it at its end; before, Python ends it."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return False
        masks = (int(mask, 16) for mask in re.findall(r"Sig(?:Cgt|Ign):\s*(\w+)", status))
        return any(mask >> (signal.SIGTERM - 1) & 1 for mask in masks)

    def send(self, number, *, group):
        self.alive()
        try:
            (os.killpg if group else os.kill)(self.process.pid, number)
        except ProcessLookupError:
            return

    def output(self):
        """Read both streams to their end, which comes when no process holds them."""
        return self.process.communicate(timeout=PATIENCE)

    def leftovers(self):
        """Processes, semaphores and temporary files that are left after at most ten seconds."""
        end = time.monotonic() + PATIENCE
        while (found := self._found()) and time.monotonic() < end:
            time.sleep(0.1)
        return found

    def _found(self):
        shared = [path for path in Path("/dev/shm").glob("*") if self._owns(path)]  # noqa: S108
        return [*self.alive().values(), *shared, *self.temporary.iterdir()]

    def _owns(self, path):
        """Whether loky's or joblib's name of a semaphore or a folder has a pid of this run."""
        return not self.pids.isdisjoint(map(int, re.findall(r"[-_](\d+)[-_]", path.name)))

    def end(self):
        for pid, line in self.alive().items():
            if b"resource_tracker" not in line:  # they end by themselves, and remove semaphores
                os.kill(pid, signal.SIGKILL)
        self.process.communicate()


@pytest.fixture
def start():
    """Start a command; what a failed test left running is killed."""
    runs = []

    def started(command, folder):
        runs.append(Run(command, folder))
        return runs[-1]

    yield started
    for run in runs:
        run.end()


# Fits of a minute, in two workers; each touches a file. Arrays of 2 MB are shared by a folder.
SCRIPT = """
import os, sys, time
from pathlib import Path
import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from ensemblage.strata import HISS, BootstrapStrata, StrataEnsembleClassifier
from ensemblage.studies import LocalPool

class Slow(GaussianNB):
    def fit(self, X, y, sample_weight=None):
        Path(f"fitting {os.getpid()}").touch()
        time.sleep(60)

y = np.arange(4000) % 2
X = np.random.default_rng(0).normal(size=(4000, 64)) + y[:, None]

def fit_ours():
    strata = BootstrapStrata(4)
    StrataEnsembleClassifier(strata, Slow(), fusion="mean", n_jobs=2, random_state=0).fit(X, y)

def fit_scikit_learn():
    GridSearchCV(Slow(), {"var_smoothing": [1e-9, 1e-8]}, cv=2, n_jobs=2).fit(X, y)

def fit_nested():
    LocalPool(1).submit(fit_ours).result()

print("fitting", flush=True)
globals()[sys.argv[1]]()
"""


@pytest.mark.parametrize(
    ("fit", "number"),
    [
        ("fit_ours", signal.SIGKILL),
        pytest.param("fit_ours", signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param("fit_scikit_learn", signal.SIGKILL, marks=pytest.mark.slow),
        pytest.param("fit_nested", signal.SIGKILL, marks=pytest.mark.slow),
    ],
)
def test_killed_script_leaves_nothing(fit, number, start, tmp_path):
    run = start([sys.executable, "-c", SCRIPT, fit], tmp_path)
    wait_until(lambda: len(list(tmp_path.glob("fitting *"))) == 2)
    run.send(number, group=False)
    assert run.output()[0] == "fitting\n"
    assert run.process.returncode == -number
    assert run.leftovers() == []


def wait_until(happened, seconds=60):
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.005)


ROWS = ["few.csv", "-t", "class"]
RESULTS = ["-j", "2", "--results", "cells.sqlite"]
# Arguments and outputs; those with -j start two workers.
COMMANDS = {
    "compare": ([*ROWS, "-m", "logistic", *RESULTS, "-o", "table.csv"], ["table.csv"]),
    "fit": (["many.csv", "-t", "class", "-m", "auto", "-j", "2", "-o", "new.skops"], ["new.skops"]),
    "predict": (["model.skops", "few.csv", "-o", "predicted.csv"], ["predicted.csv"]),
    "explain": (["model.skops", "few.csv", "-o", "page.html"], ["page.html"]),
    "audit": ([*ROWS, "--source", "site", "-m", "logistic", "-j", "2"], []),
    "cluster": ([*ROWS, "-j", "2", "-o", "labels.csv"], ["labels.csv"]),
    "run": (["study.toml", *RESULTS, "--export", "cells.csv"], ["cells.csv"]),
    "reproduce": (
        ["inner-tree", "--quick", *RESULTS, "--export", "cells.csv", "--budget", "1s"],
        ["cells.csv"],
    ),
    "datasets": (["--json"], []),
    "doctor": ([], []),
}


def write_rows(path, n_rows):
    rng = random.Random(0)  # noqa: S311
    lines = ["a,b,c,d,site,class"]
    for row in range(n_rows):
        values = (f"{rng.gauss(row % 2, 1):.4f}" for _ in range(4))
        lines.append(",".join([*values, f"site {row % 3}", ("no", "yes")[row % 2]]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Folder with the files that the commands read."""
    folder = tmp_path_factory.mktemp("inputs")
    write_rows(folder / "few.csv", 150)
    write_rows(folder / "many.csv", 850)  # fewer are not worth workers
    (folder / "study.toml").write_text(STUDY.format(repeats=4), encoding="utf-8")
    arguments = ["fit", *ROWS, "-m", "logistic", "-o", "model.skops"]
    subprocess.run([*COMMAND, *arguments], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def undisturbed(inputs, tmp_path_factory):
    """Run a command twice to its end; return its least seconds and its outputs."""
    known = {}

    def measured(name):
        if name not in known:
            spent = []
            for _ in range(2):
                folder = tmp_path_factory.mktemp(name) / "whole"
                shutil.copytree(inputs, folder)
                command, begun = [*COMMAND, name, *COMMANDS[name][0]], time.monotonic()
                subprocess.run(command, cwd=folder, check=True, capture_output=True)
                spent.append(time.monotonic() - begun)
            outputs = {each: (folder / each).read_bytes() for each in COMMANDS[name][1]}
            known[name] = min(spent), outputs
        return known[name]

    return measured


class Disturbed:
    """A command with a signal at a given time: what it must leave, and what not."""

    def __init__(self, run, name, whole):
        self._run, self._name, self._whole = run, name, whole
        self._inputs = {path.name for path in run.folder.iterdir()}

    def signal(self, number, seconds, *, group):
        """Send a signal; return the exit code, or when it came: early, or after the end."""
        time.sleep(seconds)
        began, ended = self._run.handles_signals(), self._run.process.poll() is not None
        self._run.send(number, group=group)
        _, errors = self._run.output()
        code = self._run.process.returncode
        assert self._run.leftovers() == []
        self._check_files(number)
        if ended:
            assert code == 0, errors
            return "after its end"
        if number == signal.SIGKILL:
            assert code in {0, -number}
            return code
        if not began:  # Python itself ends by the signal
            return "before it began"
        if code == 0:
            assert all((self._run.folder / name).exists() for name in self._whole)
        assert code in {0, 128 + number}, errors
        for word in ("Traceback", "resource_tracker", "Exception ignored", "Error"):
            assert word not in errors, errors
        return code

    def _check_files(self, number):
        for name in self._whole:
            path = self._run.folder / name
            assert not path.exists() or self._is_complete(path)
        found = {path.name for path in self._run.folder.iterdir()}
        results = self._run.folder / "cells.sqlite"
        if results.exists():
            connection = sqlite3.connect(results)
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            connection.close()
        if number != signal.SIGKILL:
            assert found <= self._inputs | set(self._whole) | {results.name}

    def _is_complete(self, path):
        if path.suffix == ".skops":
            with zipfile.ZipFile(path) as file:
                return file.testzip() is None
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".html":
            return text.rstrip().endswith("</html>")
        # a budget may end with another number of cells
        whole = self._whole[path.name].decode()
        same = self._name == "reproduce" or text.count("\n") == whole.count("\n")
        return same and text.endswith("\n")


@pytest.fixture
def disturbed(start, inputs, undisturbed, tmp_path):
    """Start a command in a new folder; ``old`` outputs are there already."""

    def started(name, number, *, old=False):
        arguments, _ = COMMANDS[name]
        folder, (_, whole) = tmp_path / str(number), undisturbed(name)
        shutil.copytree(inputs, folder)
        if old:
            for each, data in whole.items():
                (folder / each).write_bytes(data)
        return Disturbed(start([*COMMAND, name, *arguments], folder), name, whole)

    return started


@pytest.mark.parametrize("number", SIGNALS[:3], ids=lambda number: number.name)
@pytest.mark.parametrize("seconds", [0, 0.1])
def test_signal_during_imports_leaves_no_traceback(number, seconds, start, tmp_path):
    run = start([*COMMAND, "doctor"], tmp_path)
    wait_until(run.handles_signals)
    time.sleep(seconds)
    run.send(number, group=False)
    # the command itself may have begun
    assert run.output() in {("", ""), ("", "Interrupted; nothing was written.\n")}
    assert run.process.returncode == 128 + number


def test_an_interrupt_during_exec_has_the_same_code(tmp_path):
    """Python remembers it, and would end itself by SIGINT although the exception was handled."""
    script = """
import sys
import ensemblage.studies
from ensemblage.cli import main
from ensemblage.cli._console import say

def examine():
    say("working", stderr=True)  # imports what the end needs: another exec would reset it
    exec("raise KeyboardInterrupt")

ensemblage.studies.examine = examine
sys.argv = ["ensemblage", "doctor"]
main()
"""
    (tmp_path / "interrupted.py").write_text(script, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "interrupted"], cwd=tmp_path, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (130, "working\nInterrupted; nothing was written.\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda each: each.name)
def test_signal_while_workers_fit(number, start, tmp_path):
    write_rows(tmp_path / "many.csv", 850)
    run = start([*COMMAND, "fit", *COMMANDS["fit"][0]], tmp_path)
    wait_until(lambda: sum(b"LokyProcess" in line for line in run.alive().values()) == 2)
    run.send(number, group=False)
    printed = run.output()
    if number == signal.SIGTERM:
        assert printed == ("", "Interrupted; nothing was written.\n")
    assert run.process.returncode == (143 if number == signal.SIGTERM else -number)
    assert run.leftovers() == []
    assert {path.name for path in tmp_path.iterdir()} == {"many.csv", "tmp"}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("name", COMMANDS)
def test_signals_at_random_times(name, number, disturbed, undisturbed, capsys):
    seconds, _ = undisturbed(name)
    rng = random.Random(f"{name} {number}")  # noqa: S311
    times = sorted(rng.uniform(0.02, seconds) for _ in range(TIMES))
    codes = Counter()
    for turn, moment in enumerate(times):
        # Ctrl-C and a closed terminal reach the whole group, `kill` one process
        group = number in {signal.SIGINT, signal.SIGHUP} or (
            number == signal.SIGTERM and turn % 2 == 0
        )
        run = disturbed(name, turn, old=turn % 2 == 1)
        codes[run.signal(number, moment, group=group)] += 1
    assert sum(codes.values()) == TIMES
    with capsys.disabled():
        shown = ", ".join(f"{count} {code}" for code, count in codes.items())
        print(  # noqa: T201
            f"\n{name} {number.name}: {TIMES} signals in {seconds:.1f} s; {shown}; nothing left"
        )
