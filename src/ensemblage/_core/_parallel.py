"""Independent tasks over joblib, in order, and BLAS threads for small tables."""

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

# Rows times columns from which threads can gain something.
FEW_NUMBERS = 2**18
# Attempts without progress after which a broken pool of workers is an error.
MAX_RETRIES = 3


def limit_blas_threads(X: Any) -> AbstractContextManager[Any]:
    """Limit linear algebra to one thread for a small table; one of unknown shape is not limited."""
    shape: tuple[Any, ...] = getattr(X, "shape", ())
    known = len(shape) == 2 and all(isinstance(each, int) for each in shape)
    few = known and shape[0] * shape[1] < FEW_NUMBERS
    limit: AbstractContextManager[Any] = _libraries().limit(limits=1) if few else nullcontext()
    return limit


@cache
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401, PLC0415  its own copy of BLAS must be there to be found
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415

    return ThreadpoolController().select(user_api="blas")


def run_tasks(
    function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], n_jobs: int | None = None
) -> list[Any]:
    """Call ``function(*task)`` for each task; give the results in the order of the tasks.

    The function is defined at module level, so that worker processes find it; any seed is in the
    task already. ``n_jobs`` is joblib's, and so is the backend.
    """
    results = dict(iterate_tasks(function, tasks, n_jobs))
    return [results[index] for index in range(len(tasks))]


def iterate_tasks(
    function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], n_jobs: int | None = None
) -> Iterator[tuple[int, Any]]:
    """Give each task's index and result as soon as it is there; arguments as in ``run_tasks``.

    A worker process that dies (killed, out of memory) breaks joblib's pool. What was finished is
    kept, and the rest is tried again, up to three times without progress.
    """
    waiting, attempt = list(range(len(tasks))), 0
    while waiting:
        done: set[int] = set()
        calls = [delayed(_numbered)(index, function, tasks[index]) for index in waiting]
        try:
            # entering starts loky's own helper process, which lets interrupts through again
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
                "A worker process died; trying the %d unfinished of %d tasks again (%d of %d).",
                len(waiting) - len(done), len(tasks), attempt, MAX_RETRIES,
            )  # fmt: skip
        waiting = [index for index in waiting if index not in done]


@contextmanager
def block_sigint() -> Iterator[None]:
    """Start workers that ignore Ctrl-C; the parent gets it afterwards, and ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # started later, Python's helper process would let interrupts through again
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _numbered(index: int, function: Callable[..., Any], task: tuple[Any, ...]) -> tuple[int, Any]:
    return index, function(*task)
