"""Cells computed, stored and resumed."""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from ensemblage._core import set_module
from ensemblage.studies._experiment import Cell, CellResult, Experiment, Plain, TimeLeft, usual_cost
from ensemblage.studies._store import ResultStore, plain_values
from ensemblage.studies._workers import (
    ClusterPool,
    Deadline,
    LocalPool,
    n_workers,
    stream_tasks,
    worth_workers,
)

LONGEST_ERROR = 2000

COMPILING_SECONDS = 20.0
"""At most so long a first cell waits for compiled kernels, on a new machine."""


@set_module("ensemblage.studies")
class ExperimentInterrupt(KeyboardInterrupt):
    """Ctrl-C during a run; all that was finished is stored."""


def run_experiment(
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
    """Compute the cells that the store does not have yet.

    Parameters
    ----------
    experiment : Experiment
        What to compute.
    store : ResultStore, default=None
        Where results are kept, a commit per cell; None keeps them nowhere.
    n_jobs : int, default=None
        Worker processes; None is 1, -1 one per core. The values are the same for any number. A
        single one without a store is this process: a crash has nothing to lose.
    budget : float, default=None
        Seconds after which no new cell is started, nor before if it would probably end later,
        judging by the mean so far. Cells that are running by then are finished.
    scheduler : str, default=None
        Address of a Dask scheduler whose workers compute instead of local ones.
    progress : callable, default=None
        Called as ``progress(done, total)`` at the start and after each cell is stored. If it has
        a method ``expect``, that is called first with the seconds left, None while too little is
        known.
    retry_failed : bool, default=False
        Whether to compute cells again that failed in an earlier run.
    small : bool, default=False
        Whether the cells may be done before workers are even started: without a store, this
        process then computes as long as that seems to be so.

    Returns
    -------
    list of CellResult
        What there is of the experiment's cells, in their order, failed ones with their error.

    Examples
    --------
    >>> from ensemblage.studies import Experiment, Cell, run_experiment
    >>> def square(cell, data_dir):
    ...     return {"square": cell.params["x"] ** 2}
    >>> cells = [Cell("squares", {"x": x}) for x in range(4)]
    >>> experiment = Experiment("squares", "Squares", cells, square, summarise=list)
    >>> [result.values["square"] for result in run_experiment(experiment)]
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
    done = len(cells) - len(waiting)
    cost = experiment.cost or usual_cost
    costs = {cell.key: cost(cell.params) for cell in waiting}
    width = n_workers(n_jobs) if scheduler is None else None
    told = _Told(progress, TimeLeft(costs, width, time.monotonic))
    told(done, len(cells))
    if waiting:
        work = Work(experiment, waiting, Deadline(budget))
        if store is None and scheduler is None and (small or n_jobs in {None, 1}):
            computed = _compute_here_first(work, n_jobs)
        else:
            computed = _compute_in_workers(work, n_jobs, scheduler)
        with (
            closing(computed),
            _told_how_to_go_on(store, lambda: f"{done} of {len(cells)}"),
        ):  # ends the workers if the store is full
            for result in computed:
                if store is not None:
                    store.put(result)
                known[result.cell.key] = result
                done += 1
                told(done, len(cells), result)
    return [known[cell.key] for cell in experiment.cells if cell.key in known]


class _Told(NamedTuple):
    """Whom to tell how far a run is, and what is expected of the rest."""

    progress: Callable[[int, int], Any] | None
    time_left: TimeLeft

    def __call__(self, done: int, total: int, result: CellResult | None = None) -> None:
        if result is not None:
            self.time_left.add(result.cell.key, result.seconds)
        if self.progress is None:
            return
        expect = getattr(self.progress, "expect", None)
        if expect is not None:
            expect(self.time_left.left())
        self.progress(done, total)


class Computed(NamedTuple):
    """What came of a cell: plain values, none if it failed; seconds; an error's type and text."""

    values: dict[str, Plain]
    seconds: float
    error: str


def compute_cell(
    compute: Callable[[Cell, str | None], Any], cell: Cell, data_dir: str | None
) -> Computed:
    """Compute a cell, usually in a worker, on one thread: sums have one order everywhere."""
    with threadpool_limits(limits=1), recorded_warnings():
        start = time.perf_counter()
        try:
            values, error = plain_values(compute(cell, data_dir)), ""
        except Exception as failure:
            values, error = {}, _error_text(failure)
        return Computed(values, time.perf_counter() - start, error)


@contextmanager
def recorded_warnings() -> Iterator[list[str]]:
    """Collect what a fit warns of, but for what concerns developers only; filled at the end."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for category in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", category)
        yield texts
    texts.extend(" ".join(str(each.message).split()) for each in caught)


class Work(NamedTuple):
    """Cells of an experiment to be computed, in this order, as long as there is time."""

    experiment: Experiment
    cells: Sequence[Cell]
    deadline: Deadline


def _compute_here_first(work: Work, n_jobs: int | None) -> Generator[CellResult, None, None]:
    """Compute in this process as long as workers, judging by the mean so far, are not worth it."""
    experiment, cells, deadline = work
    spent: list[float] = []
    for done, cell in enumerate(deadline.in_time(cells), 1):
        start = time.process_time()  # of the processor: other work slows workers too
        result = compute_cell(experiment.compute, cell, experiment.data_dir)
        deadline.add(result.seconds)
        spent.append(time.process_time() - start)
        yield CellResult(cell, *result)
        if worth_workers(_usual(spent) * (len(cells) - done), n_jobs):
            yield from _compute_in_workers(work._replace(cells=cells[done:]), n_jobs, None)
            return


def _usual(spent: Sequence[float]) -> float:
    """Mean of the seconds, without those of the first cell, in which kernels may be compiled."""
    if len(spent) == 1:
        return max(0.0, spent[0] - COMPILING_SECONDS)
    return sum(spent[1:]) / (len(spent) - 1)


def _compute_in_workers(
    work: Work, n_jobs: int | None, scheduler: str | None
) -> Generator[CellResult, None, None]:
    experiment, cells, deadline = work
    kill = True
    with _interrupts_noted() as interrupted:
        pool = LocalPool(n_jobs) if scheduler is None else ClusterPool(scheduler)
        try:
            tasks = ((experiment.compute, cell, experiment.data_dir) for cell in cells)
            in_time = deadline.in_time(tasks)
            for outcome in stream_tasks(compute_cell, in_time, pool, stopped=interrupted):
                died = outcome.error
                result = outcome.result if died is None else Computed({}, 0.0, _error_text(died))
                deadline.add(result.seconds)
                yield CellResult(cells[outcome.number], *result)
            kill = interrupted()
        finally:
            pool.close(kill=kill)
    if interrupted():
        raise KeyboardInterrupt


@contextmanager
def _told_how_to_go_on(store: ResultStore | None, far: Callable[[], str]) -> Iterator[None]:
    """Say after an interrupt what is stored; without a store nothing is, so nothing is said."""
    try:
        yield
    except KeyboardInterrupt:
        if store is None:
            raise
        raise ExperimentInterrupt(
            f"Stopped after {far()} cells; run the same command again to go on."
        ) from None


@contextmanager
def _interrupts_noted() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a question, so that what is finished can be stored in peace."""
    noted: list[int] = []

    def note(number: int, frame: Any) -> None:
        if noted:
            signal.default_int_handler(number, frame)
        noted.append(number)

    usual = signal.getsignal(signal.SIGINT)
    heard = usual not in {signal.SIG_IGN, None}
    if not heard or threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(noted)
    finally:
        signal.signal(signal.SIGINT, usual)


def _error_text(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:LONGEST_ERROR]
