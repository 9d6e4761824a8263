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


# Copied from the registry, which imports scikit-learn; a test compares the two.
METHOD_NAMES = (
    "majority, logistic, svm, forest, boosting, "
    "strata, strata-sources, partial-pooling, strata-paper, "
    "subspace, bayesnet, inner-bayesnet, tree, auto"
)
REGRESSION_METHOD_NAMES = (
    "mean, ridge, svm, forest, boosting, strata, strata-sources, partial-pooling, subspace, tree, "
    "auto"
)
AUTO = "auto"
LARGEST_SEED = 2**32 - 1
PAGES = (".html", ".htm")
RESULTS = Path("ensemblage-results.sqlite")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def parse_time(text: str) -> float:
    """Parse a duration such as ``90s``, ``10m``, ``2h`` or ``1h30m``; a bare number is seconds."""
    number = r"\d+(?:\.\d+)?"
    clean = text.strip().lower().replace(" ", "")
    if re.fullmatch(number, clean):
        clean += "s"
    parts = re.findall(rf"({number})([smhd])", clean)
    seconds = sum(float(amount) * UNITS[unit] for amount, unit in parts)
    if "".join(amount + unit for amount, unit in parts) != clean or not seconds > 0:
        raise typer.BadParameter(f"{text!r} is not a duration such as 90s, 10m, 2h or 1h30m.")
    return seconds


def complete_method(start: str) -> list[str]:
    """Names of methods that start with ``start``, for shell completion."""
    every = dict.fromkeys(f"{METHOD_NAMES}, {REGRESSION_METHOD_NAMES}".split(", "))
    return [name for name in every if name.startswith(start)]


def _option_names(measures: Iterable[str]) -> list[str]:
    """Names of measures with hyphens."""
    return [name.replace("_", "-") for name in measures]


def check_measure(text: str) -> str:
    """Return the library's name of a measure, which may be given with hyphens."""
    name = {"balanced": "balanced_accuracy"}.get(text, text.replace("-", "_"))
    if name not in {AUTO, *DECIDING}:
        known = ", ".join([AUTO, *_option_names(DECIDING)])
        raise typer.BadParameter(f"{text!r} is not one of: {known}.")
    return name


def complete_measure(start: str) -> list[str]:
    """Names of measures that start with ``start``, for shell completion."""
    return [name for name in [AUTO, *_option_names(DECIDING)] if name.startswith(start)]


def _check_task(task: str | None) -> str | None:
    if task is not None and task not in TASKS:
        raise typer.BadParameter(f"{task!r} is not one of: {', '.join(TASKS)}.")
    return task


def _check_jobs(jobs: int) -> int:
    if jobs == 0:
        raise typer.BadParameter("0 is not a number of processes; use 1 or more, or -1.")
    return jobs


def check_seed(seed: int | None) -> int | None:
    """Refuse a seed that random generators do not accept."""
    if seed is not None and seed > LARGEST_SEED:
        raise typer.BadParameter(f"{seed} is too large; the largest seed is {LARGEST_SEED}.")
    return seed


def _check_report(path: Path | None) -> Path | None:
    if path is not None and path.suffix.lower() not in PAGES:
        raise typer.BadParameter(f"{path} must end in .html.")
    return path


def read_options(options: list[str] | None) -> ReadOptions | None:
    """Parse the values of ``--read``."""
    if not options:
        return None
    from ensemblage.datasets import ReadOptions  # noqa: PLC0415  imports numpy, slow for --help

    try:
        return ReadOptions.from_options(options)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


DataFile = Annotated[
    str,
    typer.Argument(
        metavar="DATA", show_default=False,
        help="A CSV, TSV, ARFF, Parquet or Excel file, `-` for CSV from standard input, or the "
        "name of a dataset.",
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
        help="classification or regression. Default: classification for a categorical target or "
        "one with few distinct values.",
    ),
]  # fmt: skip
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COLUMN", help="Ignore a column (may be repeated)."),
]
Source = Annotated[
    list[str] | None,
    typer.Option(
        "--source", metavar="COLUMN",
        help="The column with the source of each row (site, hospital, sensor). Twice for nested "
        "sources, the outer one first (hospital, ward). Used by the pool, partial pooling and "
        "strata of sources; not a feature of the other methods.",
    ),
]  # fmt: skip
Rows = Annotated[
    int | None,
    typer.Option(
        "--rows", min=1, metavar="N",
        help="Use a random sample of at most N rows.",
    ),
]  # fmt: skip
Read = Annotated[
    list[str] | None,
    typer.Option(
        "--read", metavar="NAME=VALUE",
        help="Override the inferred file format (may be repeated): separator=semicolon, "
        "decimal=comma, thousands=point, encoding=cp1252, dates=day-first, header=no, sheet=NAME.",
    ),
]  # fmt: skip
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", metavar="FOLDER", envvar="ENSEMBLAGE_DATA",
        help="A folder of NAME.csv files: datasets by name.",
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
        help="Random seed.",
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", callback=_check_jobs, metavar="N",
        help="Number of processes; -1: one per core.",
    ),
]  # fmt: skip
Measure = Annotated[
    str,
    typer.Option(
        "--measure", metavar="MEASURE", callback=check_measure, autocompletion=complete_measure,
        help="Measure of the ranking and the tests: auto, "
        f"{', '.join(_option_names(CLASSIFICATION.deciding))}; regression: "
        f"{', '.join(_option_names(REGRESSION.deciding))}. auto: accuracy; for imbalanced classes "
        "log-loss, or balanced-accuracy if a method gives no probabilities; for regression rmse.",
    ),
]  # fmt: skip
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Replace an output file that exists, also if it is of another kind (such as a model "
        "by CSV). An input is never replaced.",
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report", metavar="FILE.html", callback=_check_report,
        help="Write an HTML report with tables and figures; needs the extra `report`.",
    ),
]  # fmt: skip
# Accepted by every command, so that scripts can always pass them.
UnusedSeed = Annotated[int, typer.Option("--seed", min=0, max=LARGEST_SEED, hidden=True)]
UnusedJobs = Annotated[int, typer.Option("--jobs", "-j", callback=_check_jobs, hidden=True)]

# Options of the commands that run cells.
Results = Annotated[
    Path,
    typer.Option(
        "--results", metavar="FILE",
        help="Results file; stored cells are not computed again.",
    ),
]  # fmt: skip
Budget = Annotated[
    float | None,
    typer.Option(
        "--budget", metavar="TIME", parser=parse_time,
        help="Time limit, such as 90s, 10m, 2h; shows the results so far.",
    ),
]  # fmt: skip
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler", metavar="ADDRESS",
        help="Compute on a Dask cluster; address of its scheduler, tcp://HOST:PORT.",
    ),
]  # fmt: skip
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Repeat computations that failed in earlier runs.")
]
Export = Annotated[
    Path | None,
    typer.Option(
        "--export", metavar="FILE", help="Write one row per cell to FILE.csv or FILE.parquet."
    ),
]
