"""The commands ``ensemblage adapt`` and ``ensemblage recalibrate``."""

# ruff: noqa: PLC0415  scikit-learn is imported inside the command, so that --help answers at once

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ensemblage.cli import _options as options
from ensemblage.cli._console import (
    Output,
    check_data,
    check_outputs,
    data_name,
    guarded,
    load_model,
    note,
    progress_bar,
    say,
    show_json,
)
from ensemblage.cli._options import read_options

SiteFile = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="Rows of the new source: a CSV, TSV, ARFF, Parquet or Excel file, or `-` for CSV from "
        "standard input. Columns are matched by name.",
    ),
]
AdaptedFile = Annotated[
    Path, typer.Option("--output", "-o", metavar="MODEL.skops", help="File for the adapted model.")
]
SiteTarget = Annotated[
    str | None,
    typer.Option(
        "--target", "-t", metavar="COLUMN", help="Column of the target. Default: the model's."
    ),
]


@guarded
def adapt_command(  # numpydoc ignore=PR01  typer shows the docstring as help
    model: options.ModelFile,
    data: SiteFile,
    *,
    output: AdaptedFile,
    target: SiteTarget = None,
    train: Annotated[
        str | None,
        typer.Option(
            "--train",
            metavar="FILE",
            help="The file that the model was fitted on: the model is fitted again with the new "
            "rows. Without, it is only recalibrated.",
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="COLUMN",
            help="Column of the training file with the source of each row. Default: the model's.",
        ),
    ] = None,
    read: options.Read = None,
    seed: options.UnusedSeed = 0,
    jobs: options.UnusedJobs = 1,
    force: options.Force = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Adapt a model to a new source, from a few of its rows.

    If DATA has no target, columns are normalised by source where leave-one-source-out validation
    on the training file says that it helps.
    """
    del seed, jobs, debug
    _adapt(model, data, output, target, read, force, as_json, train=train, source=source)


@guarded
def recalibrate_command(  # numpydoc ignore=PR01  typer shows the docstring as help
    model: options.ModelFile,
    data: SiteFile,
    *,
    output: AdaptedFile,
    target: SiteTarget = None,
    read: options.Read = None,
    seed: options.UnusedSeed = 0,
    jobs: options.UnusedJobs = 1,
    force: options.Force = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Recalibrate a model at a new source, from a few labelled rows."""
    del seed, jobs, debug
    _adapt(model, data, output, target, read, force, as_json, only_recalibrate=True)


def _adapt(
    model: Path,
    data: str,
    output: Path,
    target: str | None,
    read: list[str] | None,
    force: bool,
    as_json: bool,
    *,
    train: str | None = None,
    source: str | None = None,
    only_recalibrate: bool = False,
) -> None:
    check_data(data)
    if train is not None:
        check_data(train)
    elif source is not None:
        raise typer.BadParameter("--source is a column of the training file: give --train too.")
    from msgspec.structs import replace

    from ensemblage.persistence import save
    from ensemblage.studies import adapt_saved

    check_outputs(Output("--output", output, "model"), inputs=[model, data, train], force=force)
    saved = load_model(model)
    with progress_bar(f"Adapting to {data_name(data)}"):
        adapted, found = adapt_saved(
            saved, data, target=target, train=train, source=source, options=read_options(read),
            only_recalibrate=only_recalibrate,
        )  # fmt: skip
    save(
        adapted.model, output, columns=adapted.columns, kinds=adapted.kinds, target=adapted.target,
        ignored=adapted.ignored, training_ranges=adapted.training_ranges, details=adapted.details,
    )  # fmt: skip
    if as_json:
        show_json(replace(found, model=str(output)))
    else:
        say(found.summary)
    for text in found.notes:
        note(text)
    say(f"Saved to {output}.", stderr=True)
