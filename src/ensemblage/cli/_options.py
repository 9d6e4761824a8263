"""Options that several commands share."""

from __future__ import annotations

import os
import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from ensemblage.datasets import ReadOptions


class PlainCommand(TyperCommand):
    """A command with plain help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Give the parameters, as users should read of them."""
        return _plain(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """Commands behind one name, with plain help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Give the parameters, as users should read of them."""
        return _plain(super().get_params(ctx))


def _plain(params: list[Any]) -> list[Any]:
    for each in params:
        if each.param_type_name == "argument":
            # typer's only way to a label that is no type
            each.display_type_rich = _no_type
        elif each.is_flag and each.metavar is None:
            each.metavar = ""
    return params


def _no_type(ctx: Any) -> None:
    """Show nothing in the place of a type."""
    del ctx


UNKNOWN = object()


class QuickCommand(PlainCommand):
    """A command that asks typer to check values only where there is something to check."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Give the parameters, each with the values that need no check."""
        return _let_pass(super().get_params(ctx))


class QuickGroup(PlainGroup):
    """Commands behind one name, whose own options are checked as theirs are."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Give the parameters, each with the values that need no check."""
        return _let_pass(super().get_params(ctx))


def _let_pass(params: list[Any]) -> list[Any]:
    for each in params:
        # older versions of typer have none of these, and no pydantic either
        usual = getattr(each, "get_runtime_param", None)
        if usual is not None and not isinstance(usual, UncheckedValues):
            each.get_runtime_param = UncheckedValues(usual)
    return params


class UncheckedValues:
    """Stands for what typer checks a parameter's values by, which is made if it is needed."""

    def __init__(self, usual: Any) -> None:
        self._usual = usual

    def __call__(self) -> UncheckedValues:
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Give a value the parameter's type."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        wanted = param.type_descriptor
        known = UNKNOWN if wanted.parameter_info.parser else unchecked(value, wanted.annotation)
        return self._usual().coerce(value, param=param, ctx=ctx) if known is UNKNOWN else known


def unchecked(value: Any, kind: Any) -> Any:
    """Give a value its type if there is nothing to check about it, or else ``UNKNOWN``."""
    if kind is Path and isinstance(value, str):
        path = Path(value)
        return UNKNOWN if path.exists() and not os.access(path, os.R_OK) else path
    if kind == list[str] and all(isinstance(item, str) for item in value):
        return list(value)
    return value if isinstance(kind, type) and type(value) is kind else UNKNOWN


# Written out, as the registry imports scikit-learn; a test keeps the two together.
METHOD_NAMES = (
    "majority, logistic, svm, forest, boosting, "
    "strata, strata-sources, strata-paper, "
    "subspace, bayesnet, inner-bayesnet, tree, auto"
)
NUMBER_METHOD_NAMES = (
    "mean, ridge, svm, forest, boosting, strata, strata-sources, subspace, tree, auto"
)
LARGEST_SEED = 2**32 - 1
PAGES = (".html", ".htm")
RESULTS = Path("ensemblage-results.sqlite")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class MeasureName(StrEnum):
    """Measures by the words that a command takes; the names are the library's."""

    auto = "auto"
    accuracy = "accuracy"
    balanced_accuracy = "balanced"
    log_loss = "log-loss"
    auc = "auc"
    f1 = "f1"
    rmse = "rmse"
    mae = "mae"
    r2 = "r2"
    log_score = "log-score"


class TaskName(StrEnum):
    """What can be predicted."""

    classification = "classification"
    regression = "regression"


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


Target = Annotated[
    str | None,
    typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict."),
]
Task = Annotated[
    TaskName | None,
    typer.Option(
        "--task", metavar="TASK",
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
    MeasureName,
    typer.Option(
        "--measure",
        metavar="MEASURE",
        help="What decides: auto, accuracy, balanced, log-loss, auc or f1; for numbers rmse, mae, "
        "r2 or log-score. auto: accuracy, or for uneven classes log loss, or balanced accuracy "
        "where a method gives no probabilities; for numbers rmse.",
    ),
]
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
