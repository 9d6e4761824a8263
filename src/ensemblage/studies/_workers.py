"""Tasks run in local worker processes or on a Dask cluster."""

from __future__ import annotations

import logging
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, TypeAlias

from joblib import parallel_config
from joblib.externals.loky import ProcessPoolExecutor

from ensemblage._core import (
    MAX_RETRIES,
    block_signals,
    require,
    set_module,
    wait_for_handover,
    watch_parent,
)

logger = logging.getLogger("ensemblage")


# One thread per worker: sums have the same order for any number of workers.
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS",
    ),
    "1",
)  # fmt: skip
# Seconds between checks for a stop.
POLL_SECONDS = 0.1
# Seconds after which idle workers end.
IDLE_SECONDS = 300

Outcome: TypeAlias = tuple[int, Any, BaseException | None]
"""A task's index, its result, and its error or None."""


@set_module("ensemblage.studies")
class WorkerDiedError(RuntimeError):
    """Every worker that ran a task died."""


@set_module("ensemblage.studies")
class WorkerPool(Protocol):
    """Pool of workers."""

    @property
    def width(self) -> int:
        """Number of calls that run at the same time."""

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """Start a call without arguments."""

    def restart(self) -> None:
        """Replace workers after one has died."""

    def close(self, *, kill: bool = False) -> None:
        """End the workers, after their work or at once."""


@set_module("ensemblage.studies")
class LocalPool:
    """Worker processes on this machine, with one thread each.

    A single worker is a separate process too, so that its crash does not end the run.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self._executor = self._start()

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """Start a call."""
        with block_signals():
            future: Future[Any] = self._executor.submit(call)
            return future

    def restart(self) -> None:
        """Replace workers after one has died."""
        self.close(kill=True)
        self._executor = self._start()

    def close(self, *, kill: bool = False) -> None:
        """End the workers."""
        if kill:
            wait_for_handover(self._executor)
        self._executor.shutdown(wait=True, kill_workers=kill)

    def _start(self) -> ProcessPoolExecutor:
        with block_signals():
            return ProcessPoolExecutor(
                self.width, timeout=IDLE_SECONDS, env=ONE_THREAD,
                initializer=watch_parent, initargs=(os.getpid(),),
            )  # fmt: skip


def stream_tasks(
    function: Callable[..., Any],
    tasks: Iterable[tuple[Any, ...]],
    pool: WorkerPool,
    *,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[Outcome]:
    """Call ``function(*task)`` for each task in workers; yield each outcome when it is finished.

    The function is defined at module level, so that worker processes can import it. Tasks are taken
    from the iterable only when a worker is free, so that the iterable can end early. If a worker
    dies, the tasks that were running are run again one at a time, to find the one that kills its
    worker. After three retries its outcome is a ``WorkerDiedError``. ``stopped`` is called ten
    times a second; if it returns true, finished outcomes are yielded and the rest is dropped. The
    pool stays open.
    """
    stream = _Stream(function, tasks, pool)
    stream.hand_out()
    while stream.running:
        outcomes = stream.collect()
        if not stopped():
            # before the outcomes are processed, so that no worker is idle
            stream.hand_out()
        yield from outcomes
        if stopped():
            yield from stream.finished()
            return


class _Stream:
    """State of the tasks: waiting, running, or to be repeated after a worker died."""

    def __init__(
        self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], pool: WorkerPool
    ) -> None:
        self._calls = (partial(function, *task) for task in tasks)
        self._pool = pool
        self._handed: dict[int, Callable[[], Any]] = {}
        self._count = 0
        self._suspects: deque[int] = deque()
        self._deaths: Counter[int] = Counter()
        self.running: dict[Future[Any], int] = {}

    def hand_out(self) -> None:
        if self._suspects:
            # one at a time, so that the next death has one possible cause
            if not self.running:
                self._submit(self._suspects.popleft())
            return
        while len(self.running) < self._pool.width:
            call = next(self._calls, None)
            if call is None:
                return
            self._handed[self._count] = call
            self._submit(self._count)
            self._count += 1

    def collect(self) -> list[Outcome]:
        """Wait for at most 0.1 s; return finished outcomes."""
        wait(self.running, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
        return self.finished()

    def finished(self) -> list[Outcome]:
        if any(_is_broken(future) for future in self.running):
            wait(self.running)
        dead: list[int] = []
        outcomes: list[Outcome] = []
        for future in [each for each in self.running if each.done()]:
            index = self.running.pop(future)
            if _is_broken(future):
                dead.append(index)
            else:
                outcomes.append(self._outcome(index, future))
        return outcomes + self._after_death(dead) if dead else outcomes

    def _submit(self, index: int) -> None:
        try:
            future = self._pool.submit(self._handed[index])
        except BrokenProcessPool as error:
            # an idle worker died: as if this task had been running
            future = Future()
            future.set_exception(error)
        self.running[future] = index

    def _outcome(self, index: int, future: Future[Any]) -> Outcome:
        del self._handed[index]
        try:
            return index, future.result(), None
        except CancelledError:
            raise ConnectionError(
                "The connection to the workers was lost. Finished results are kept."
            ) from None
        except BaseException as error:
            return index, None, error

    def _after_death(self, indices: list[int]) -> list[Outcome]:
        self._pool.restart()
        given_up: list[Outcome] = []
        for index in indices:
            self._deaths[index] += 1
            if self._deaths[index] <= MAX_RETRIES:
                self._suspects.append(index)
                continue
            del self._handed[index]
            error = WorkerDiedError(
                f"the worker process died {self._deaths[index]} times (killed, crashed, or out "
                "of memory)"
            )
            given_up.append((index, None, error))
        logger.warning("A worker process died; repeating %d tasks.", len(self._suspects))
        return given_up


def _is_broken(future: Future[Any]) -> bool:
    return (
        future.done()
        and not future.cancelled()
        and isinstance(future.exception(), BrokenProcessPool)
    )


# Seconds to wait for a scheduler.
CONNECT_SECONDS = 15
# Seconds for which the number of workers is cached.
COUNT_SECONDS = 2.0


@set_module("ensemblage.studies")
class ClusterPool:
    """The workers of a Dask scheduler.

    Dask repeats the calls of a worker that dies on another one, at most three times.
    """

    def __init__(self, scheduler: str) -> None:
        self._client = _connect(scheduler)
        self._executor = self._client.get_executor(pure=False)
        self._threads, self._counted = 1, float("-inf")

    @property
    def width(self) -> int:
        """Threads of all connected workers."""
        if time.monotonic() - self._counted > COUNT_SECONDS:
            self._threads = max(1, sum(self._client.nthreads().values()))
            self._counted = time.monotonic()
        return self._threads

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """Start a call without arguments, which Dask would search for its own collections."""
        future: Future[Any] = self._executor.submit(call)
        return future

    def restart(self) -> None:
        """Do nothing: Dask replaces its workers."""

    def close(self, *, kill: bool = False) -> None:
        """Disconnect from the cluster; ``kill`` cancels running calls."""
        self._executor.shutdown(wait=not kill)
        self._client.close()


@contextmanager
def members_on(scheduler: str | None) -> Iterator[None]:
    """Fit members and folds on the workers of a Dask scheduler; None changes nothing."""
    if scheduler is None:
        yield
        return
    _connect(scheduler).close()  # raises connection errors before work starts
    with parallel_config("dask", scheduler_host=scheduler, n_jobs=-1):
        yield


@contextmanager
def rows_on(scheduler: str | None) -> Iterator[None]:
    """Hold rows of Dask collections on a scheduler's workers; None changes nothing."""
    if scheduler is None:
        yield
        return
    with _connect(scheduler) as client, client.as_current():
        yield


def _connect(scheduler: str) -> Any:
    distributed = require("distributed", "Running on a cluster", extra="dask")
    kind, _, place = scheduler.partition("://")
    if not place or (kind in {"tcp", "tls"} and ":" not in place):
        raise ValueError(f"The scheduler {scheduler!r} is not an address such as tcp://host:8786.")
    try:
        client = distributed.Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"No Dask scheduler answers at {scheduler!r} ({error}): give the address that "
            "`dask scheduler` prints, such as tcp://host:8786."
        ) from error
    if not client.nthreads():
        client.close()
        raise ValueError(
            f"The Dask scheduler at {scheduler} has no workers: start some with "
            f"`dask worker {scheduler}`."
        )
    return client
