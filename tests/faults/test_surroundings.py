"""Fits of another user, in processes started in other ways, and on a cluster of others."""

import multiprocessing
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from faults.conftest import COMMAND

NOBODY = 65534


def as_nobody(command, folder, home):
    """Run a command as a user who owns only ``folder``."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    return subprocess.run(
        command, cwd=folder, env={**kept, "HOME": str(home), "TMPDIR": str(folder)},
        user=NOBODY, group=NOBODY, extra_groups=[],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


@pytest.fixture
def own_folder():
    """Return a folder that belongs to another user; pytest's are closed to others."""
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("only root can run a command as another user")
    folder = Path(tempfile.mkdtemp())
    os.chown(folder, NOBODY, NOBODY)
    try:
        as_nobody([sys.executable, "-c", "import ensemblage"], folder, folder)
    except PermissionError:
        shutil.rmtree(folder)
        pytest.skip(f"another user may not run {sys.executable}")
    yield folder
    shutil.rmtree(folder)


@pytest.mark.slow  # compiles twice
@pytest.mark.timeout(600)
@pytest.mark.parametrize("has_home", [True, False], ids=["home", "no home"])
def test_another_user_without_a_writable_package(own_folder, has_home):
    arguments = ["compare", "iris", "-m", "logistic", "-m", "tree", "-j", "2", "--results", "cells"]
    done = as_nobody([*COMMAND, *arguments], own_folder, own_folder if has_home else os.devnull)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "logistic regression" in done.stdout
    # the cache of machine code needs a folder of the user's own
    assert bool(list(own_folder.rglob("*.nbi"))) == has_home


SCRIPT = """
import multiprocessing, sys
import numpy as np
from sklearn.naive_bayes import GaussianNB
from ensemblage.strata import BootstrapStrata, StrataEnsembleClassifier

def fit(n_jobs):
    y = np.arange(60) % 2
    X = np.random.default_rng(0).normal(size=(60, 4)) + y[:, None]
    model = StrataEnsembleClassifier(
        BootstrapStrata(4), GaussianNB(), fusion="mean", n_jobs=n_jobs, random_state=0
    )
    return model.fit(X, y).predict_proba(X)

def report(queue):
    queue.put(fit(2))

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    if sys.argv[1] == "fork":
        fit(2)  # its workers are not the forked process's
    queue = context.SimpleQueue()
    process = context.Process(target=report, args=(queue,))
    process.start()
    there = queue.get()
    process.join()
    print(process.exitcode, np.array_equal(there, fit(1)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_fit_with_workers_in_a_started_process(method, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "script.py", method],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 True\n", "")


def listening(pid):
    """Addresses at which a process listens, in the hexadecimal notation of ``/proc/net``."""
    inodes = set()
    for descriptor in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            inodes |= set(re.findall(r"socket:\[(\d+)\]", str(descriptor.readlink())))
        except OSError:  # closed meanwhile
            continue
    lines = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
    ]
    return {line[1] for line in lines if line[3] == "0A" and line[9] in inodes}


def test_listening_sockets_are_found():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert any(each.endswith(f":{port:04X}") for each in listening(os.getpid()))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="reads /proc")
def test_a_command_on_a_cluster_connects_only(tmp_path):
    """We start no cluster: a command with ``--scheduler`` listens at no port."""
    distributed = pytest.importorskip("distributed")
    arguments = ["compare", "iris", "-m", "logistic", "--repeats", "3", "--scheduler"]
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        process = subprocess.Popen(
            [*COMMAND, *arguments, cluster.scheduler_address], cwd=tmp_path,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        seen, checks = set(), 0
        while process.poll() is None:
            try:
                seen |= listening(process.pid)
            except OSError:  # it has just ended
                break
            checks += 1
            time.sleep(0.02)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "logistic regression" in output
    assert checks > 20
    assert seen == set()
