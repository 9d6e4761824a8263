import os
import signal
import time

import pytest
from joblib import cpu_count

from ensemblage.studies import LocalPool, _runner
from ensemblage.studies._runner import START_SECONDS, Deadline, n_workers, worth_workers
from ensemblage.studies._workers import stream_tasks


def test_processes_are_counted_as_joblib_does():
    assert [n_workers(jobs) for jobs in (None, 1, 3)] == [1, 1, 3]
    assert n_workers(-1) == cpu_count()
    assert n_workers(-1000) == 1
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        n_workers(0)


def test_one_process_is_never_worth_another():
    assert not worth_workers(1e6, None)
    assert not worth_workers(1e6, 1)


def test_two_processes_must_save_more_than_their_start():
    # half of the work is saved
    assert not worth_workers(2 * START_SECONDS, 2)
    assert worth_workers(2 * START_SECONDS + 0.01, 2)
    assert worth_workers(1.2 * START_SECONDS, 8)


@pytest.fixture(scope="module")
def pool():
    made = LocalPool(2)
    yield made
    made.close(kill=True)


def square(x):
    return x * x


def test_every_outcome_comes_once(pool):
    outcomes = list(stream_tasks(square, [(x,) for x in range(20)], pool))
    assert sorted((number, result) for number, result, _ in outcomes) == [
        (x, x * x) for x in range(20)
    ]
    assert list(stream_tasks(square, [], pool)) == []


def test_tasks_are_taken_only_when_a_worker_is_free(pool):
    taken = []

    def tasks():
        for x in range(50):
            taken.append(x)
            yield (x,)

    outcomes = stream_tasks(square, tasks(), pool)
    next(outcomes)
    assert len(taken) <= 4
    outcomes.close()
    assert len(taken) <= 4


def fail(x):
    raise ValueError(f"{x} is bad")


def test_an_error_is_an_outcome(pool):
    outcomes = list(stream_tasks(fail, [(1,), (2,)], pool))
    assert sorted(str(error) for _, _, error in outcomes) == ["1 is bad", "2 is bad"]
    assert {result for _, result, _ in outcomes} == {None}


def wait_a_little(x):
    time.sleep(0.05)
    return x


def test_stopping_gives_what_is_finished(pool):
    given = []
    stopped = lambda: len(given) >= 3  # noqa: E731
    for _, result, _ in stream_tasks(
        wait_a_little, [(x,) for x in range(40)], pool, stopped=stopped
    ):
        given.append(result)
    assert 3 <= len(given) <= 7


def own_pid():
    return os.getpid()


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_worker_killed_while_idle_is_replaced():
    pool = LocalPool(1)
    try:
        ((_, first, _),) = stream_tasks(own_pid, [()], pool)
        os.kill(first, signal.SIGKILL)
        time.sleep(0.3)
        ((_, second, error),) = stream_tasks(own_pid, [()], pool)
        assert error is None
        assert second != first
    finally:
        pool.close()


def test_a_task_that_would_end_too_late_is_not_given(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(_runner.time, "monotonic", lambda: now[0])
    deadline = Deadline(10.0)
    given = []
    for task in deadline.in_time(range(9)):
        given.append(task)
        now[0] += 4.0
        deadline.add(4.0)
    # at 8 seconds another four would be too many
    assert given == [0, 1]
    assert list(Deadline(None).in_time(range(3))) == [0, 1, 2]
