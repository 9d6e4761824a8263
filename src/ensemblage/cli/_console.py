"""Output, progress and exit codes."""

# ruff: noqa: PLC0415  what is large is imported inside, so that --help answers at once

from __future__ import annotations

import csv
import functools
import gc
import io
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from rich.console import Console

from ensemblage._core import count, no_formula, visible

if TYPE_CHECKING:
    from rich.progress import Progress

    from ensemblage._core import TableBlock
    from ensemblage.datasets import DataSummary


Command = TypeVar("Command", bound=Callable[..., None])

# Width of tables that do not go to a terminal, in characters.
PIPE_WIDTH = 160
# Other programs read a hyphen as a minus or as a missing value.
PLAIN_MARKS = str.maketrans("\N{EN DASH}\N{MINUS SIGN}", "--")
# By name: importing them would import scikit-learn, slow for --help.
USAGE_ERRORS = frozenset({"ExperimentFileError", "TargetNotGivenError", "UnknownMethodError"})
# Messages of the library name parameters and functions; commands show options instead.
# Parameters whose option has another name:
IN_COMMANDS = {
    "source_column": "--source",
    "n_clusters": "--clusters",
    "methods": "--method",
    "n_repeats": "--repeats",
    "n_splits": "--folds",
    "draw": "--rows",
    "decimal": "--read decimal=MARK",
    "dates": "--read dates=ORDER",
    "encoding": "--read encoding=NAME",
    "sheet": "--read sheet=NAME",
    "list_datasets()": "`ensemblage datasets`",
    "save()": "`ensemblage fit`",
}
# Parameters whose option has the same name:
SAME_NAMES = {
    "target",
    "new_sources",
    "quick",
    "measure",
    "task",
    "row",
    "data_dir",
    "drop",
    "method",
}

# Seconds between lines of progress where standard error is not a terminal.
LINE_SECONDS = 10.0
COMPILING = "compiling kernels (once per machine)"

interrupts: list[int] = []


def console(*, stderr: bool = False) -> Console:
    """Console of the current standard output or error; outside a terminal lines are not wrapped."""
    made = Console(stderr=stderr, highlight=False)
    return made if made.is_terminal else Console(stderr=stderr, highlight=False, width=PIPE_WIDTH)


def say(text: str, *, stderr: bool = False, style: str | None = None) -> None:
    """Print a line of plain text, wrapped in a terminal; without rich's markup."""
    from ensemblage._core import fold_sentence

    out = console(stderr=stderr)
    shown = fold_sentence(text, out.width if out.is_terminal else None)
    out.print(visible(shown), style=style, markup=False, soft_wrap=True)


def note(text: str) -> None:
    """Print a note on standard error."""
    say(f"Note: {as_command(text)}", stderr=True, style="yellow")


def as_command(text: str) -> str:
    """Replace names of parameters in a message of the library by options."""

    def option(match: re.Match[str]) -> str:
        name = match[1]
        own = f"--{name.replace('_', '-')}" if name in SAME_NAMES else match[0]
        return IN_COMMANDS.get(name, own)

    return re.sub(r"`([\w()]+)`", option, text)


def shortened(text: str, width: int = 160) -> str:
    """Truncate a long text."""
    return text if len(text) <= width else f"{text[:width]}…"


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Write a table as CSV; None is an empty field, and formulas are escaped."""
    buffer = io.StringIO()
    lines = ([no_formula(field) for field in row] for row in [header, *rows])
    csv.writer(buffer, lineterminator="\n").writerows(lines)
    return buffer.getvalue()


def show_json(document: Any) -> None:
    """Print a document as JSON on standard output; NaN is null."""
    import msgspec

    typer.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


def show_reason(card: DataSummary) -> None:
    """Print how the task was inferred from a numeric target."""
    if card.has_numeric_target:
        say(f"  {as_command(card.task_reason)}")


def show_table(columns: Iterable[tuple[str, str]], rows: Iterable[list[str]]) -> None:
    """Print a table on standard output; columns have a heading and "left" or "right"."""
    from ensemblage._core import Field, Heading, TableBlock

    heads = [Heading(heading, numeric=side == "right") for heading, side in columns]
    show_block(TableBlock(heads, [[Field(text) for text in row] for row in rows], ""))


def show_block(table: TableBlock) -> None:
    """Print a table on standard output, wrapped or transposed to fit the width."""
    from ensemblage._core import text_table

    out = console()
    text = text_table(table, out.width).translate(PLAIN_MARKS)
    for part in text.split("\n\n"):
        head, rule, body = part.partition("\n─")
        if rule:
            out.print(f"\n{visible(head)}", style="bold", markup=False, soft_wrap=True)
            out.print(f"─{visible(body)}", markup=False, soft_wrap=True)
        else:
            out.print(f"\n{visible(part)}", markup=False, soft_wrap=True)
    out.print()


def begin_work() -> None:
    """Enable garbage collection, without scanning what has been imported."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def check_data(data: str | None) -> None:
    """Refuse a missing file, before large imports."""
    from ensemblage.datasets import check_file, names_file

    if data is not None and data != "-" and names_file(data):
        check_file(data)


def check_outputs(output: Path | None, report: Path | None = None) -> None:
    """Refuse files that cannot be written, before any work is done."""
    if output is not None or report is not None:
        from ensemblage.persistence import check_writable

        for path in (output, report):
            if path is not None:
                check_writable(path)
    if report is not None:
        from ensemblage.report import check_installed

        check_installed()


def write_page(path: Path, result: Any) -> None:
    """Write the HTML report of a result."""
    from ensemblage.persistence import write_atomically
    from ensemblage.report import render

    write_atomically(path, render(result))
    say(f"Report written to {path}.", stderr=True)


def data_name(data: str) -> str:
    """File name of the data, without its folder."""
    return "standard input" if data == "-" else Path(data).name


def guarded(command: Command) -> Command:
    """Print errors as one sentence on standard error, and set the exit code.

    The command has a parameter ``debug``. It exits with 1 for a failure, 2 for wrong usage, 130
    when interrupted.
    """

    @functools.wraps(command)
    def guard(*args: Any, **options: Any) -> None:
        try:
            with _interrupts_remembered():
                command(*args, **options)
        except KeyboardInterrupt as stop:
            say(str(stop) or "Interrupted; nothing was written.", stderr=True)
            raise typer.Exit(130) from None
        except BrokenPipeError:
            raise
        except (ValueError, OSError, ImportError, MemoryError) as error:
            if options.get("debug"):
                raise
            say(f"Error: {_sentence(error)}", stderr=True, style="red")
            raise typer.Exit(_exit_code(error)) from None
        except RuntimeError as error:
            if options.get("debug") or isinstance(error, typer.Exit | typer.Abort):
                raise
            say(f"Error: {_sentence(error)} Use --debug for a traceback.", stderr=True, style="red")
            raise typer.Exit(1) from None

    return guard  # type: ignore[return-value]


@contextmanager
def _interrupts_remembered() -> Iterator[None]:
    """Record a Ctrl-C: compiled code may swallow the exception; the progress bar checks again."""

    def remember(number: int, frame: Any) -> None:
        interrupts.append(number)
        signal.default_int_handler(number, frame)

    interrupts.clear()
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not usual or threading.current_thread() is not threading.main_thread():
        yield
        return
    shown = sys.unraisablehook

    def show(ignored: Any) -> None:
        """Hide a Ctrl-C raised while an object was freed: it is recorded."""
        if not issubclass(ignored.exc_type, KeyboardInterrupt):
            shown(ignored)

    signal.signal(signal.SIGINT, remember)
    sys.unraisablehook = show
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = shown


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{where}."
    text = as_command(" ".join(str(error).split()))
    return text or f"{type(error).__name__}."


def _exit_code(error: Exception) -> int:
    return 2 if type(error).__name__ in USAGE_ERRORS else 1


def format_duration(seconds: float) -> str:
    """Format seconds as "50 s", "4 min" or "2 h 10 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


class Advance:
    """Advances a progress bar: ``advance(done, total)``; ``expect`` sets the expected cost."""

    def __init__(self, bar: Progress, task: str, results: Path | None, *, compiles: bool) -> None:
        self._bar, self._task, self._results = bar, bar.add_task(task, total=None, far=""), results
        self._begun, self._waits = time.time(), compiles
        self._cost: tuple[float, float] | None = None
        self._first: int | None = None

    def expect(self, spent: float, whole: float) -> None:
        """Set the expected cost of finished and of all work, for the estimate of the time left."""
        self._cost = spent, whole

    def __call__(self, done: int, total: int) -> None:
        if interrupts:
            raise KeyboardInterrupt
        if self._first is None:
            self._first = done
            if done and self._results is not None:
                found = f"Resuming: {done} of {count(total, 'cell')} stored in {self._results}."
                self._bar.console.print(found, markup=False, soft_wrap=True)
        self._waits = self._waits and done == self._first
        spent, whole = self._cost or (done, total)
        self._bar.update(self._task, completed=spent, total=whole, far=f"{done} of {total}")

    def is_compiling(self) -> bool:
        """Whether kernels are being compiled, here or in a worker, before the first result."""
        if not self._waits or self._first is None:
            return False
        from ensemblage._core import seem_compiling

        return seem_compiling(self._begun)


@contextmanager
def progress_bar(
    task: str, *, results: Path | None = None, compiles: bool = False
) -> Iterator[Advance]:
    """Show a progress bar on standard error, or lines if that is not a terminal.

    Call the yielded object as ``advance(done, total)``; what is done at the first call was stored
    in the results file. ``compiles``: whether compiled kernels are used.
    """
    from rich import progress
    from rich.text import Text

    begin_work()

    class TimeLeft(progress.TimeRemainingColumn):
        """Estimate of the time left."""

        def render(self, task: progress.Task) -> Text:
            return Text(COMPILING) if advance.is_compiling() else super().render(task)

    columns = (
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TextColumn("{task.fields[far]}"),
        progress.TimeElapsedColumn(),
        TimeLeft(),
    )
    err = console(stderr=True)
    # a single fit may take longer than rich's 30 seconds of history
    bar = progress.Progress(*columns, console=err, transient=True, speed_estimate_period=inf)
    advance = Advance(bar, task, results, compiles=compiles)
    with bar if err.is_terminal else _progress_lines(bar, advance):
        yield advance


@contextmanager
def late_bar(task: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar from the first call on."""
    bars: list[Advance] = []

    with ExitStack() as stack:

        def advance(done: int, total: int) -> None:
            if not bars:
                bars.append(stack.enter_context(progress_bar(task)))
            bars[0](done, total)

        yield advance


@contextmanager
def _progress_lines(bar: Progress, advance: Advance) -> Iterator[None]:
    """Print the progress every ten seconds."""
    finished = threading.Event()

    def write() -> None:
        while not finished.wait(LINE_SECONDS):
            for task in bar.tasks:
                left = task.time_remaining
                hint = COMPILING if advance.is_compiling() else ""
                hint = f"about {format_duration(left)} left" if left else hint
                far = ", ".join(filter(None, (task.fields["far"], hint))) or "running"
                say(f"{task.description}: {far}", stderr=True)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield
    finally:
        finished.set()
        writer.join()
