"""Streams of tasks over local processes or a Dask cluster."""

from __future__ import annotations

import logging
import os
import threading
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

from ensemblage._core import MAX_RETRIES, block_sigint, require, set_module

logger = logging.getLogger("ensemblage")


# Sums have one order in every worker, whatever the number of workers.
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS",
    ),
    "1",
)  # fmt: skip
# How often to look whether to stop, in seconds.
LOOK_EVERY = 0.1
# A call is taken over within milliseconds; never, if the workers have died.
TAKE_OVER_SECONDS = 0.5
# Idle workers end after so many seconds.
IDLE_SECONDS = 300

Outcome: TypeAlias = tuple[int, Any, BaseException | None]
"""A task's number in the order of handing out, its result, and what kept it from one, if so."""


@set_module("ensemblage.studies")
class WorkerDiedError(RuntimeError):
    """Every worker that was given a task died of it."""


@set_module("ensemblage.studies")
class WorkerPool(Protocol):
    """Somewhere to run calls."""

    @property
    def width(self) -> int:
        """How many calls run at the same time."""

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """Start a call without arguments."""

    def restart(self) -> None:
        """Replace workers after one has died."""

    def close(self, *, kill: bool = False) -> None:
        """End the workers, in the middle of their work or after it."""


@set_module("ensemblage.studies")
class LocalPool:
    """Worker processes on this machine, with one thread each.

    One worker is a process of its own too, so that a crash in it is survived.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self._executor = self._start()

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """Start a call."""
        with block_sigint():
            future: Future[Any] = self._executor.submit(call)
            return future

    def restart(self) -> None:
        """Replace workers after one has died."""
        self.close(kill=True)
        self._executor = self._start()

    def close(self, *, kill: bool = False) -> None:
        """End the workers."""
        if kill:
            self._let_calls_be_taken_over()
        self._executor.shutdown(wait=True, kill_workers=kill)

    def _let_calls_be_taken_over(self) -> None:
        """Wait a moment for loky's own thread: ended between a call and its number, it fails."""
        waiting, end = self._executor._work_ids, time.monotonic() + TAKE_OVER_SECONDS  # noqa: SLF001
        while not waiting.empty() and time.monotonic() < end:
            time.sleep(0.005)

    def _start(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self.width, timeout=IDLE_SECONDS, env=ONE_THREAD,
            initializer=_watch_parent, initargs=(os.getpid(),),
        )  # fmt: skip


def stream_tasks(
    function: Callable[..., Any],
    tasks: Iterable[tuple[Any, ...]],
    pool: WorkerPool,
    *,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[Outcome]:
    """Call ``function(*task)`` for each task in workers; give each outcome as soon as it is there.

    The function is defined at module level, so that worker processes find it. Tasks are taken from
    the iterable only when a worker is free, so that the iterable can end early when time is up. If
    a worker dies, the tasks that were running are run again one at a time: then a task that kills
    its worker is found, and the others are not blamed for it. After three retries its outcome is a
    ``WorkerDiedError``. ``stopped`` is asked ten times a second; if true, what is finished is given
    and the rest is left. The pool is left open.
    """
    stream = _Stream(function, tasks, pool)
    stream.hand_out()
    while stream.running:
        outcomes = stream.collect()
        if not stopped():
            # before the outcomes are looked at, so that no worker waits for that
            stream.hand_out()
        yield from outcomes
        if stopped():
            yield from stream.finished()
            return


class _Stream:
    """Which tasks wait, run, or ran while a worker died."""

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
            # alone, so that the next death has one possible cause
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
        """Wait a moment; give what came in."""
        wait(self.running, timeout=LOOK_EVERY, return_when=FIRST_COMPLETED)
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
                "The connection to the workers was lost. What was finished before is kept."
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
        logger.warning("A worker process died; %d tasks are run again.", len(self._suspects))
        return given_up


def _is_broken(future: Future[Any]) -> bool:
    return (
        future.done()
        and not future.cancelled()
        and isinstance(future.exception(), BrokenProcessPool)
    )


def _watch_parent(parent: int) -> None:
    """End this worker soon after its parent was killed; otherwise it would stay for ever."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    if os.name == "posix" and os.getppid() == parent:
        threading.Thread(target=watch, daemon=True).start()


CONNECT_SECONDS = 15
# How long to believe the number of workers, in seconds.
COUNT_SECONDS = 2.0


@set_module("ensemblage.studies")
class ClusterPool:
    """The workers of a Dask scheduler.

    A worker that dies is Dask's business: it runs the call again elsewhere, three times at most.
    """

    def __init__(self, scheduler: str) -> None:
        self._client = _connect(scheduler)
        self._executor = self._client.get_executor(pure=False)
        self._threads, self._counted = 1, float("-inf")

    @property
    def width(self) -> int:
        """Threads of all workers that are there at the moment."""
        if time.monotonic() - self._counted > COUNT_SECONDS:
            self._threads = max(1, sum(self._client.nthreads().values()))
            self._counted = time.monotonic()
        return self._threads

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """Start a call, without arguments, so that Dask looks for nothing of its own in them."""
        future: Future[Any] = self._executor.submit(call)
        return future

    def restart(self) -> None:
        """Do nothing: Dask replaces its workers."""

    def close(self, *, kill: bool = False) -> None:
        """Leave the cluster; ``kill`` cancels what is running."""
        self._executor.shutdown(wait=not kill)
        self._client.close()


@contextmanager
def members_on(scheduler: str | None) -> Iterator[None]:
    """Let members and folds be fitted by the workers of a Dask scheduler; None changes nothing."""
    if scheduler is None:
        yield
        return
    _connect(scheduler).close()  # says what is wrong before work starts
    with parallel_config("dask", scheduler_host=scheduler, n_jobs=-1):
        yield


@contextmanager
def rows_on(scheduler: str | None) -> Iterator[None]:
    """Let rows of Dask collections be held by a scheduler's workers; None changes nothing."""
    if scheduler is None:
        yield
        return
    with _connect(scheduler) as client, client.as_current():
        yield


def _connect(scheduler: str) -> Any:
    distributed = require("distributed", "Running on a cluster", extra="dask")
    kind, _, place = scheduler.partition("://")
    if not place or (kind in {"tcp", "tls"} and ":" not in place):
        raise ValueError(f"The scheduler {scheduler!r} is no address such as tcp://host:8786.")
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
