"""Options of the commands that run cells: where they are kept, how long, and on which machines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ensemblage.cli._pace import parse_time

RESULTS = Path("ensemblage-results.sqlite")


def _check_budget(text: str | None) -> str | None:
    if text is not None:
        try:
            parse_time(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
    return text


Results = Annotated[
    Path,
    typer.Option(
        "--results", metavar="FILE",
        help="Where finished cells are kept; what is there is not computed again.",
    ),
]  # fmt: skip
Budget = Annotated[
    str | None,
    typer.Option(
        "--budget", metavar="TIME", callback=_check_budget,
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


@dataclass(frozen=True)
class RunOptions:
    """What the user asked for, beside the experiment itself; seed and scale are only shown."""

    results: Path
    jobs: int
    seed: int
    scale: str
    budget: str | None = None
    scheduler: str | None = None
    retry_failed: bool = False
    export: Path | None = None
    report: Path | None = None
    as_json: bool = False

    @property
    def seconds(self) -> float | None:
        """The budget."""
        return None if self.budget is None else parse_time(self.budget)
