"""Output, progress and exit codes."""

# ruff: noqa: PLC0415  what is large is imported inside, so that --help answers at once

from __future__ import annotations

import csv
import errno
import functools
import gc
import io
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import typer
from rich.console import Console

from ensemblage._core import count, no_formula, visible
from ensemblage.cli import STOP_SIGNALS, exit_at_once, exit_at_second, interrupted_by

if TYPE_CHECKING:
    from rich.progress import Progress

    from ensemblage._core import TableBlock
    from ensemblage.datasets import DataSummary
    from ensemblage.persistence import Kind, SavedModel


Command = TypeVar("Command", bound=Callable[..., None])

# Width of tables that do not go to a terminal, in characters.
PIPE_WIDTH = 160
# Other programs read a hyphen as a minus or as a missing value.
PLAIN_MARKS = str.maketrans("\N{EN DASH}\N{MINUS SIGN}", "--")
# By name: importing them would import scikit-learn, slow for --help.
USAGE_ERRORS = frozenset(
    {"ExperimentFileError", "OutputError", "TargetNotGivenError", "UnknownMethodError"}
)
# Messages of the library name parameters and functions; commands show options instead.
# Parameters whose option has another name:
IN_COMMANDS = {
    "source_column": "--source",
    "n_clusters": "--clusters",
    "methods": "--method",
    "n_repeats": "--repeats",
    "n_splits": "--folds",
    "draw": "--rows",
    "time_budget": "--budget",
    "decimal": "--read decimal=MARK",
    "dates": "--read dates=ORDER",
    "encoding": "--read encoding=NAME",
    "sheet": "--read sheet=NAME",
    "adapt()": "`ensemblage adapt MODEL DATA`",
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
    "source",
    "data_dir",
    "drop",
    "method",
    "raw",
    "time",
    "train",
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
    # a full standard error must not cost the result
    with suppress(*([OSError] if stderr else [])):
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


class ClosedOutput(io.TextIOBase):
    """A closed standard output, on which printing is an error."""

    def write(self, _text: str) -> int:
        raise OSError(
            errno.EBADF, "Standard output is closed: redirect it to a file or to /dev/null"
        )


@contextmanager
def standard_streams() -> Iterator[None]:
    """Exit with 1 and a sentence if standard output is closed or full, in any command."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # otherwise the next file to be opened becomes this stream
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    try:
        yield
    except OSError as error:  # of --help and --version
        if "--debug" in sys.argv:
            raise
        say(f"Error: {_sentence(error)}", stderr=True, style="red")
        raise SystemExit(1) from None
    except SystemExit as stop:
        if _forget_full(sys.stdout) and not stop.code:
            raise SystemExit(1) from None
        raise
    finally:
        _forget_full(sys.stdout)
        _forget_full(sys.stderr)


def _forget_full(stream: Any) -> bool:
    """Drop what a full stream could not write, so that Python's exit does not fail again."""
    try:
        if stream is not None:
            stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return True
    return False


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


def load_model(path: Path) -> SavedModel:
    """Load a model, with notes in place of warnings."""
    from ensemblage.persistence import load
    from ensemblage.studies import recorded_warnings

    with recorded_warnings() as texts:
        saved = load(path)
    for text in texts:
        note(text)
    return saved


class OutputError(ValueError):
    """An output would replace an input, another output, or a file of another kind."""


class Output(NamedTuple):
    """A file to write, with its option; the results file is of no kind: it is never replaced."""

    option: str
    path: Path | None
    kind: Kind | None = None


def check_outputs(
    *outputs: Output,
    inputs: Iterable[str | Path | None] = (),
    data_dir: Path | None = None,
    force: bool = False,
    prints: bool = True,
) -> None:
    """Refuse outputs that cannot be written or must not be replaced, before any work is done.

    ``inputs`` are files, ``-``, and names of datasets. ``force`` replaces a file of another kind,
    but never an input. ``prints``: whether the command needs standard output.
    """
    if prints and isinstance(sys.stdout, ClosedOutput):
        sys.stdout.write("")
    from ensemblage.persistence import check_writable, is_same_file

    named = [(each, each.path) for each in outputs if each.path is not None]
    read = [file for each in inputs if each is not None for file in _input_files(each, data_dir)]
    for i, (output, path) in enumerate(named):
        if any(is_same_file(file, path) for file in read):
            raise OutputError(
                f"{output.option} {path} is also an input, which it would replace: name another "
                "file."
            )
        for other, known in named[:i]:
            if is_same_file(known, path):
                raise OutputError(
                    f"{other.option} {known} and {output.option} {path} are the same file: name "
                    "two files."
                )
        if output.kind is not None:
            check_writable(path)
            _check_kind(output.option, path, output.kind, force=force)
    if any(output.kind == "page" for output, _ in named):
        from ensemblage.report import check_installed

        check_installed()


def _input_files(source: str | Path, data_dir: Path | None) -> list[Path | int]:
    """Files that an argument may name: standard input, a path, or a dataset in a folder."""
    if str(source) == "-":
        try:
            return [sys.stdin.fileno()]
        except (AttributeError, OSError):  # closed, or not a file
            return []
    from ensemblage.datasets import find_folder, names_file

    folder = None if names_file(str(source)) else find_folder(data_dir)
    return [Path(source), *([] if folder is None else [folder / f"{source}.csv"])]


def _check_kind(option: str, path: Path, kind: Kind, *, force: bool) -> None:
    from ensemblage.persistence import KIND_NAMES, file_kind

    found = file_kind(path)
    if found not in {None, kind} and not force:
        raise OutputError(
            f"{option} {path} exists and is {KIND_NAMES[found]}, not {KIND_NAMES[kind]}: name "
            "another file, or replace it with --force."
        )


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

    The command has a parameter ``debug``. It exits with 1 for a failure, 2 for wrong usage, and
    with 128 and the signal's number when interrupted: 130 after Ctrl-C.
    """

    @functools.wraps(command)
    def guard(*args: Any, **options: Any) -> None:
        try:
            with _interrupts_remembered():
                command(*args, **options)
        except KeyboardInterrupt as stop:
            _end_interrupted(stop)
            interrupted_by[:] = interrupts[:1] or [signal.SIGINT]
            raise typer.Exit(128 + interrupted_by[0]) from None
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
        finally:
            interrupts.clear()

    return guard  # type: ignore[return-value]


def _end_interrupted(stop: KeyboardInterrupt) -> None:
    """Print a sentence and end the workers; the terminal may be closed, a module half imported."""
    with suppress(Exception):
        say(str(stop) or "Interrupted; nothing was written.", stderr=True)
    if "ensemblage._core._parallel" in sys.modules:
        from ensemblage._core import end_pools

        end_pools()


@contextmanager
def _interrupts_remembered() -> Iterator[None]:
    """Raise KeyboardInterrupt at Ctrl-C, `kill` and a closed terminal, and record the signal.

    Compiled code may swallow the exception; the progress bar checks again.
    """

    def remember(number: int, frame: Any) -> None:
        interrupts.append(number)
        signal.default_int_handler(number, frame)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    found = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    usual = {number: each for number, each in found.items() if each not in {signal.SIG_IGN, None}}
    for number in usual:
        signal.signal(number, remember)
    try:
        with _quiet_frees():
            yield
    except Exception as error:
        if interrupts:  # an import or compiled code raised another error instead
            raise KeyboardInterrupt from error
        raise
    finally:
        for number, handler in usual.items():
            signal.signal(number, exit_at_second if handler is exit_at_once else handler)


@contextmanager
def _quiet_frees() -> Iterator[None]:
    """Hide a Ctrl-C raised while an object was freed: it is recorded."""
    shown = sys.unraisablehook

    def show(ignored: Any) -> None:
        if not issubclass(ignored.exc_type, KeyboardInterrupt):
            shown(ignored)

    sys.unraisablehook = show
    try:
        yield
    finally:
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

    def __init__(
        self, bar: Progress, task: str, results: Path | None, unit: str, *, compiles: bool
    ) -> None:
        self._bar, self._task = bar, bar.add_task(task, total=None, far="")
        self._results, self._unit = results, unit
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
                found = f"Resuming: {done} of {count(total, self._unit)} stored in {self._results}."
                with suppress(OSError):
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
    task: str, *, results: Path | None = None, unit: str = "cell", compiles: bool = False
) -> Iterator[Advance]:
    """Show a progress bar on standard error, or lines if that is not a terminal.

    Call the yielded object as ``advance(done, total)``; what is done at the first call was stored
    in the results file, in ``unit``s. ``compiles``: whether compiled kernels are used.
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
    advance = Advance(bar, task, results, unit, compiles=compiles)
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
