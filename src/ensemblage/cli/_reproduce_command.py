"""``ensemblage reproduce``: a paper's table, with our own figures beside it."""
# ruff: noqa: PLC0415  scikit-learn is imported inside the command, so that --help answers at once

from __future__ import annotations

from typing import Annotated

import typer

from ensemblage.cli._console import guarded
from ensemblage.cli._options import DataDir, Debug, Jobs, Json, Report, Seed
from ensemblage.cli._run_and_show import check_outputs, run_and_show
from ensemblage.cli._run_options import (
    RESULTS,
    Budget,
    Export,
    Results,
    RetryFailed,
    RunOptions,
    Scheduler,
)
from ensemblage.papers import PAPER_EXPERIMENTS


def _known(name: str) -> str:
    if name not in PAPER_EXPERIMENTS:
        raise typer.BadParameter(f"{name!r} is none of: {', '.join(PAPER_EXPERIMENTS)}.")
    return name


@guarded
def reproduce_command(  # numpydoc ignore=PR01  typer shows the docstring as help
    name: Annotated[
        str,
        typer.Argument(
            help=f"Which table: {', '.join(PAPER_EXPERIMENTS)}.",
            callback=_known,
            autocompletion=lambda: list(PAPER_EXPERIMENTS),
            show_default=False,
        ),
    ],
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="A declared part of it, in under two minutes.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="The paper's whole protocol.")] = False,
    dataset: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this dataset (may be repeated)."),
    ] = None,
    results: Results = RESULTS,
    budget: Budget = None,
    scheduler: Scheduler = None,
    retry_failed: RetryFailed = False,
    export: Export = None,
    report: Report = None,
    data_dir: DataDir = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Run the experiments behind a paper's table; print the paper's figures beside ours."""
    del debug
    if quick and full:
        raise typer.BadParameter("--quick and --full exclude each other.")
    from ensemblage.papers import paper_experiment

    scale = "quick" if quick else "full" if full else "standard"
    folder = None if data_dir is None else str(data_dir)
    options = RunOptions(
        results, jobs, seed, scale, budget, scheduler, retry_failed, export, report, as_json
    )
    check_outputs(options)
    experiment = paper_experiment(name, scale=scale, seed=seed, data_dir=folder, datasets=dataset)
    run_and_show(experiment, options)
