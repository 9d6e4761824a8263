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
from ensemblage.evaluation import MEASURES
from ensemblage.persistence import SavedModel, open_atomically
from ensemblage.studies._new_rows import NewRows, RowBlocks, open_rows


@set_module("ensemblage.studies")
@dataclass(frozen=True)
class Predictions:
    """Predicted classes or numbers.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        The predicted class or number of each row.
    classes : tuple of str
        The model's classes; empty if it predicts numbers.
    probabilities : ndarray of shape (n_rows, n_classes) or None
        None if the model gives no probabilities.
    spread : ndarray of shape (n_rows,) or None
        Standard deviations of predicted numbers; None if the model gives none.
    intervals : ndarray of shape (n_rows, 2) or None
        Ends of intervals that should hold 90 % of the numbers; None without a spread.
    """

    labels: NDArray[Any]
    classes: tuple[str, ...]
    probabilities: NDArray[Any] | None = None
    spread: NDArray[Any] | None = None
    intervals: NDArray[Any] | None = None

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Give a table to write.

        Returns
        -------
        header : list of str
            ``prediction``, then ``probability_CLASS`` for each class, or ``spread``, ``low`` and
            ``high``.
        rows : list of list of str
            The values as text.
        """
        if not self.classes:
            return self._number_rows()
        labels = [[str(label)] for label in self.labels.tolist()]
        if self.probabilities is None:
            return ["prediction"], labels
        header = ["prediction", *(f"probability_{label}" for label in self.classes)]
        shares = [[f"{p:.6g}" for p in row] for row in self.probabilities.tolist()]
        return header, [a + b for a, b in zip(labels, shares, strict=True)]

    def columns(self) -> dict[str, Any]:
        """Give the same table by its columns, with values instead of texts.

        Returns
        -------
        dict of str to array-like
            Classes are texts, all others numbers.
        """
        if self.classes:
            found: dict[str, Any] = {"prediction": list(map(str, self.labels.tolist()))}
            shares = () if self.probabilities is None else np.asarray(self.probabilities).T
            named = zip(self.classes, shares, strict=False)
            return found | {f"probability_{label}": share for label, share in named}
        found = {"prediction": self.labels}
        if self.spread is not None and self.intervals is not None:
            low, high = self.intervals.T
            found |= {"spread": self.spread, "low": low, "high": high}
        return found

    def _number_rows(self) -> tuple[list[str], list[list[str]]]:
        columns = self.columns()
        rows = zip(*(values.tolist() for values in columns.values()), strict=True)
        return list(columns), [[f"{value:.10g}" for value in row] for row in rows]


def predict_rows(model: Any, X: Any, sources: Any = None) -> Predictions:
    """Predict new rows, with probabilities or a spread where the model has them.

    Parameters
    ----------
    model : estimator
        A fitted classifier or regressor.
    X : array-like of shape (n_rows, n_features)
        The rows, in the model's order of columns.
    sources : array-like of shape (n_rows,), default=None
        Where they come from, if the model is told so.

    Returns
    -------
    Predictions
        Labels, classes and probabilities, or numbers and their spread.
    """
    told = {} if sources is None else {"sources": sources}
    if not hasattr(model, "classes_"):
        from ensemblage.studies._scores import number_answers  # noqa: PLC0415  large

        numbers = number_answers(model, X, told)
        return Predictions(numbers.predicted, (), None, numbers.spread, numbers.intervals)
    classes = tuple(str(label) for label in model.classes_)
    if not told:
        from ensemblage._core import final_step, rows_at_final_step  # noqa: PLC0415  large

        # a pipeline prepares the rows once, for classes and for probabilities
        model, X = final_step(model), rows_at_final_step(model, X)
    shares = model.predict_proba(X, **told) if hasattr(model, "predict_proba") else None
    return Predictions(np.asarray(model.predict(X, **told)), classes, shares)


class TargetScore:
    """Counts right classes, or sums squared errors of numbers, block by block."""

    def __init__(self) -> None:
        self._hits = self._classes = self._numbers = 0
        self._squares = 0.0

    def add(self, truth: NDArray[Any], predictions: Predictions) -> None:
        """Compare the next rows; those without a target do not count."""
        if predictions.classes:
            pairs = zip(truth.tolist(), predictions.labels.tolist(), strict=True)
            hits = [a == b for a, b in pairs if a is not None]
            self._hits += sum(hits)
            self._classes += len(hits)
        elif truth.dtype.kind == "f":
            missed = (truth - predictions.labels)[truth == truth]  # noqa: PLR0124  not NaN
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


def predict_dask(model: Any, rows: Any) -> Any:
    """Predict the rows of a Dask collection without bringing them together.

    Nothing is computed here: what comes back is a Dask collection with the same partitions, whose
    blocks are predicted where and when they are asked for.

    Parameters
    ----------
    model : estimator or SavedModel
        A fitted classifier or regressor, or a saved one, as ``load`` gives it. A saved one takes
        its columns by name, and its sources, if it is told them.
    rows : dask.dataframe.DataFrame or dask.array.Array
        The new rows.

    Returns
    -------
    dask.dataframe.DataFrame or dask.array.Array
        Of a frame: a frame with the columns that :func:`predict_file` writes, under the same index.
        Of an array: the predicted class or number of each row, shape (n_rows,).

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemblage.studies import predict_dask
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    >>> found = predict_dask(model, da.from_array([[-1.0], [2.0], [3.0]], chunks=(2, 1)))
    >>> found.chunks, found.compute().tolist()
    (((2, 1),), ['no', 'yes', 'yes'])
    """
    if hasattr(rows, "map_partitions") and hasattr(rows, "columns"):
        return rows.map_partitions(_frame, model, meta=_meta(model))
    if not hasattr(rows, "map_blocks"):
        raise TypeError(
            f"A Dask dataframe or array is expected, got {type(rows).__name__}: for rows in memory "
            "use `predict_rows`, for a file `predict_file`."
        )
    if getattr(rows, "ndim", 0) != 2:
        raise ValueError(f"The array must have two dimensions, got the shape {rows.shape}.")
    estimator = model.model if isinstance(model, SavedModel) else model
    whole = rows.rechunk({1: -1})
    kind = getattr(estimator, "classes_", np.zeros(0)).dtype
    return whole.map_blocks(_labels, estimator, drop_axis=1, dtype=kind)


def _labels(block: Any, estimator: Any) -> Any:
    return estimator.predict(np.asarray(block))


def _frame(part: Any, model: Any) -> Any:
    """Predict a partition of a frame."""
    none = _meta(model)
    found = _predicted(part, model).columns() if len(part) else {}
    pandas = require("pandas", "Predicting a Dask dataframe")
    made = pandas.DataFrame(found, index=part.index, columns=none.columns)
    return made.astype(none.dtypes)


def _meta(model: Any) -> Any:
    """Give a frame without rows, of the columns and types that predictions have."""
    estimator = model.model if isinstance(model, SavedModel) else model
    labels = getattr(estimator, "classes_", None)
    if labels is None:
        from ensemblage._core import final_step  # noqa: PLC0415  large

        spreads = "return_std" in signature(final_step(estimator).predict).parameters
        names = ["prediction", *(["spread", "low", "high"] if spreads else [])]
        columns: dict[str, Any] = {name: np.zeros(0) for name in names}
    else:
        shares = labels if hasattr(estimator, "predict_proba") else ()
        columns = {"prediction": np.zeros(0, dtype=object)}
        columns |= {f"probability_{label}": np.zeros(0) for label in shares}
    return require("pandas", "Predicting a Dask dataframe").DataFrame(columns)


def _predicted(part: Any, model: Any) -> Predictions:
    if not isinstance(model, SavedModel):
        return predict_rows(model, part)
    source = None if model.source is None else model.source.name
    kinds = dict(zip(model.columns, model.kinds, strict=True)) | {source: "categorical"}
    table = frame_table(part, kinds)
    beside = {*model.ignored, *([] if source is None else [source])}
    X = align_columns(table, model.columns, model.target, beside).to_rows()
    told = None if source not in table.names else table.column(source)
    return predict_rows(model.model, X, told)


Write = Callable[[NewRows, Predictions], None]


@set_module("ensemblage.studies")
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
    >>> from ensemblage.studies import PredictedFile
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
    reading: ReadOptions | None = None,
    keep: Sequence[str] = (),
    block_rows: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> PredictedFile:
    r"""Predict the rows of a file and write what is predicted to another.

    A file that is large (text of 64 MB and more, Parquet that would take 256 MB) is read,
    predicted and written in blocks, so that memory does not grow with its rows. The columns are
    read as :func:`ensemblage.studies.read_rows` reads them whole: a text file is looked through
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
    reading : ReadOptions, default=None
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
    >>> from ensemblage.studies import predict_file
    >>> from ensemblage.persistence import SavedModel
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    >>> saved = SavedModel(model, ("size",), ("numeric",), classes=("no", "yes"))
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
