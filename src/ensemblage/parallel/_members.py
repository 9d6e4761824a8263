"""Independent tasks over joblib: results in order, a dead worker retried."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from joblib import Parallel, delayed

MAX_RETRIES = 3

logger = logging.getLogger("ensemblage")


def run_tasks(
    function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], n_jobs: int | None = None
) -> list[Any]:
    """Call ``function(*task)`` for each task; give the results in the order of the tasks.

    Parameters
    ----------
    function : callable
        Defined at module level, so that worker processes find it.
    tasks : sequence of tuple
        The arguments of each call, with any seed already in them.
    n_jobs : int, default=None
        As in joblib; the backend is joblib's current one.

    Returns
    -------
    list
        One result per task.
    """
    results = dict(iterate_tasks(function, tasks, n_jobs))
    return [results[index] for index in range(len(tasks))]


def iterate_tasks(
    function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], n_jobs: int | None = None
) -> Iterator[tuple[int, Any]]:
    """Give each task's index and result as soon as it is there.

    A worker process that dies (killed, out of memory) breaks joblib's pool. What was finished is
    kept, and the rest is tried again, up to three times without progress.

    Parameters
    ----------
    function : callable
        Called as ``function(*task)``; defined at module level.
    tasks : sequence of tuple
        The arguments of each call, with any seed already in them.
    n_jobs : int, default=None
        As in joblib; the backend is joblib's current one.

    Yields
    ------
    index : int
        Which task.
    result : object
        What the function gave.
    """
    waiting, attempt = list(range(len(tasks))), 0
    while waiting:
        done: set[int] = set()
        calls = [delayed(_numbered)(index, function, tasks[index]) for index in waiting]
        try:
            # entering starts loky's own helper process, which lets interrupts through again
            with Parallel(n_jobs=n_jobs, return_as="generator_unordered") as parallel:
                with interrupts_held():
                    results = parallel(calls)
                for index, result in results:
                    done.add(index)
                    yield index, result
        except BrokenProcessPool:
            attempt = 1 if done else attempt + 1
            if attempt > MAX_RETRIES:
                raise
            logger.warning(
                "A worker process died; trying the %d unfinished of %d tasks again (%d of %d).",
                len(waiting) - len(done), len(tasks), attempt, MAX_RETRIES,
            )  # fmt: skip
        waiting = [index for index in waiting if index not in done]


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Start workers that do not hear Ctrl-C; the parent hears it afterwards, and ends them.

    Yields
    ------
    None
        Interrupts are held back until the end of the block.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _numbered(index: int, function: Callable[..., Any], task: tuple[Any, ...]) -> tuple[int, Any]:
    return index, function(*task)
