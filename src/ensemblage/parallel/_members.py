"""Independent tasks over joblib: results in order, a dead worker retried."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from joblib import Parallel, delayed

MAX_RETRIES = 3

logger = logging.getLogger("ensemblage")


def run_tasks(
    function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], n_jobs: int | None = None
) -> list[Any]:
    """Call ``function(*task)`` for each task; give the results in the order of the tasks.

    A worker process that dies (killed, out of memory) breaks joblib's pool. What was
    finished is kept, and the rest is tried again, up to three times without progress.

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
    results: list[Any] = []
    attempt, before = 0, 0
    while len(results) < len(tasks):
        waiting = tasks[len(results) :]
        parallel = Parallel(n_jobs=n_jobs, return_as="generator")
        try:
            for result in parallel(delayed(function)(*task) for task in waiting):
                results.append(result)  # noqa: PERF402  keeps what came before a failure
        except BrokenProcessPool:
            attempt = 1 if len(results) > before else attempt + 1
            before = len(results)
            if attempt > MAX_RETRIES:
                raise
            logger.warning(
                "A worker process died; trying the %d unfinished of %d tasks again (%d of %d).",
                len(tasks) - len(results), len(tasks), attempt, MAX_RETRIES,
            )  # fmt: skip
    return results
