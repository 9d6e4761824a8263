"""The run loop with real worker processes."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ensemblage.studies import (
    ExperimentInterrupt,
    ResultStore,
    ResultStoreError,
    _runner,
    run_study,
)
from studies.arithmetic import experiment

posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


@pytest.fixture
def store(tmp_path):
    with ResultStore(tmp_path / "r.sqlite") as made:
        yield made


def facts(results):
    return [(each.cell.key, dict(each.values), each.error) for each in results]


def test_same_values_for_any_number_of_workers_stored_or_fresh(store):
    seen = []
    one = run_study(experiment(), store, n_jobs=1, progress=lambda *s: seen.append(s))
    two = run_study(experiment(), None, n_jobs=2)
    stored = run_study(experiment(), store)
    assert facts(one) == facts(two) == facts(stored)
    assert [each.values["square"] for each in one] == [0, 1, 4, 9, 16, 25]
    assert [each.cell.params["x"] for each in two] == list(range(6))
    assert seen == [(done, 6) for done in range(7)]


def test_what_is_stored_is_not_computed_again(store):
    first = run_study(experiment(3), store)
    twice = replace(experiment(5), cells=[*experiment(5).cells, *experiment(5).cells])
    longer = run_study(twice, store)
    assert facts(longer)[:3] == facts(first)
    # the same cell twice is computed once
    assert facts(longer)[:5] == facts(longer)[5:]
    assert len(store) == 5
    # nothing to do, so no workers: the function is not even asked for
    assert len(run_study(experiment(5, function=None), store)) == 5


def test_an_error_is_a_row_and_the_rest_goes_on(store):
    actions = {"x1": "fail", "x2": "exit", "x3": "nan", "x4": "where"}
    declared = experiment(6, **{name: {"do": action} for name, action in actions.items()})
    results = run_study(declared, store)
    errors = [each.error for each in results]
    assert errors[:3] == ["", "RuntimeError: x is 1, which is bad", "SystemExit: 3"]
    assert errors[3].startswith("ValueError: values['score'] is nan; give a finite number")
    assert errors[4:] == ["", ""]
    assert results[1].values == {}
    assert facts(store.get([results[1].cell.key]).values()) == facts(results[1:2])
    # computed in another process, on one thread, with the experiment's folder of data
    where = results[4].values
    assert where["process"] != os.getpid()
    assert where["folder"] == "somewhere"
    assert set(where["threads"]) == {1}


def test_failed_cells_are_tried_again_only_when_asked_to(store, tmp_path):
    bad = experiment(2, x1={"do": "fail-once", "mark": str(tmp_path / "mark")})
    assert run_study(bad, store)[1].error == "RuntimeError: the first time it fails"
    assert run_study(bad, store)[1].error == "RuntimeError: the first time it fails"
    again = run_study(bad, store, retry_failed=True)
    assert [each.error for each in again] == ["", ""]
    assert facts(run_study(bad, store)) == facts(again)


def test_a_budget_ends_a_run_in_time(store):
    slow = experiment(40, **{f"x{x}": {"sleep": 0.3} for x in range(40)})
    results = run_study(slow, store, budget=3.0)
    # one after the other, 0.3 seconds each, and none is begun after 3 seconds
    assert 1 <= len(results) <= 11
    assert [each.cell.params["x"] for each in results] == list(range(len(results)))
    assert len(store) == len(results)


def test_a_budget_must_be_positive(store):
    with pytest.raises(ValueError, match="budget must be more than 0 seconds, got 0"):
        run_study(experiment(), store, budget=0)


def test_no_jobs_at_all_are_refused(store):
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        run_study(experiment(), store, n_jobs=0)


@posix
def test_a_cell_that_kills_its_worker_becomes_an_error(store):
    deadly = experiment(4, x1={"do": "die"}, x2={"sleep": 0.5})
    errors = [each.error for each in run_study(deadly, store, n_jobs=2)]
    assert errors[1].startswith("WorkerDiedError: the worker process died 4 times")
    # its neighbours are not blamed
    assert errors[:1] + errors[2:] == [""] * 3
    assert len(store) == 4


@posix
def test_an_interrupt_stores_what_is_finished_and_says_how_to_go_on(store):
    slow = experiment(40, **{f"x{x}": {"sleep": 0.1} for x in range(40)})
    handler = signal.getsignal(signal.SIGINT)

    def interrupt_soon(done, total):
        if done == 3:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()

    with pytest.raises(
        ExperimentInterrupt, match=r"Interrupted after \d+ of 40 cells; run the same"
    ):
        run_study(slow, store, progress=interrupt_soon)
    assert 3 <= len(store) < 40
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_store_that_fails_ends_the_workers(store):
    store.close()
    with pytest.raises(ResultStoreError):
        run_study(experiment(), store)


@posix
def test_workers_end_when_their_parent_is_killed(tmp_path):
    script = textwrap.dedent(
        """
        import os, time
        from pathlib import Path
        from ensemblage.studies import Experiment, Cell, run_study

        def sleep(cell, data_dir):
            Path("pid").write_text(str(os.getpid()))
            time.sleep(600)
            return {}

        cells = [Cell("sleep", {})]
        run_study(Experiment("sleep", "Sleep", cells, sleep, list))
        """
    )
    parent = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path)
    pid = tmp_path / "pid"
    assert _wait_until(lambda: pid.exists() and pid.read_text())
    worker = int(pid.read_text())
    parent.kill()
    parent.wait()
    assert _wait_until(lambda: not _is_alive(worker))


def _is_alive(pid):
    state = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        return state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def test_small_work_starts_no_workers(monkeypatch):
    def no_pool(n_jobs):
        raise AssertionError(n_jobs)

    monkeypatch.setattr(_runner, "LocalPool", no_pool)
    results = run_study(experiment(), n_jobs=2, small=True)
    assert [each.values["square"] for each in results] == [0, 1, 4, 9, 16, 25]


def test_work_that_turns_out_large_goes_on_in_workers(monkeypatch):
    left = []

    def worth(seconds, n_jobs):
        left.append(seconds)
        return n_jobs == 2

    monkeypatch.setattr(_runner, "worth_workers", worth)
    results = run_study(experiment(), n_jobs=2, small=True)
    assert facts(results) == facts(run_study(experiment()))
    assert len(left) == 1 + 6
