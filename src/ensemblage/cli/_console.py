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

# In a pipe there is no screen to fit; a table must not be folded for one.
PIPE_WIDTH = 160
# A hyphen is what other programs read as a minus or as nothing.
PLAIN_MARKS = str.maketrans("\N{EN DASH}\N{MINUS SIGN}", "--")
# By name: importing them would import scikit-learn before --help can answer.
USAGE_ERRORS = frozenset({"ExperimentFileError", "TargetNotGivenError", "UnknownMethodError"})
# The library speaks of its parameters and functions, a command of its options and its like.
# `name` becomes --name but for these.
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

# How often a program that reads standard error hears of progress, in seconds.
LINE_SECONDS = 10.0
COMPILING = "compiling, once per machine"

interrupts: list[int] = []


def console(*, stderr: bool = False) -> Console:
    """Make a console for this moment's standard output or error; in a pipe it folds no lines."""
    made = Console(stderr=stderr, highlight=False)
    return made if made.is_terminal else Console(stderr=stderr, highlight=False, width=PIPE_WIDTH)


def say(text: str, *, stderr: bool = False, style: str | None = None) -> None:
    """Print a line of plain text, folded at blanks on a screen; brackets in it are brackets."""
    from ensemblage._core import fold_sentence

    out = console(stderr=stderr)
    shown = fold_sentence(text, out.width if out.is_terminal else None)
    out.print(visible(shown), style=style, markup=False, soft_wrap=True)


def note(text: str) -> None:
    """Print a note of one sentence on standard error."""
    say(f"Note: {as_command(text)}", stderr=True, style="yellow")


def as_command(text: str) -> str:
    """Put options in the place of the parameters that a message of the library names."""

    def option(match: re.Match[str]) -> str:
        name = match[1]
        own = f"--{name.replace('_', '-')}" if name in SAME_NAMES else match[0]
        return IN_COMMANDS.get(name, own)

    return re.sub(r"`([\w()]+)`", option, text)


def shortened(text: str, width: int = 160) -> str:
    """Cut a text that is too long for a line."""
    return text if len(text) <= width else f"{text[:width]}…"


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Write a table as CSV; None is an empty field, and no text is a spreadsheet's formula."""
    buffer = io.StringIO()
    lines = ([no_formula(field) for field in row] for row in [header, *rows])
    csv.writer(buffer, lineterminator="\n").writerows(lines)
    return buffer.getvalue()


def show_json(document: Any) -> None:
    """Print a document as JSON on standard output; what is no number is null."""
    import msgspec

    typer.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


def show_reason(card: DataSummary) -> None:
    """Say why numbers are predicted, or taken for classes; words leave no doubt."""
    if card.has_numeric_target:
        say(f"  {as_command(card.task_reason)}")


def show_table(columns: Iterable[tuple[str, str]], rows: Iterable[list[str]]) -> None:
    """Print a table on standard output; columns have a heading and "left" or "right"."""
    from ensemblage._core import Field, Heading, TableBlock

    heads = [Heading(heading, numeric=side == "right") for heading, side in columns]
    show_block(TableBlock(heads, [[Field(text) for text in row] for row in rows], ""))


def show_block(table: TableBlock) -> None:
    """Print a table on standard output, its headings bold; it is folded or turned to fit."""
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
    """Collect garbage from here on, but do not search what has been imported for it."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def check_data(data: str | None) -> None:
    """Refuse a file that is not there, before anything large is imported to read it."""
    from ensemblage.datasets import check_file, names_file

    if data is not None and data != "-" and names_file(data):
        check_file(data)


def check_outputs(output: Path | None, report: Path | None = None) -> None:
    """Refuse files that could not be written in the end, before any work is done for them."""
    if output is not None or report is not None:
        from ensemblage.persistence import check_writable

        for path in (output, report):
            if path is not None:
                check_writable(path)
    if report is not None:
        from ensemblage.report import check_installed

        check_installed()


def write_page(path: Path, result: Any) -> None:
    """Render a result, or a page of it, and write it."""
    from ensemblage.persistence import write_atomically
    from ensemblage.report import render

    write_atomically(path, render(result))
    say(f"Report written to {path}.", stderr=True)


def data_name(data: str) -> str:
    """Name data after their file, without its folder."""
    return "standard input" if data == "-" else Path(data).name


def guarded(command: Command) -> Command:
    """Turn errors into one sentence on standard error and an exit code.

    The command has a parameter ``debug``. It exits with 1 for a failure, 2 for wrong usage, 130
    when interrupted.
    """

    @functools.wraps(command)
    def guard(*args: Any, **options: Any) -> None:
        try:
            with _interrupts_remembered():
                command(*args, **options)
        except KeyboardInterrupt as stop:
            say(str(stop) or "Stopped; nothing was written.", stderr=True)
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
            say(f"Error: {_sentence(error)} --debug shows where.", stderr=True, style="red")
            raise typer.Exit(1) from None

    return guard  # type: ignore[return-value]


@contextmanager
def _interrupts_remembered() -> Iterator[None]:
    """Note down a Ctrl-C: compiled code below may swallow the exception, the bar asks again."""

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
        """Keep quiet of a Ctrl-C that came while an object was freed: it is remembered."""
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


def in_words(seconds: float) -> str:
    """Write a time as a person would: "50 s", "4 min" or "2 h 10 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


class Advance:
    """Moves a bar on: ``advance(done, total)``; ``expect`` gives the cost of what is done."""

    def __init__(self, bar: Progress, task: str, results: Path | None, *, compiles: bool) -> None:
        self._bar, self._task, self._results = bar, bar.add_task(task, total=None, far=""), results
        self._begun, self._waits = time.time(), compiles
        self._cost: tuple[float, float] | None = None
        self._first: int | None = None

    def expect(self, spent: float, whole: float) -> None:
        """Note the expected cost of what is done and of all, by which the time left is judged."""
        self._cost = spent, whole

    def __call__(self, done: int, total: int) -> None:
        if interrupts:
            raise KeyboardInterrupt
        if self._first is None:
            self._first = done
            if done and self._results is not None:
                found = f"{done} of {count(total, 'cell')} found in {self._results}."
                self._bar.console.print(found, markup=False, soft_wrap=True)
        self._waits = self._waits and done == self._first
        spent, whole = self._cost or (done, total)
        self._bar.update(self._task, completed=spent, total=whole, far=f"{done} of {total}")

    def is_compiling(self) -> bool:
        """Whether nothing is done yet because kernels are compiled, here or in a worker."""
        if not self._waits or self._first is None:
            return False
        from ensemblage._core import seem_compiling

        return seem_compiling(self._begun)


@contextmanager
def progress_bar(
    task: str, *, results: Path | None = None, compiles: bool = False
) -> Iterator[Advance]:
    """Show a bar with the time left on standard error, or lines if that is no screen.

    What it yields is to be called as ``advance(done, total)``; what is done at the first call was
    found in the file of results. ``compiles`` tells whether compiled kernels are used.
    """
    from rich import progress
    from rich.text import Text

    begin_work()

    class TimeLeft(progress.TimeRemainingColumn):
        """What to expect, as of now."""

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
    # a single fit may take longer than the 30 seconds over which rich looks back
    bar = progress.Progress(*columns, console=err, transient=True, speed_estimate_period=inf)
    advance = Advance(bar, task, results, compiles=compiles)
    with bar if err.is_terminal else _lines_now_and_then(bar, advance):
        yield advance


@contextmanager
def late_bar(task: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar from the first call on; none without."""
    bars: list[Advance] = []

    with ExitStack() as stack:

        def advance(done: int, total: int) -> None:
            if not bars:
                bars.append(stack.enter_context(progress_bar(task)))
            bars[0](done, total)

        yield advance


@contextmanager
def _lines_now_and_then(bar: Progress, advance: Advance) -> Iterator[None]:
    """Write how far a bar is, every ten seconds: a long fit is then no silence."""
    finished = threading.Event()

    def write() -> None:
        while not finished.wait(LINE_SECONDS):
            for task in bar.tasks:
                left = task.time_remaining
                hint = COMPILING if advance.is_compiling() else ""
                hint = f"about {in_words(left)} left" if left else hint
                far = ", ".join(filter(None, (task.fields["far"], hint))) or "at work"
                say(f"{task.description}: {far}", stderr=True)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield
    finally:
        finished.set()
        writer.join()
