"""``ensemblage predict``: classes and probabilities, or numbers, for new rows."""
# ruff: noqa: PLC0415  scikit-learn is imported inside the command, so that --help answers at once

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ensemblage.cli._console import (
    begin_work,
    check_data,
    check_outputs,
    csv_text,
    guarded,
    note,
    say,
    show_json,
)
from ensemblage.cli._options import Debug, Json, Read, UnusedJobs, UnusedSeed, as_reading
from ensemblage.messages import MEASURES, count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ensemblage.methods import PredictionDocument, Predictions
    from ensemblage.persistence import NewRows


@guarded
def predict_command(  # numpydoc ignore=PR01  typer shows the docstring as help
    model: Annotated[
        Path, typer.Argument(metavar="MODEL.skops", show_default=False, help="A saved model.")
    ],
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
            metavar="FILE.csv",
            help="Where to write the predictions; standard output if left out.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="COLUMN",
            help="Write a column of the new rows beside the predictions (may be repeated).",
        ),
    ] = None,
    read: Read = None,
    seed: UnusedSeed = 0,
    jobs: UnusedJobs = 1,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Predict classes of new rows, with probabilities where the model has them, or numbers."""
    del seed, jobs, debug
    check_data(data)
    from ensemblage.methods import predict_rows
    from ensemblage.persistence import load, read_rows, write_atomically

    check_outputs(output)
    saved = load(model)
    rows = read_rows(saved, data, reading=as_reading(read), keep=keep or ())
    begin_work()
    predictions = predict_rows(saved.model, rows.X, rows.sources)
    text = csv_text(*_beside(rows, *predictions.rows()))
    if output is not None:
        write_atomically(output, text)
        say(f"{len(rows.X)} predictions written to {output}.", stderr=True)
    if as_json:
        show_json(_document(predictions, output, rows))
    elif output is None:
        typer.echo(text, nl=False)
    for sentence in rows.notes:
        note(sentence)
    if predictions.classes and predictions.probabilities is None:
        note("This model gives no probabilities.")
    if saved.target is not None and saved.target in rows.table.names:
        _note_target(saved.target, rows.table.column(saved.target), predictions)


def _beside(
    new: NewRows, header: list[str], rows: list[list[str]]
) -> tuple[list[str], list[list[str | None]]]:
    """Put the columns that are kept before the predictions."""
    columns = list(new.kept.values())
    return [*new.kept, *header], [[*(c[i] for c in columns), *row] for i, row in enumerate(rows)]


def _document(predictions: Predictions, output: Path | None, new: NewRows) -> PredictionDocument:
    from ensemblage.methods import PredictionDocument

    shares, spread, ends = predictions.probabilities, predictions.spread, predictions.intervals
    return PredictionDocument(
        classes=predictions.classes,
        predictions=predictions.labels.tolist(),
        probabilities=None if shares is None else shares.tolist(),
        output=None if output is None else str(output),
        kept=dict(new.kept),
        notes=new.notes,
        spread=None if spread is None else spread.tolist(),
        intervals=None if ends is None else ends.tolist(),
    )


def _note_target(target: str, truth: NDArray[Any], predictions: Predictions) -> None:
    score = ""
    if predictions.classes:
        score = _class_score(truth, predictions)
    elif truth.dtype.kind == "f":
        score = _number_score(truth, predictions)
    note(f"The column {target!r} is not needed for predicting{score}.")


def _class_score(truth: NDArray[Any], predictions: Predictions) -> str:
    pairs = zip(truth.tolist(), predictions.labels.tolist(), strict=True)
    hits = [a == b for a, b in pairs if a is not None]
    return f"; {sum(hits)} of {len(hits)} predictions agree with it" if hits else ""


def _number_score(truth: NDArray[Any], predictions: Predictions) -> str:
    from ensemblage.datasets import is_missing

    missed = (truth - predictions.labels)[~is_missing(truth)]
    if not len(missed):
        return ""
    rmse = MEASURES["rmse"].written(float((missed**2).mean() ** 0.5))
    return f"; against its {count(len(missed), 'number')} predictions have an RMSE of {rmse}"
