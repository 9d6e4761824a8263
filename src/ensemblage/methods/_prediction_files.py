"""Predictions of a file, written to a file block by block."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from typing import Any, BinaryIO

from ensemblage.datasets import Reading, is_parquet
from ensemblage.messages import listing, require
from ensemblage.methods._predictions import Predictions, predict_rows
from ensemblage.methods._target_score import TargetScore
from ensemblage.persistence import NewRows, RowBlocks, SavedModel, open_atomically, open_rows

Write = Callable[[NewRows, Predictions], None]


@dataclass(frozen=True)
class PredictedFile:
    """What was predicted of a file, without the predictions.

    Parameters
    ----------
    n_rows : int
        The number of rows.
    classes : tuple of str
        The model's classes; empty if it predicts numbers.
    has_probabilities : bool
        Whether the model gives the probability of each class.
    notes : tuple of str
        How the file was read, and what in it is new to the model.
    agreement : str or None
        How well predictions agree with the target; None if it is not there.

    See Also
    --------
    predict_file : Gives it.

    Examples
    --------
    >>> from ensemblage.methods import PredictedFile
    >>> PredictedFile(2, ("no", "yes"), True, ()).n_rows
    2
    """

    n_rows: int
    classes: tuple[str, ...]
    has_probabilities: bool
    notes: tuple[str, ...]
    agreement: str | None = None


def predict_file(
    saved: SavedModel,
    path: str | PathLike[str],
    output: str | PathLike[str],
    *,
    reading: Reading | None = None,
    keep: Sequence[str] = (),
    block_rows: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> PredictedFile:
    r"""Predict the rows of a file and write what is predicted to another.

    A file that is large (text of 64 MB and more, Parquet that would take 256 MB) is read,
    predicted and written in blocks, so that memory does not grow with its rows. The columns are
    read as :func:`ensemblage.persistence.read_rows` reads them whole: a text file is looked through
    once before, since all of it decides on marks, dates and gaps. What cannot be understood without
    all of it (ARFF, spreadsheets, text whose rows are not like the first ones) is read whole.

    Parameters
    ----------
    saved : SavedModel
        The model, as ``load`` gives it.
    path : str or path-like
        A file that ``read_table`` reads, or ``-`` for standard input.
    output : str or path-like
        Where to write: Parquet if the name ends in ``.parquet`` or ``.pq``, else CSV. The file is
        there when all of it is written, and not before.
    reading : Reading, default=None
        How to read the file, where it is not to be found out.
    keep : sequence of str, default=()
        Columns to write as they are beside the predictions; the model need not know them.
    block_rows : int, default=None
        Rows of a block, also for a small file; None for as many as make two million values, and
        65,536 at most, of a large one.
    progress : callable, default=None
        Called as ``progress(done, total)`` with numbers of rows after each block of a large file.

    Returns
    -------
    PredictedFile
        How many rows there were, and notes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemblage.methods import predict_file
    >>> from ensemblage.persistence import SavedModel
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    >>> saved = SavedModel(model, ("size",), ("number",), classes=("no", "yes"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     new, out = Path(folder) / "new.csv", Path(folder) / "out.csv"
    ...     _ = new.write_text("id;size\n007;-1,5\n8;2,5\n")
    ...     done = predict_file(saved, new, out, keep=["id"])
    ...     print(out.read_text())
    id,prediction,probability_no,probability_yes
    007,no,1,0
    8,yes,0,1
    <BLANKLINE>
    >>> done.n_rows, done.notes
    (2, ("Read with ';' between values and ',' as decimal mark.",))
    """
    options = {"reading": reading, "keep": keep, "block_rows": block_rows}
    rows = open_rows(saved, path, **options)  # type: ignore[arg-type]
    with open_atomically(output) as file:
        return write_predictions(
            saved, rows, file, parquet=writes_parquet(output), progress=progress
        )


def writes_parquet(output: str | PathLike[str] | None) -> bool:
    """Whether a file is to be written as Parquet; then what writes it must be installed."""
    if output is None or not is_parquet(output):
        return False
    require("pyarrow", "Writing Parquet", extra="all", otherwise="Or write CSV.")
    return True


def write_predictions(
    saved: SavedModel,
    rows: RowBlocks,
    file: BinaryIO,
    *,
    parquet: bool,
    progress: Callable[[int, int], Any] | None = None,
    listen: Callable[[tuple[NewRows, Predictions]], Any] | None = None,
) -> PredictedFile:
    """Predict block by block, write to a file that is open, and gather what to say of it."""
    score, agreement = TargetScore(), None
    done, classes, shares = 0, tuple[str, ...](), False
    with (_parquet if parquet else _csv)(file) as write:
        for new in rows:
            predictions = predict_rows(saved.model, new.X, new.sources)
            write(new, predictions)
            classes, shares = predictions.classes, predictions.probabilities is not None
            if saved.target is not None and saved.target in new.table.names:
                score.add(new.table.column(saved.target), predictions)
                agreement = f"The column {saved.target!r} is not needed for predicting"
            done += len(new.X)
            if listen is not None:
                listen((new, predictions))
            if progress is not None and rows.in_blocks:
                progress(done, rows.n_rows)
    agreement = None if agreement is None else f"{agreement}{score.words()}."
    return PredictedFile(done, classes, shares, rows.notes, agreement)


@contextmanager
def _csv(file: BinaryIO) -> Iterator[Write]:
    """Write lines, the first one the names of the columns."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer, heads = csv.writer(text, lineterminator="\n"), list[list[str]]()

    def write(new: NewRows, predictions: Predictions) -> None:
        header, rows = predictions.rows()
        if not heads:
            heads.append(header)
            writer.writerow([*new.kept, *header])
        width = len(heads[0])
        columns = list(new.kept.values())
        for i, row in enumerate(rows):
            gaps = [None] * (width - len(row))
            writer.writerow([*(column[i] for column in columns), *row[:width], *gaps])

    yield write
    text.flush()
    text.detach()


@contextmanager
def _parquet(file: BinaryIO) -> Iterator[Write]:
    """Write groups of rows; the first one tells the columns."""
    arrow = require("pyarrow", "Writing Parquet", extra="all")
    parquet = require("pyarrow.parquet", "Writing Parquet", extra="all")
    writers: list[Any] = []

    def write(new: NewRows, predictions: Predictions) -> None:
        columns = {name: arrow.array(texts, arrow.string()) for name, texts in new.kept.items()}
        told = predictions.columns()
        taken = [name for name in told if name in columns]
        if taken:
            raise ValueError(
                f"Columns to keep have the names of predictions: {listing(taken)}; Parquet needs "
                "different ones. Rename them, or write CSV."
            )
        columns |= {name: arrow.array(values) for name, values in told.items()}
        if not writers:
            schema = arrow.schema([(name, each.type) for name, each in columns.items()])
            writers.append(parquet.ParquetWriter(file, schema))
        schema = writers[0].schema
        none = arrow.nulls(len(new.X))
        block = [columns.get(each.name, none).cast(each.type) for each in schema]
        writers[0].write_table(arrow.Table.from_arrays(block, schema=schema))

    try:
        yield write
    finally:
        for writer in writers:
            writer.close()
