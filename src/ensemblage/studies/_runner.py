"""Cells computed, stored and resumed."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from joblib import cpu_count
from threadpoolctl import threadpool_limits

from ensemblage._core import hold_signals, set_module
from ensemblage.studies._experiment import Cell, CellResult, Experiment, plain_values
from ensemblage.studies._store import ResultStore
from ensemblage.studies._workers import ClusterPool, LocalPool, stream_tasks

# Characters of an error message that are stored.
MAX_ERROR_LENGTH = 2000
# Seconds that the first cell may wait for kernels to be compiled on a new machine.
COMPILING_SECONDS = 20.0
# Seconds to start a worker: importing scikit-learn, loading compiled kernels.
START_SECONDS = 5.0

Task = TypeVar("Task")


def n_workers(n_jobs: int | None) -> int:
    """Return the number of processes of joblib's ``n_jobs``: None is 1, -1 is one per core."""
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; use 1 or more, or -1 for one per core.")
    jobs = n_jobs or 1
    return jobs if jobs > 0 else max(1, cpu_count() + 1 + jobs)


def worth_workers(seconds: float, n_jobs: int | None) -> bool:
    """Whether work of so many seconds is faster in new worker processes."""
    return START_SECONDS + seconds / n_workers(n_jobs) < seconds


class Deadline:
    """Yields tasks while one more is expected to end in time, by the mean duration so far."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds
        self._seconds = 0.0
        self._done = 0

    def add(self, seconds: float) -> None:
        """Record the duration of a finished task."""
        self._seconds += seconds
        self._done += 1

    def in_time(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """Yield tasks until the time is up."""
        for task in tasks:
            typical = self._seconds / max(1, self._done)
            if self._end is not None and time.monotonic() + typical >= self._end:
                return
            yield task


@set_module("ensemblage.studies")
class ExperimentInterrupt(KeyboardInterrupt):
    """Ctrl-C during a run; finished cells are stored."""


def run_study(
    experiment: Experiment,
    store: ResultStore | None = None,
    *,
    n_jobs: int | None = None,
    budget: float | None = None,
    scheduler: str | None = None,
    progress: Callable[[int, int], Any] | None = None,
    retry_failed: bool = False,
    small: bool = False,
) -> list[CellResult]:
    """Compute the cells that are not in the store.

    Parameters
    ----------
    experiment : Experiment
        The cells to compute.
    store : ResultStore, default=None
        Stores results, one commit per cell; None does not store them.
    n_jobs : int, default=None
        Worker processes; None is 1, -1 one per core. The values are the same for any number. One
        process without a store is this process.
    budget : float, default=None
        Seconds after which no new cell is started, nor before if it would probably end later,
        judging by the mean so far. Cells that are running then are finished.
    scheduler : str, default=None
        Address of a Dask scheduler whose workers compute instead of local ones.
    progress : callable, default=None
        Called as ``progress(done, total)`` at the start and after each cell is stored. If it has
        a method ``expect``, that is called first, with the expected cost of the finished cells and
        of all cells to compute.
    retry_failed : bool, default=False
        Whether to compute cells again that failed in an earlier run.
    small : bool, default=False
        Whether cells may be faster than starting workers: without a store, this process then
        computes as long as that is so.

    Returns
    -------
    list of CellResult
        The results of the experiment's cells, in their order; failed ones have an error.

    Examples
    --------
    >>> from ensemblage.studies import Experiment, Cell, run_study
    >>> def square(cell, data_dir):
    ...     return {"square": cell.params["x"] ** 2}
    >>> cells = [Cell("squares", {"x": x}) for x in range(4)]
    >>> experiment = Experiment("squares", "Squares", cells, square, summarise=list)
    >>> [result.values["square"] for result in run_study(experiment)]
    [0, 1, 4, 9]
    """
    if budget is not None and not budget > 0:
        raise ValueError(f"budget must be more than 0 seconds, got {budget}.")
    cells = {cell.key: cell for cell in experiment.cells}
    found = {} if store is None else store.get(cells)
    known = {key: replace(result, cell=cells[key]) for key, result in found.items()}
    waiting = [
        cell
        for key, cell in cells.items()
        if key not in known or (retry_failed and known[key].error)
    ]
    report, done = _reporter(progress, experiment, waiting, len(cells)), len(cells) - len(waiting)
    report(done)
    if waiting:
        deadline = Deadline(budget)
        if store is None and scheduler is None and (small or n_jobs in {None, 1}):
            computed = _compute_here_first(experiment, waiting, deadline, n_jobs)
        else:
            computed = _compute_in_workers(experiment, waiting, deadline, n_jobs, scheduler)
        # closing ends the workers if the store is full
        explained = interrupts_explained(store, lambda: f"{done} of {len(cells)} cells")
        with closing(computed), explained:
            for result in computed:
                if store is not None:
                    store.put(result)
                known[result.cell.key] = result
                done += 1
                report(done, result.cell)
    return [known[cell.key] for cell in experiment.cells if cell.key in known]


def _reporter(
    progress: Any, experiment: Experiment, waiting: Sequence[Cell], total: int
) -> Callable[..., None]:
    """Return a function that reports progress, in cells and in their expected cost."""
    costs = {each.key: experiment.cost(each.params) if experiment.cost else 1.0 for each in waiting}
    left = dict(costs)

    def report(done: int, cell: Cell | None = None) -> None:
        if cell is not None:
            del left[cell.key]
        if hasattr(progress, "expect"):
            whole = sum(costs.values())
            progress.expect(whole - sum(left.values()), whole)
        if progress is not None:
            progress(done, total)

    return report


@contextmanager
def interrupts_explained(store: ResultStore | None, far: Callable[[], str]) -> Iterator[None]:
    """After an interrupt, state how much is stored; without a store, raise it unchanged."""
    try:
        yield
    except KeyboardInterrupt:
        if store is None:
            raise
        raise ExperimentInterrupt(
            f"Interrupted after {far()}; run the same command again to resume."
        ) from None


def compute_cell(
    compute: Callable[[Cell, str | None], Any], cell: Cell, data_dir: str | None
) -> CellResult:
    """Compute a cell on one thread, so that sums have the same order everywhere."""
    with threadpool_limits(limits=1), recorded_warnings():
        start = time.perf_counter()
        try:
            values, error = plain_values(compute(cell, data_dir)), ""
        except Exception as failure:
            values, error = {}, _text(failure)
        return CellResult(cell, values, time.perf_counter() - start, error)


@contextmanager
def recorded_warnings() -> Iterator[list[str]]:
    """Collect warnings, without those for developers; the list is filled at the end."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for category in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", category)
        yield texts
    texts.extend(" ".join(str(each.message).split()) for each in caught)


def _compute_here_first(
    experiment: Experiment, cells: Sequence[Cell], deadline: Deadline, n_jobs: int | None
) -> Generator[CellResult, None, None]:
    """Compute in this process while workers would not be faster, by the mean duration so far."""
    spent: list[float] = []
    for done, cell in enumerate(deadline.in_time(cells), 1):
        start = time.process_time()  # CPU time: other load slows workers too
        result = compute_cell(experiment.compute, cell, experiment.data_dir)
        deadline.add(result.seconds)
        spent.append(time.process_time() - start)
        yield result
        # the first cell may compile kernels
        mean = sum(spent[1:]) / (done - 1) if done > 1 else max(0.0, spent[0] - COMPILING_SECONDS)
        if worth_workers(mean * (len(cells) - done), n_jobs):
            yield from _compute_in_workers(experiment, cells[done:], deadline, n_jobs, None)
            return


def _compute_in_workers(
    experiment: Experiment,
    cells: Sequence[Cell],
    deadline: Deadline,
    n_jobs: int | None,
    scheduler: str | None,
) -> Generator[CellResult, None, None]:
    kill = True
    with hold_signals() as interrupted:
        pool = LocalPool(n_workers(n_jobs)) if scheduler is None else ClusterPool(scheduler)
        try:
            tasks = ((experiment.compute, cell, experiment.data_dir) for cell in cells)
            in_time = deadline.in_time(tasks)
            outcomes = stream_tasks(compute_cell, in_time, pool, stopped=interrupted)
            for number, found, died in outcomes:
                result = found if died is None else CellResult(cells[number], {}, 0.0, _text(died))
                deadline.add(result.seconds)
                yield replace(result, cell=cells[number])  # the worker returned a copy of the cell
            kill = interrupted()
        finally:
            pool.close(kill=kill)


def _text(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:MAX_ERROR_LENGTH]
