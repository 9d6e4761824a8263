"""Parallel tasks by joblib, with ordered results; BLAS threads for small tables."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from multiprocessing import resource_tracker
from typing import Any

from joblib import Parallel, delayed

logger = logging.getLogger("ensemblage")

# Rows times columns from which several BLAS threads may be faster.
MIN_THREADED_SIZE = 2**18
# Attempts without progress after which a broken process pool raises.
MAX_RETRIES = 3


def limit_blas_threads(X: Any) -> AbstractContextManager[Any]:
    """Limit BLAS to one thread for small tables; no limit if the shape is unknown."""
    shape: tuple[Any, ...] = getattr(X, "shape", ())
    known = len(shape) == 2 and all(isinstance(each, int) for each in shape)
    few = known and shape[0] * shape[1] < MIN_THREADED_SIZE
    limit: AbstractContextManager[Any] = _libraries().limit(limits=1) if few else nullcontext()
    return limit


@cache
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401, PLC0415  loads SciPy's own BLAS
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415

    return ThreadpoolController().select(user_api="blas")


def run_tasks(
    function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], n_jobs: int | None = None
) -> list[Any]:
    """Call ``function(*task)`` for each task; return the results in the order of the tasks.

    The function must be defined at module level, so that worker processes can import it; seeds are
    part of the task. ``n_jobs`` and the backend are joblib's.
    """
    results = dict(iterate_tasks(function, tasks, n_jobs))
    return [results[index] for index in range(len(tasks))]


def iterate_tasks(
    function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], n_jobs: int | None = None
) -> Iterator[tuple[int, Any]]:
    """Yield each task's index and result as soon as it is finished; arguments as in ``run_tasks``.

    A worker process that dies (killed, out of memory) breaks joblib's pool. Finished results are
    kept, and other tasks are retried, up to three times without progress.
    """
    waiting, attempt = list(range(len(tasks))), 0
    while waiting:
        done: set[int] = set()
        calls = [delayed(_numbered)(index, function, tasks[index]) for index in waiting]
        try:
            # entering starts loky's helper process, which resets the signal mask
            with Parallel(n_jobs=n_jobs, return_as="generator_unordered") as parallel:
                with block_sigint():
                    results = parallel(calls)
                for index, result in results:
                    done.add(index)
                    yield index, result
        except BrokenProcessPool:
            attempt = 1 if done else attempt + 1
            if attempt > MAX_RETRIES:
                raise
            logger.warning(
                "A worker process died; retrying %d unfinished of %d tasks (attempt %d of %d).",
                len(waiting) - len(done), len(tasks), attempt, MAX_RETRIES,
            )  # fmt: skip
        waiting = [index for index in waiting if index not in done]


@contextmanager
def block_sigint() -> Iterator[None]:
    """Block SIGINT while workers start, so that only the parent handles Ctrl-C."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # started later, Python's helper process would reset the signal mask
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _numbered(index: int, function: Callable[..., Any], task: tuple[Any, ...]) -> tuple[int, Any]:
    return index, function(*task)
