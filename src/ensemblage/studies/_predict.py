"""Predictions for new rows in memory, in files and in Dask collections."""

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

from ensemblage._core import count, listing, no_formula, require, set_module
from ensemblage.datasets import ReadOptions, align_columns, frame_table, is_parquet
from ensemblage.evaluation import MEASURES, Predictions, model_predictions
from ensemblage.persistence import SavedModel, is_same_file, open_atomically
from ensemblage.studies._documents import UnknownSources
from ensemblage.studies._new_rows import NewRows, RowBlocks, open_rows, read_sources

# Writes a block of rows; returns the number of cells with an apostrophe before a formula.
Write = Callable[[NewRows, Predictions], int]


@set_module("ensemblage.studies")
@dataclass(frozen=True)
class PredictedFile:
    """Summary of the predictions for a file.

    ``agreement`` is a sentence on the accuracy or RMSE; None if the file has no target.
    ``unknown_sources`` are rows of unknown sources; None if the model uses no source.
    """

    n_rows: int
    classes: tuple[str, ...]
    has_probabilities: bool
    notes: tuple[str, ...]
    agreement: str | None = None
    unknown_sources: UnknownSources | None = None


def predict(
    model: Any,
    rows: Any,
    output: str | PathLike[str] | None = None,
    *,
    sources: Any = None,
    options: ReadOptions | None = None,
    keep: Sequence[str] = (),
    raw: bool = False,
    block_rows: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Any:
    r"""Predict new rows in memory, in a file or in a Dask collection.

    A large file (text of 8 MB and more, Parquet that would take 256 MB) is read, predicted and
    written in blocks, so that memory does not grow with its rows. A text file is scanned once
    before, since all rows decide on decimal marks, dates and missing values. ARFF, spreadsheets,
    and text whose rows are not like the first ones are read whole. For a Dask collection the result
    is lazy.

    Parameters
    ----------
    model : estimator or SavedModel
        A fitted classifier or regressor, or a saved one, as ``load`` gives it. A saved one takes
        columns of files and Dask frames by name; it is needed for a file.
    rows : array-like of shape (n_rows, n_columns), str, path-like or Dask collection
        The new rows in the model's order of columns, a file that ``read_table`` reads (``-`` is
        standard input), or a ``dask.dataframe.DataFrame`` or ``dask.array.Array``.
    output : str or path-like, default=None
        File for the predictions: Parquet if the name ends in ``.parquet`` or ``.pq``, else CSV. It
        is written atomically.
    sources : array-like of shape (n_rows,) or (n_rows, 2), default=None
        Source of each row in memory, for a source-aware model; of nested sources both levels.
    options : ReadOptions, default=None
        Options for reading the file; None infers them.
    keep : sequence of str, default=()
        Columns of the file to write beside the predictions.
    raw : bool, default=False
        Whether to write text as it is to CSV. By default a text that a spreadsheet would evaluate
        as a formula, such as ``=1+1``, is written with an apostrophe before it, and a note gives
        the number of such cells.
    block_rows : int, default=None
        Rows of a block, also for a small file; None: two million values, and at most 65,536 rows,
        of a large one.
    progress : callable, default=None
        Called as ``progress(done, total)`` with numbers of rows after each block of a large file.

    Returns
    -------
    Predictions, PredictedFile, dask.dataframe.DataFrame or dask.array.Array
        For rows in memory a named tuple: ``y_pred``, and where the model has them ``classes``,
        ``probabilities``, ``std`` and ``intervals``. For a file the number of rows and notes. For a
        Dask frame a frame with the columns of such a file and the same index; for a Dask array the
        predicted class or value of each row, with the same chunks.

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
            raise TypeError("Predicting a file needs a model from `load()`, and `output`.")
        if is_same_file(rows, output):
            raise ValueError(f"The output {output} is also the file to predict: name another file.")
        blocks = open_rows(model, rows, options=options, keep=keep, block_rows=block_rows)
        with open_atomically(output) as file:
            return write_predictions(
                model, blocks, file, parquet=writes_parquet(output), raw=raw, progress=progress
            )
    if hasattr(rows, "map_partitions") and hasattr(rows, "columns"):
        return rows.map_partitions(_predict_frame, model, meta=_meta(model))
    estimator = model.model if isinstance(model, SavedModel) else model
    if hasattr(rows, "map_blocks"):
        if rows.ndim != 2:
            raise ValueError(f"Expected a 2-dimensional array, got one of shape {rows.shape}.")
        kind = getattr(estimator, "classes_", np.zeros(0)).dtype
        return rows.rechunk({1: -1}).map_blocks(_labels, estimator, drop_axis=1, dtype=kind)
    return predict_rows(estimator, rows, sources)


def predict_rows(model: Any, X: Any, sources: Any = None) -> Predictions:
    return model_predictions(model, X, {} if sources is None else {"sources": sources})


def _labels(block: Any, estimator: Any) -> Any:
    return estimator.predict(np.asarray(block))


def _predict_frame(part: Any, model: Any) -> Any:
    """Predict a partition of a frame; columns are matched by name for a saved model."""
    pandas, empty = require("pandas", "Predicting a Dask dataframe"), _meta(model)
    if not len(part):
        return empty
    if isinstance(model, SavedModel):
        levels = () if model.source is None else model.source.names
        kinds: dict[str | None, str] = dict(zip(model.columns, model.kinds, strict=True))
        table = frame_table(part, kinds | dict.fromkeys(levels, "categorical"))
        beside = {*model.ignored, *levels}
        X = align_columns(table, model.columns, model.target, beside).to_rows()
        found = predict_rows(model.model, X, read_sources(model.source, table))
    else:
        found = predict_rows(model, part)
    made = pandas.DataFrame(prediction_columns(found), index=part.index, columns=empty.columns)
    return made.astype(empty.dtypes)


def _meta(model: Any) -> Any:
    """Empty frame with the columns and types of the predictions."""
    estimator = model.model if isinstance(model, SavedModel) else model
    labels = getattr(estimator, "classes_", None)
    if labels is None:
        from ensemblage._core import final_step  # noqa: PLC0415  large

        has_std = "return_std" in signature(final_step(estimator).predict).parameters
        names = ["prediction", *(["std", "lower", "upper"] if has_std else [])]
        columns: dict[str, Any] = {name: np.zeros(0) for name in names}
    else:
        shares = labels if hasattr(estimator, "predict_proba") else ()
        columns = {"prediction": np.zeros(0, dtype=object)}
        columns |= {f"probability_{label}": np.zeros(0) for label in shares}
    return require("pandas", "Predicting a Dask dataframe").DataFrame(columns)


def prediction_columns(predictions: Predictions) -> dict[str, Any]:
    """Columns of a file of predictions: classes as text, all others numeric."""
    if predictions.classes:
        found: dict[str, Any] = {"prediction": list(map(str, predictions.y_pred.tolist()))}
        shares = () if predictions.probabilities is None else predictions.probabilities.T
        named = zip(predictions.classes, shares, strict=False)
        return found | {f"probability_{label}": share for label, share in named}
    found = {"prediction": predictions.y_pred}
    if predictions.std is not None and predictions.intervals is not None:
        lower, upper = predictions.intervals.T
        found |= {"std": predictions.std, "lower": lower, "upper": upper}
    return found


class TargetScore:
    """Accuracy or RMSE of the predictions, accumulated block by block."""

    def __init__(self) -> None:
        self._n_correct = self._n_rows = 0
        self._squares = 0.0
        self._is_accuracy = False

    def add(self, truth: NDArray[Any], predictions: Predictions) -> None:
        """Add rows; those without a target are ignored."""
        if predictions.classes:
            pairs = zip(truth.tolist(), predictions.y_pred.tolist(), strict=True)
            correct = [a == b for a, b in pairs if a is not None]
            self._n_correct += sum(correct)
            self._n_rows += len(correct)
            self._is_accuracy = True
        elif truth.dtype.kind == "f":
            residuals = (truth - predictions.y_pred)[truth == truth]  # noqa: PLR0124  not NaN
            self._squares += float((residuals**2).sum())
            self._n_rows += len(residuals)

    def sentence(self, target: str) -> str:
        """State the score, and that the target was not used."""
        start = f"The target {target!r} was not used"
        if not self._n_rows:
            return f"{start}."
        rows = count(self._n_rows, "row")
        if self._is_accuracy:
            share = self._n_correct / self._n_rows
            return f"{start}; accuracy {share:.4f} ({self._n_correct} of {rows})."
        rmse = MEASURES["rmse"].written((self._squares / self._n_rows) ** 0.5)
        return f"{start}; RMSE {rmse} ({rows})."


def writes_parquet(output: str | PathLike[str] | None) -> bool:
    """Whether the file is Parquet, which needs pyarrow."""
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
    raw: bool = False,
    progress: Callable[[int, int], Any] | None = None,
    on_block: Callable[[tuple[NewRows, Predictions]], Any] | None = None,
) -> PredictedFile:
    """Predict block by block, and write to an open file."""
    score, has_target = TargetScore(), False
    done, formulas, classes, shares = 0, 0, tuple[str, ...](), False
    with _parquet(file) if parquet else _csv(file, raw=raw) as write:
        for new in rows:
            predictions = predict_rows(saved.model, new.X, new.sources)
            formulas += write(new, predictions)
            classes = tuple(map(str, predictions.classes))
            shares = predictions.probabilities is not None
            if saved.target is not None and saved.target in new.table.names:
                score.add(new.table.column(saved.target), predictions)
                has_target = True
            done += len(new.X)
            if on_block is not None:
                on_block((new, predictions))
            if progress is not None and rows.in_blocks:
                progress(done, rows.n_rows)
    agreement = score.sentence(str(saved.target)) if has_target else None
    notes = rows.notes
    if formulas:
        cells = f"An apostrophe was put before the text of {count(formulas, 'cell')}"
        notes += (f"{cells}, which a spreadsheet would evaluate; `raw` keeps the text as it is.",)
    return PredictedFile(done, classes, shares, notes, agreement, rows.unknown_sources)


@contextmanager
def _csv(file: BinaryIO, *, raw: bool) -> Iterator[Write]:
    """Write rows of CSV, with a header; formulas are escaped unless ``raw``."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer, heads = csv.writer(text, lineterminator="\n"), list[str]()

    formulas = 0

    def escape(texts: Sequence[str | None]) -> Sequence[str | None]:
        nonlocal formulas
        escaped = texts if raw else [no_formula(text) for text in texts]
        formulas += sum(a is not b for a, b in zip(texts, escaped, strict=True))
        return escaped

    def write(new: NewRows, predictions: Predictions) -> int:
        found = prediction_columns(predictions)
        form = ".6g" if predictions.classes else ".10g"
        before = formulas
        if not heads:
            heads.extend(found)
            writer.writerow(escape([*new.kept, *heads]))
        columns = [escape(texts) for texts in new.kept.values()]
        for name in heads:  # a later block may lack columns of the first
            values = found.get(name)
            if values is None:
                columns.append([None] * len(new.X))
            elif isinstance(values, list):
                columns.append(escape(values))
            else:
                columns.append([f"{value:{form}}" for value in values.tolist()])
        writer.writerows(zip(*columns, strict=True))
        return formulas - before

    yield write
    text.flush()
    text.detach()


@contextmanager
def _parquet(file: BinaryIO) -> Iterator[Write]:
    """Write row groups; the first one sets the schema."""
    arrow = require("pyarrow", "Writing Parquet", extra="all")
    parquet = require("pyarrow.parquet", "Writing Parquet", extra="all")
    writers: list[Any] = []

    def write(new: NewRows, predictions: Predictions) -> int:
        columns = {name: arrow.array(texts, arrow.string()) for name, texts in new.kept.items()}
        found = prediction_columns(predictions)
        taken = [name for name in found if name in columns]
        if taken:
            raise ValueError(
                f"Columns to keep have the same names as prediction columns: {listing(taken)}. "
                "Rename them, or write CSV."
            )
        columns |= {name: arrow.array(values) for name, values in found.items()}
        if not writers:
            schema = arrow.schema([(name, each.type) for name, each in columns.items()])
            writers.append(parquet.ParquetWriter(file, schema))
        schema = writers[0].schema
        none = arrow.nulls(len(new.X))
        block = [columns.get(each.name, none).cast(each.type) for each in schema]
        writers[0].write_table(arrow.Table.from_arrays(block, schema=schema))
        return 0

    try:
        yield write
    finally:
        for writer in writers:
            writer.close()
