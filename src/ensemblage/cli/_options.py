"""The options that several commands share, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

# Written out, as the registry imports scikit-learn; a test keeps the two together.
METHOD_NAMES = (
    "majority, logistic, svm, forest, boosting, "
    "strata, strata-sources, strata-paper, "
    "subspace, bayesnet, inner-bayesnet"
)
LARGEST_SEED = 2**32 - 1
PAGES = (".html", ".htm")


def _check_jobs(jobs: int) -> int:
    if jobs == 0:
        raise typer.BadParameter("0 processes can do nothing; use 1 or more, or -1 for all cores.")
    return jobs


def _check_report(path: Path | None) -> Path | None:
    if path is not None and path.suffix.lower() not in PAGES:
        raise typer.BadParameter(f"{path} must end in .html.")
    return path


Target = Annotated[
    str | None,
    typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict."),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COLUMN", help="Leave a column out (may be repeated)."),
]
Source = Annotated[
    str | None,
    typer.Option(
        "--source", metavar="COLUMN",
        help="The column that tells where a row comes from; known in training only.",
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
        "--seed", min=0, max=LARGEST_SEED, metavar="N", help="The only source of randomness."
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", callback=_check_jobs, metavar="N", help="Processes; -1 is one per core.",
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
