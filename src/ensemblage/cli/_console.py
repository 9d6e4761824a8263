"""What commands show and write: results on standard output, the rest on standard error, pages."""
# ruff: noqa: PLC0415  what is large is imported inside, so that --help answers at once

from __future__ import annotations

import csv
import functools
import gc
import io
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from rich.console import Console

from ensemblage.messages import no_formula, visible

if TYPE_CHECKING:
    from ensemblage.datasets import DataCard
    from ensemblage.pages import Page, TableBlock

Command = TypeVar("Command", bound=Callable[..., None])

# In a pipe there is no screen to fit; a table must not be folded for one.
PIPE_WIDTH = 160
# A hyphen is what other programs read as a minus or as nothing.
PLAIN_MARKS = str.maketrans("\N{EN DASH}\N{MINUS SIGN}", "--")
# By name: importing them would import scikit-learn before --help can answer.
USAGE_ERRORS = frozenset({"ExperimentFileError", "TargetNotGivenError", "UnknownMethodError"})
# The library speaks of its parameters and functions, a command of its options and its like.
IN_COMMANDS = {
    "`target`": "--target",
    "`source_column`": "--source",
    "`new_sources`": "--new-sources",
    "`n_clusters`": "--clusters",
    "`methods`": "--method",
    "`n_repeats`": "--repeats",
    "`n_splits`": "--folds",
    "`quick`": "--quick",
    "`measure`": "--measure",
    "`task`": "--task",
    "`row`": "--row",
    "`data_dir`": "--data-dir",
    "`drop`": "--drop",
    "`draw`": "--rows",
    "`method`": "--method",
    "`decimal`": "--read decimal=MARK",
    "`dates`": "--read dates=ORDER",
    "`encoding`": "--read encoding=NAME",
    "`sheet`": "--read sheet=NAME",
    "`list_datasets()`": "`ensemblage datasets`",
    "`save()`": "`ensemblage fit`",
}

interrupts: list[int] = []


def console(*, stderr: bool = False) -> Console:
    """Make a console for this moment's standard output or error; in a pipe it folds no lines."""
    made = Console(stderr=stderr, highlight=False)
    return made if made.is_terminal else Console(stderr=stderr, highlight=False, width=PIPE_WIDTH)


def say(text: str, *, stderr: bool = False, style: str | None = None) -> None:
    """Print a line of plain text, folded at blanks on a screen; brackets in it are brackets."""
    from ensemblage.pages import fold_sentence

    out = console(stderr=stderr)
    shown = fold_sentence(text, out.width if out.is_terminal else None)
    out.print(visible(shown), style=style, markup=False, soft_wrap=True)


def note(text: str) -> None:
    """Print a note of one sentence on standard error."""
    say(f"Note: {as_command(text)}", stderr=True, style="yellow")


def as_command(text: str) -> str:
    """Put options in the place of the parameters that a message of the library names."""
    for parameter, option in IN_COMMANDS.items():
        text = text.replace(parameter, option)
    return text


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


def show_reason(card: DataCard) -> None:
    """Say why numbers are predicted, or taken for classes; words leave no doubt."""
    if card.number_like:
        say(f"  {as_command(card.task_reason)}")


def show_table(columns: Iterable[tuple[str, str]], rows: Iterable[list[str]]) -> None:
    """Print a table on standard output; columns have a heading and "left" or "right"."""
    from ensemblage.pages import Column, Field, TableBlock

    heads = [Column(heading, numeric=side == "right") for heading, side in columns]
    show_block(TableBlock(heads, [[Field(text) for text in row] for row in rows], ""))


def show_block(table: TableBlock) -> None:
    """Print a table on standard output, its headings bold; it is folded or turned to fit."""
    from ensemblage.pages import text_table

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


def write_page(path: Path, page: Page) -> None:
    """Render a page and write it."""
    from ensemblage.persistence import write_atomically
    from ensemblage.report import render

    write_atomically(path, render(page))
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
