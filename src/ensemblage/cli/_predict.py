"""The command ``ensemblage predict``."""

# ruff: noqa: PLC0415  scikit-learn is imported inside the command, so that --help answers at once

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Annotated, BinaryIO, cast

import typer

from ensemblage.cli import _options as options
from ensemblage.cli._console import (
    Output,
    begin_work,
    check_data,
    check_outputs,
    data_name,
    guarded,
    late_bar,
    load_model,
    note,
    say,
    show_json,
)
from ensemblage.cli._options import read_options

if TYPE_CHECKING:
    from ensemblage.evaluation import Predictions
    from ensemblage.studies import NewRows, PredictionDocument


# Bytes of output that are buffered in memory.
BUFFER_BYTES = 2**24


@guarded
def predict_command(  # numpydoc ignore=PR01  typer shows the docstring as help
    model: options.ModelFile,
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            show_default=False,
            help="The new rows: a CSV, TSV, ARFF, Parquet or Excel file, or `-` for CSV from "
            "standard input. Columns are matched by name.",
        ),
    ],
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File for the predictions, Parquet if the name ends in .parquet, else CSV. "
            "Default: standard output.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="COLUMN",
            help="Copy a column of the new rows to the output (may be repeated).",
        ),
    ] = None,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            help="Write text to CSV as it is. Default: with an apostrophe before a text that a "
            "spreadsheet would evaluate as a formula.",
        ),
    ] = False,
    read: options.Read = None,
    seed: options.UnusedSeed = 0,
    jobs: options.UnusedJobs = 1,
    force: options.Force = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Predict new rows: classes with probabilities, or values with 90 % prediction intervals."""
    del seed, jobs, debug
    check_data(data)
    from ensemblage.studies import open_rows, write_predictions, writes_parquet

    parquet = writes_parquet(output)
    made = Output("--output", output, "parquet" if parquet else "text")
    prints = output is None or as_json
    check_outputs(made, inputs=[model, data], force=force, prints=prints)
    saved = load_model(model)
    from msgspec.structs import replace

    seen: list[tuple[NewRows, Predictions]] = []
    with late_bar(f"Scanning {data_name(data)} (MB)") as advance:
        rows = open_rows(
            saved, data, options=read_options(read), keep=keep or (), whole=as_json,
            progress=advance,
        )  # fmt: skip
    begin_work()
    with _opened(output, echo=not as_json) as file, late_bar("Predicting rows") as advance:
        listen = seen.append if as_json else None
        raw = raw or (as_json and output is None)  # JSON only: text is never escaped there
        done = write_predictions(
            saved, rows, file, parquet=parquet, raw=raw, progress=advance, on_block=listen
        )
    if output is not None:
        say(f"{done.n_rows} predictions written to {output}.", stderr=True)
    for new, predictions in seen:
        document = _document(predictions, output, new._replace(notes=done.notes))
        show_json(replace(document, unknown_sources=done.unknown_sources))
    for sentence in done.notes:
        note(sentence)
    if done.classes and not done.has_probabilities:
        note("This model gives no probabilities.")
    if done.agreement is not None:
        note(done.agreement)


@contextmanager
def _opened(output: Path | None, *, echo: bool) -> Iterator[BinaryIO]:
    """Open the output file; without one, print to standard output at the end."""
    if output is not None:
        from ensemblage.persistence import open_atomically

        with open_atomically(output) as file:
            yield file
        return
    with SpooledTemporaryFile(BUFFER_BYTES) as held:
        yield cast(BinaryIO, held)
        held.seek(0)
        while echo and (piece := held.read(BUFFER_BYTES)):
            typer.echo(piece, nl=False)


def _document(predictions: Predictions, output: Path | None, new: NewRows) -> PredictionDocument:
    from ensemblage.studies import PredictionDocument

    proba, std, intervals = predictions.probabilities, predictions.std, predictions.intervals
    return PredictionDocument(
        classes=tuple(map(str, predictions.classes)),
        predictions=predictions.y_pred.tolist(),
        probabilities=None if proba is None else proba.tolist(),
        output=None if output is None else str(output),
        kept=dict(new.kept),
        notes=new.notes,
        std=None if std is None else std.tolist(),
        intervals=None if intervals is None else intervals.tolist(),
    )
