"""Predictions of new rows, to files and to Dask."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from os import PathLike
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import count, listing, require, set_module
from ensemblage.datasets import ReadOptions, align_columns, frame_table, is_parquet
from ensemblage.evaluation import MEASURES, Predictions, model_predictions
from ensemblage.persistence import SavedModel, open_atomically
from ensemblage.studies._new_rows import NewRows, RowBlocks, open_rows

Write = Callable[[NewRows, Predictions], None]


@set_module("ensemblage.studies")
@dataclass(frozen=True)
class PredictedFile:
    """What was predicted of a file, without the predictions.

    ``agreement`` tells how well predictions agree with the target; None if it is not there.
    """

    n_rows: int
    classes: tuple[str, ...]
    has_probabilities: bool
    notes: tuple[str, ...]
    agreement: str | None = None


def predict(
    model: Any,
    rows: Any,
    output: str | PathLike[str] | None = None,
    *,
    sources: Any = None,
    options: ReadOptions | None = None,
    keep: Sequence[str] = (),
    block_rows: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Any:
    r"""Predict new rows in memory, of a file or of a Dask collection.

    A file that is large (text of 64 MB and more, Parquet that would take 256 MB) is read,
    predicted and written in blocks, so that memory does not grow with its rows. A text file is
    looked through once before, since all of it decides on marks, dates and missing values. What
    cannot be understood without all of it (ARFF, spreadsheets, text whose rows are not like the
    first ones) is read whole. Of a Dask collection nothing is computed here.

    Parameters
    ----------
    model : estimator or SavedModel
        A fitted classifier or regressor, or a saved one, as ``load`` gives it. A saved one takes
        columns of files and Dask frames by name; it is needed for a file.
    rows : array-like of shape (n_rows, n_columns), str, path-like or Dask collection
        The new rows in the model's order of columns, a file that ``read_table`` reads (``-`` is
        standard input), or a ``dask.dataframe.DataFrame`` or ``dask.array.Array``.
    output : str or path-like, default=None
        Where to write predictions of a file: Parquet if the name ends in ``.parquet`` or ``.pq``,
        else CSV. The file is there when all of it is written, and not before.
    sources : array-like of shape (n_rows,), default=None
        Where rows in memory come from, if the model takes sources.
    options : ReadOptions, default=None
        How to read the file, where it is not to be found out.
    keep : sequence of str, default=()
        Columns of the file to write as they are beside the predictions.
    block_rows : int, default=None
        Rows of a block, also for a small file; None for as many as make two million values, and
        65,536 at most, of a large one.
    progress : callable, default=None
        Called as ``progress(done, total)`` with numbers of rows after each block of a large file.

    Returns
    -------
    Predictions, PredictedFile, dask.dataframe.DataFrame or dask.array.Array
        Of rows in memory a named tuple: ``y_pred``, and where the model has them ``classes``,
        ``probabilities``, ``std`` and ``intervals``. Of a file the number of rows and notes. Of a
        Dask frame one with the columns of such a file, under the same index; of a Dask array the
        predicted class or number of each row, with the same chunks.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemblage.studies import predict
    >>> from ensemblage.persistence import SavedModel
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    >>> predict(model, [[2.5], [-1.0]]).y_pred.tolist()
    ['yes', 'no']
    >>> saved = SavedModel(model, ("size",), ("numeric",), classes=("no", "yes"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     new, out = Path(folder) / "new.csv", Path(folder) / "out.csv"
    ...     _ = new.write_text("id;size\n007;-1,5\n8;2,5\n")
    ...     done = predict(saved, new, out, keep=["id"])
    ...     print(out.read_text())
    id,prediction,probability_no,probability_yes
    007,no,1,0
    8,yes,0,1
    <BLANKLINE>
    >>> done.n_rows, done.notes
    (2, ("Read with separator ';' and decimal mark ','.",))
    """
    if isinstance(rows, str | PathLike):
        if output is None or not isinstance(model, SavedModel):
            raise TypeError("Rows of a file need a saved model, as `load` gives it, and `output`.")
        blocks = open_rows(model, rows, options=options, keep=keep, block_rows=block_rows)
        with open_atomically(output) as file:
            return write_predictions(
                model, blocks, file, parquet=writes_parquet(output), progress=progress
            )
    if hasattr(rows, "map_partitions") and hasattr(rows, "columns"):
        return rows.map_partitions(_predict_frame, model, meta=_meta(model))
    estimator = model.model if isinstance(model, SavedModel) else model
    if hasattr(rows, "map_blocks"):
        if rows.ndim != 2:
            raise ValueError(f"The array must have two dimensions, got the shape {rows.shape}.")
        kind = getattr(estimator, "classes_", np.zeros(0)).dtype
        return rows.rechunk({1: -1}).map_blocks(_labels, estimator, drop_axis=1, dtype=kind)
    return predict_rows(estimator, rows, sources)


def predict_rows(model: Any, X: Any, sources: Any = None) -> Predictions:
    return model_predictions(model, X, {} if sources is None else {"sources": sources})


def _labels(block: Any, estimator: Any) -> Any:
    return estimator.predict(np.asarray(block))


def _predict_frame(part: Any, model: Any) -> Any:
    """Predict a partition of a frame, whose columns a saved model takes by name."""
    pandas, empty = require("pandas", "Predicting a Dask dataframe"), _meta(model)
    if not len(part):
        return empty
    if isinstance(model, SavedModel):
        source = None if model.source is None else model.source.name
        kinds = dict(zip(model.columns, model.kinds, strict=True)) | {source: "categorical"}
        table = frame_table(part, kinds)
        beside = {*model.ignored, *([] if source is None else [source])}
        X = align_columns(table, model.columns, model.target, beside).to_rows()
        sources = None if source not in table.names else table.column(source)
        found = predict_rows(model.model, X, sources)
    else:
        found = predict_rows(model, part)
    made = pandas.DataFrame(prediction_columns(found), index=part.index, columns=empty.columns)
    return made.astype(empty.dtypes)


def _meta(model: Any) -> Any:
    """Give a frame without rows, of the columns and types that predictions have."""
    estimator = model.model if isinstance(model, SavedModel) else model
    labels = getattr(estimator, "classes_", None)
    if labels is None:
        from ensemblage._core import final_step  # noqa: PLC0415  large

        has_std = "return_std" in signature(final_step(estimator).predict).parameters
        names = ["prediction", *(["spread", "low", "high"] if has_std else [])]
        columns: dict[str, Any] = {name: np.zeros(0) for name in names}
    else:
        shares = labels if hasattr(estimator, "predict_proba") else ()
        columns = {"prediction": np.zeros(0, dtype=object)}
        columns |= {f"probability_{label}": np.zeros(0) for label in shares}
    return require("pandas", "Predicting a Dask dataframe").DataFrame(columns)


def prediction_columns(predictions: Predictions) -> dict[str, Any]:
    """Name columns to write: classes are texts, all others numbers."""
    if predictions.classes:
        found: dict[str, Any] = {"prediction": list(map(str, predictions.y_pred.tolist()))}
        shares = () if predictions.probabilities is None else predictions.probabilities.T
        named = zip(predictions.classes, shares, strict=False)
        return found | {f"probability_{label}": share for label, share in named}
    found = {"prediction": predictions.y_pred}
    if predictions.std is not None and predictions.intervals is not None:
        low, high = predictions.intervals.T
        found |= {"spread": predictions.std, "low": low, "high": high}
    return found


class TargetScore:
    """Counts right classes, or sums squared errors of numbers, block by block."""

    def __init__(self) -> None:
        self._hits = self._classes = self._numbers = 0
        self._squares = 0.0

    def add(self, truth: NDArray[Any], predictions: Predictions) -> None:
        """Compare the next rows; those without a target do not count."""
        if predictions.classes:
            pairs = zip(truth.tolist(), predictions.y_pred.tolist(), strict=True)
            hits = [a == b for a, b in pairs if a is not None]
            self._hits += sum(hits)
            self._classes += len(hits)
        elif truth.dtype.kind == "f":
            missed = (truth - predictions.y_pred)[truth == truth]  # noqa: PLR0124  not NaN
            self._squares += float((missed**2).sum())
            self._numbers += len(missed)

    def words(self) -> str:
        """Say how well they agree, to end a sentence; nothing if there is nothing to say."""
        if self._classes:
            return f"; {self._hits} of {self._classes} predictions agree with it"
        if not self._numbers:
            return ""
        rmse = MEASURES["rmse"].written((self._squares / self._numbers) ** 0.5)
        return f"; against its {count(self._numbers, 'number')} predictions have an RMSE of {rmse}"


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
            classes = tuple(map(str, predictions.classes))
            shares = predictions.probabilities is not None
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
    writer, heads = csv.writer(text, lineterminator="\n"), list[str]()

    def write(new: NewRows, predictions: Predictions) -> None:
        found = prediction_columns(predictions)
        form = ".6g" if predictions.classes else ".10g"
        if not heads:
            heads.extend(found)
            writer.writerow([*new.kept, *heads])
        columns = list(new.kept.values())
        for name in heads:  # a later block may lack what the first one has
            values = found.get(name)
            if values is None:
                columns.append([None] * len(new.X))
            elif isinstance(values, list):
                columns.append(values)
            else:
                columns.append([f"{value:{form}}" for value in values.tolist()])
        writer.writerows(zip(*columns, strict=True))

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
        found = prediction_columns(predictions)
        taken = [name for name in found if name in columns]
        if taken:
            raise ValueError(
                f"Columns to keep have the names of predictions: {listing(taken)}; Parquet needs "
                "different ones. Rename them, or write CSV."
            )
        columns |= {name: arrow.array(values) for name, values in found.items()}
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
