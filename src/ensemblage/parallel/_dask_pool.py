"""The one door to a Dask cluster: calls run there as they would in local workers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from joblib import parallel_config

from ensemblage.messages import require

CONNECT_SECONDS = 15
# How long to believe the number of workers, in seconds.
COUNT_SECONDS = 2.0


class ClusterPool:
    """The workers of a Dask scheduler.

    A worker that dies is Dask's business: it runs the call again elsewhere, three times at most.

    Parameters
    ----------
    scheduler : str
        The address, as in ``tcp://host:8786``.
    """

    def __init__(self, scheduler: str) -> None:
        self._client = _connect(scheduler)
        self._executor = self._client.get_executor(pure=False)
        self._threads, self._counted = 1, float("-inf")

    @property
    def width(self) -> int:  # numpydoc ignore=RT01
        """Threads of all workers that are there at the moment."""
        if time.monotonic() - self._counted > COUNT_SECONDS:
            self._threads = max(1, sum(self._client.nthreads().values()))
            self._counted = time.monotonic()
        return self._threads

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """Start a call.

        Parameters
        ----------
        call : callable
            Without arguments, so that Dask looks for nothing of its own in them.

        Returns
        -------
        Future
            Its result to come.
        """
        future: Future[Any] = self._executor.submit(call)
        return future

    def restart(self) -> None:
        """Do nothing: Dask replaces its workers."""

    def close(self, *, kill: bool = False) -> None:
        """Leave the cluster.

        Parameters
        ----------
        kill : bool, default=False
            Whether to cancel what is running.
        """
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
