"""``ensemblage run``: an experiment of the user's own, declared in a TOML file."""
# ruff: noqa: PLC0415  scikit-learn is imported inside the command, so that --help answers at once

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ensemblage.cli._console import guarded
from ensemblage.cli._options import LARGEST_SEED, DataDir, Debug, Jobs, Json, Report
from ensemblage.cli._run_and_show import OWN, check_outputs, run_and_show
from ensemblage.cli._run_options import (
    RESULTS,
    Budget,
    Export,
    Results,
    RetryFailed,
    RunOptions,
    Scheduler,
)


@guarded
def run_command(  # numpydoc ignore=PR01  typer shows the docstring as help
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.toml", show_default=False,
            help="Declares datasets, methods, parameters and repeats.",
        ),
    ],
    *,
    results: Results = RESULTS,
    budget: Budget = None,
    scheduler: Scheduler = None,
    retry_failed: RetryFailed = False,
    export: Export = None,
    report: Report = None,
    data_dir: DataDir = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", min=0, max=LARGEST_SEED, metavar="N", help="In place of the file's own."
        ),
    ] = None,
    jobs: Jobs = -1,
    as_json: Json = False,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Run an experiment of your own; it can stop anywhere and go on where it stopped."""
    del debug
    from ensemblage.methods import StudyParams, read_experiment

    folder = None if data_dir is None else str(data_dir)
    experiment = read_experiment(file, seed=seed, data_dir=folder)
    own_seed = StudyParams.of(experiment.cells[0]).seed
    options = RunOptions(
        results, jobs, own_seed, OWN, budget, scheduler, retry_failed, export, report, as_json,
    )  # fmt: skip
    check_outputs(options)
    run_and_show(experiment, options)
