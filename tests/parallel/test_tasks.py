import os
import signal
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from ensemblage.parallel import run_tasks


def square(x):
    return x * x


def die_once(x, folder):
    """Kill the worker process itself the first time that task 3 is tried."""
    marker = Path(folder) / "died"
    if x == 3 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    (Path(folder) / f"{x}-{os.getpid()}").touch()
    return x


def always_die(x):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_results_come_in_the_order_of_the_tasks(n_jobs):
    assert run_tasks(square, [(x,) for x in range(20)], n_jobs) == [x * x for x in range(20)]


def test_no_task_no_result():
    assert run_tasks(square, []) == []


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")
def test_a_killed_worker_is_replaced(tmp_path, caplog):
    assert run_tasks(die_once, [(x, str(tmp_path)) for x in range(8)], 2) == list(range(8))
    assert "A worker process died" in caplog.text


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")
def test_a_task_that_always_kills_its_worker_is_given_up():
    with pytest.raises(BrokenProcessPool):
        run_tasks(always_die, [(0,), (1,)], 2)


def test_an_error_of_a_task_reaches_the_caller():
    with pytest.raises(TypeError, match="can't multiply"):
        run_tasks(square, [("a",)])
