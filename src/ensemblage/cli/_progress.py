"""How far a command is, and how long the rest will take: a bar on a screen, lines elsewhere."""
# ruff: noqa: PLC0415  what is large is imported inside, so that --help answers at once

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ensemblage.cli._console import begin_work, console, interrupts, say
from ensemblage.messages import count

if TYPE_CHECKING:
    from rich.progress import Progress

# How often a program that reads standard error hears of progress.
LINE_SECONDS = 10.0


class Pace:
    """Tells how far work is, and how long the rest is expected to take."""

    def __init__(self, *, compiles: bool = False) -> None:
        self._compiles = compiles
        self._begun: tuple[float, int] | None = None
        self._ends: float | None = None

    @property
    def is_new(self) -> bool:
        """Whether the work has not begun."""
        return self._begun is None

    def begin(self, done: int) -> None:
        """Start the clock; steps that were done before say nothing about the pace."""
        self._begun = time.time(), done

    def expect(self, seconds: float | None) -> None:
        """Note how long the rest will take; None while that is not known."""
        self._ends = None if seconds is None else time.monotonic() + seconds

    def words(self, done: int) -> str:
        """Say what to expect, such as "about 4 min left"; nothing rather than nonsense."""
        left = 0.0 if self._ends is None else self._ends - time.monotonic()
        if left > 0:
            return f"about {in_words(left)} left"
        return "compiling, once per machine" if self._is_compiling(done) else ""

    def line(self, done: int, total: int) -> str:
        """Tell how far it is, such as "3 of 10, about 4 min left"."""
        return ", ".join(filter(None, (f"{done} of {total}", self.words(done))))

    def _is_compiling(self, done: int) -> bool:
        """Whether nothing is done yet because kernels are compiled, here or in a worker."""
        if not self._compiles or self._begun is None or done > self._begun[1]:
            return False
        from ensemblage.kernels import seem_compiling

        return seem_compiling(self._begun[0])


def in_words(seconds: float) -> str:
    """Write a time as a person would: "50 s", "4 min" or "2 h 10 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


class Advance:
    """Moves a bar on: ``advance(done, total)``; ``expect`` says how long the rest will take."""

    def __init__(self, bar: Progress, task: str, pace: Pace, results: Path | None) -> None:
        self._bar, self._number = bar, bar.add_task(task, total=None)
        self._pace, self._results = pace, results
        self.expect = pace.expect

    def __call__(self, done: int, total: int) -> None:
        if interrupts:
            raise KeyboardInterrupt
        if self._pace.is_new:
            self._pace.begin(done)
            if done and self._results is not None:
                found = f"{done} of {count(total, 'cell')} found in {self._results}."
                self._bar.console.print(found, markup=False, soft_wrap=True)
        self._bar.update(self._number, completed=done, total=total)


@contextmanager
def progress_bar(
    task: str, *, results: Path | None = None, compiles: bool = False
) -> Iterator[Advance]:
    """Show a bar with the time left on standard error, or lines if that is no screen.

    What it yields is to be called as ``advance(done, total)``; what is done at the first call was
    found in the file of results. ``compiles`` tells whether compiled kernels are used.
    """
    from rich import progress

    begin_work()

    class Expected(progress.ProgressColumn):
        """What to expect, as of now."""

        def render(self, task: progress.Task) -> str:
            return pace.words(int(task.completed))

    err, pace = console(stderr=True), Pace(compiles=compiles)
    columns = (
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        Expected(),
    )
    bar = progress.Progress(*columns, console=err, transient=True)
    with bar if err.is_terminal else _lines_now_and_then(bar, pace):
        yield Advance(bar, task, pace, results)


@contextmanager
def late_bar(task: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar from the first call on, with the time left by the pace so far; none without."""
    bars: list[Advance] = []

    with ExitStack() as stack:

        def advance(done: int, total: int) -> None:
            if not bars:
                bars.append(stack.enter_context(progress_bar(task)))
            elif done:
                bars[0].expect((time.monotonic() - started) * (total - done) / done)
            bars[0](done, total)

        started = time.monotonic()
        yield advance


@contextmanager
def _lines_now_and_then(bar: Progress, pace: Pace) -> Iterator[None]:
    """Write how far a bar is, every ten seconds: a long fit is then no silence."""
    finished = threading.Event()

    def write() -> None:
        while not finished.wait(LINE_SECONDS):
            for task in bar.tasks:
                far = pace.line(int(task.completed), int(task.total)) if task.total else "at work"
                say(f"{task.description}: {far}", stderr=True)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield
    finally:
        finished.set()
        writer.join()
