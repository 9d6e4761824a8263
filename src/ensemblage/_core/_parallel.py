"""Parallel tasks by joblib, whose workers end with their parent; BLAS threads for small tables."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from multiprocessing import parent_process, resource_tracker
from multiprocessing.util import Finalize
from typing import Any
from weakref import WeakSet

from joblib import Parallel, delayed, register_parallel_backend
from joblib.parallel import BACKENDS

logger = logging.getLogger("ensemblage")

# Rows times columns from which several BLAS threads may be faster.
MIN_THREADED_SIZE = 2**18
# Attempts without progress after which a broken process pool raises.
MAX_RETRIES = 3
# Seconds between a worker's checks that its parent is alive.
WATCH_SECONDS = 0.5
# Seconds to wait for loky's thread to take a submitted call; it takes milliseconds.
HANDOVER_SECONDS = 0.5
# Signals that ask a process to end: Ctrl-C, `kill`, a closed terminal.
STOP_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


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
            with Parallel(n_jobs=n_jobs, return_as="generator_unordered") as parallel:
                for index, result in parallel(calls):
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
def hold_signals() -> Iterator[Callable[[], bool]]:
    """Hold back the first Ctrl-C until the end; yield a function that tells whether it came.

    Other signals are held back too where they have a handler, as in a command. The second raises.
    """
    noted: list[int] = []

    def note(number: int, frame: Any) -> None:
        if noted:
            signal.default_int_handler(number, frame)
        noted.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    usual = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    handlers = {number: handler for number, handler in usual.items() if callable(handler)}
    for number in handlers:
        signal.signal(number, note)
    try:
        yield lambda: bool(noted)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if noted:
            handlers[noted[0]](noted[0], None)


@contextmanager
def block_signals() -> Iterator[None]:
    """Block signals while workers and joblib's helper processes start: only the parent ends them.

    They are held back here as well, so that no worker is started and not yet known. A helper
    process removes semaphores and folders after the last worker has ended.
    """
    with hold_signals():
        if not hasattr(signal, "pthread_sigmask"):
            yield
            return
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        try:
            resource_tracker.ensure_running()  # which unblocks some of them
            signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def watch_parent(parent: int) -> None:
    """End this worker process soon after its parent has ended, however that ended."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH_SECONDS)
        os._exit(1)

    if os.name == "posix":
        threading.Thread(target=watch, daemon=True).start()


LokyBackend: Any = BACKENDS["loky"]


class WatchedLokyBackend(LokyBackend):
    """Joblib's worker processes, which end with their parent and leave signals to it."""

    def configure(self, *args: Any, **settings: Any) -> int:
        """Make the pool, whose workers watch this process unless they have an initializer."""
        if "initializer" not in {**getattr(self, "backend_kwargs", {}), **settings}:
            settings |= {"initializer": watch_parent, "initargs": (os.getpid(),)}
        with block_signals():
            n_jobs: int = super().configure(*args, **settings)
        _pools.add(self._workers)
        _end_pools_with_process(os.getpid())
        return n_jobs

    def submit(self, *args: Any, **settings: Any) -> Any:
        """Start a call, and the workers if there are none."""
        with block_signals():
            return super().submit(*args, **settings)

    def apply_async(self, *args: Any, **settings: Any) -> Any:
        """Start a call: the name of ``submit`` before joblib 1.5."""
        with block_signals():
            return super().apply_async(*args, **settings)


_pools: WeakSet[Any] = WeakSet()


@cache
def _end_pools_with_process(process: int) -> None:
    """End the pools of a process of multiprocessing, whose end would wait for idle workers."""
    del process
    if parent_process() is not None:
        Finalize(None, end_pools, exitpriority=1)


def end_pools() -> None:
    """Kill the workers of joblib's pools, and remove their folders."""
    for pool in list(_pools):
        wait_for_handover(pool)
        pool.terminate(kill_workers=True)


def wait_for_handover(pool: Any) -> None:
    """Wait until loky's thread has taken all submitted calls: killed before, it fails."""
    waiting, end = pool._work_ids, time.monotonic() + HANDOVER_SECONDS  # noqa: SLF001
    while not waiting.empty() and time.monotonic() < end:
        time.sleep(0.005)


# also for the pools of scikit-learn's estimators, and so that all can share their workers
register_parallel_backend("loky", WatchedLokyBackend)


def _numbered(index: int, function: Callable[..., Any], task: tuple[Any, ...]) -> tuple[int, Any]:
    return index, function(*task)
