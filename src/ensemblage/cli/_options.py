"""Options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ensemblage.evaluation import CLASSIFICATION, DECIDING, REGRESSION, TASKS

if TYPE_CHECKING:
    from ensemblage.datasets import ReadOptions


# Written out, as the registry imports scikit-learn; a test keeps the two together.
METHOD_NAMES = (
    "majority, logistic, svm, forest, boosting, "
    "strata, strata-sources, strata-paper, "
    "subspace, bayesnet, inner-bayesnet, tree, auto"
)
NUMBER_METHOD_NAMES = (
    "mean, ridge, svm, forest, boosting, strata, strata-sources, subspace, tree, auto"
)
AUTO = "auto"
LARGEST_SEED = 2**32 - 1
PAGES = (".html", ".htm")
RESULTS = Path("ensemblage-results.sqlite")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def parse_time(text: str) -> float:
    """Read a time such as ``90s``, ``10m``, ``2h`` or ``1h30m``; a number alone counts seconds."""
    number = r"\d+(?:\.\d+)?"
    clean = text.strip().lower().replace(" ", "")
    if re.fullmatch(number, clean):
        clean += "s"
    parts = re.findall(rf"({number})([smhd])", clean)
    seconds = sum(float(amount) * UNITS[unit] for amount, unit in parts)
    if "".join(amount + unit for amount, unit in parts) != clean or not seconds > 0:
        raise typer.BadParameter(f"{text!r} is no time; write 90s, 10m, 2h or 1h30m.")
    return seconds


def complete_method(start: str) -> list[str]:
    """Give the methods whose names begin so, to a shell that completes them."""
    every = dict.fromkeys(f"{METHOD_NAMES}, {NUMBER_METHOD_NAMES}".split(", "))
    return [name for name in every if name.startswith(start)]


def _option_names(measures: Iterable[str]) -> list[str]:
    """Write names of measures as options are written."""
    return [name.replace("_", "-") for name in measures]


def check_measure(text: str) -> str:
    """Give the library's name of a measure, which may be written with hyphens."""
    name = {"balanced": "balanced_accuracy"}.get(text, text.replace("-", "_"))
    if name not in {AUTO, *DECIDING}:
        known = ", ".join([AUTO, *_option_names(DECIDING)])
        raise typer.BadParameter(f"{text!r} is not one of: {known}.")
    return name


def complete_measure(start: str) -> list[str]:
    """Give the measures whose names begin so, to a shell that completes them."""
    return [name for name in [AUTO, *_option_names(DECIDING)] if name.startswith(start)]


def _check_task(task: str | None) -> str | None:
    if task is not None and task not in TASKS:
        raise typer.BadParameter(f"{task!r} is not one of: {', '.join(TASKS)}.")
    return task


def _check_jobs(jobs: int) -> int:
    if jobs == 0:
        raise typer.BadParameter("0 processes can do nothing; use 1 or more, or -1 for all cores.")
    return jobs


def check_seed(seed: int | None) -> int | None:
    """Refuse a seed that generators cannot take."""
    if seed is not None and seed > LARGEST_SEED:
        raise typer.BadParameter(f"{seed} is too large; the largest seed is {LARGEST_SEED}.")
    return seed


def _check_report(path: Path | None) -> Path | None:
    if path is not None and path.suffix.lower() not in PAGES:
        raise typer.BadParameter(f"{path} must end in .html.")
    return path


def read_options(options: list[str] | None) -> ReadOptions | None:
    """Make of what ``--read`` was given how to read a file."""
    if not options:
        return None
    from ensemblage.datasets import ReadOptions  # noqa: PLC0415  numpy, which --help does without

    try:
        return ReadOptions.from_options(options)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


DataFile = Annotated[
    str,
    typer.Argument(
        metavar="DATA", show_default=False,
        help="A CSV, TSV, ARFF, Parquet or Excel file, or `-` for CSV from standard input.",
    ),
]  # fmt: skip
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL.skops", show_default=False, help="A saved model.")
]
Target = Annotated[
    str | None,
    typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict."),
]
Task = Annotated[
    str | None,
    typer.Option(
        "--task", metavar="TASK", callback=_check_task, autocompletion=lambda: list(TASKS),
        help="What the target holds: classification for classes, regression for numbers. Left "
        "out, words and few different numbers are classes.",
    ),
]  # fmt: skip
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COLUMN", help="Leave a column out (may be repeated)."),
]
Source = Annotated[
    str | None,
    typer.Option(
        "--source", metavar="COLUMN",
        help="The column that tells where a row comes from. The pool and strata of sources are "
        "told; other methods do not see it.",
    ),
]  # fmt: skip
Rows = Annotated[
    int | None,
    typer.Option(
        "--rows", min=1, metavar="N",
        help="Take so many rows of the file at most, drawn by the seed.",
    ),
]  # fmt: skip
Read = Annotated[
    list[str] | None,
    typer.Option(
        "--read", metavar="NAME=VALUE",
        help="How to read the file, where what is found out is wrong (may be repeated): "
        "separator=semicolon, decimal=comma, thousands=point, encoding=cp1252, dates=day-first, "
        "header=no, sheet=NAME.",
    ),
]  # fmt: skip
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", metavar="FOLDER", envvar="ENSEMBLAGE_DATA",
        help="A folder of NAME.csv files, to be used by name.",
    ),
]  # fmt: skip
Folds = Annotated[
    int, typer.Option("--folds", min=2, metavar="N", help="Folds of the cross-validation.")
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        min=0,
        callback=check_seed,
        metavar="N",
        help="The only source of randomness.",
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", callback=_check_jobs, metavar="N", help="Processes; -1 is one per core.",
    ),
]  # fmt: skip
Measure = Annotated[
    str,
    typer.Option(
        "--measure", metavar="MEASURE", callback=check_measure, autocompletion=complete_measure,
        help=f"What decides: auto, {', '.join(_option_names(CLASSIFICATION.deciding))}; for "
        f"numbers {', '.join(_option_names(REGRESSION.deciding))}. auto: accuracy, or for uneven "
        "classes log loss, or balanced accuracy where a method gives no probabilities; for "
        "numbers rmse.",
    ),
]  # fmt: skip
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report", metavar="FILE.html", callback=_check_report,
        help="Write a page with tables and figures; needs the extra `report`.",
    ),
]  # fmt: skip
# Accepted by every command, so that scripts can pass them without looking.
UnusedSeed = Annotated[int, typer.Option("--seed", min=0, max=LARGEST_SEED, hidden=True)]
UnusedJobs = Annotated[int, typer.Option("--jobs", "-j", callback=_check_jobs, hidden=True)]

# Of the commands that run cells: where they are kept, how long, and on which machines.
Results = Annotated[
    Path,
    typer.Option(
        "--results", metavar="FILE",
        help="Where finished cells are kept; what is there is not computed again.",
    ),
]  # fmt: skip
Budget = Annotated[
    float | None,
    typer.Option(
        "--budget", metavar="TIME", parser=parse_time,
        help="Stop after that time with what there is: 90s, 10m, 2h.",
    ),
]  # fmt: skip
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler", metavar="ADDRESS",
        help="Compute on a Dask cluster: tcp://HOST:PORT of its scheduler.",
    ),
]  # fmt: skip
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Compute cells again that failed earlier.")
]
Export = Annotated[
    Path | None,
    typer.Option(
        "--export", metavar="FILE", help="Write one line per cell: FILE.csv or FILE.parquet."
    ),
]
