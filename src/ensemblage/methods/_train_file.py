"""One model of a Parquet file that need not fit into memory, and its score on rows held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from msgspec.structs import asdict
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from ensemblage.blocks import ParquetBlocks, ParquetParts, column_extent, standardised
from ensemblage.datasets import (
    Dataset,
    FileTarget,
    fold_labels,
    number_columns,
    read_parquet_target,
)
from ensemblage.messages import listing
from ensemblage.methods._fold_scores import score_predictions
from ensemblage.methods._method import Method
from ensemblage.methods._number_scores import score_numbers
from ensemblage.methods._own_scores import OF_CLASSES, OF_NUMBERS, comparison_of_parts
from ensemblage.methods._registry import get_method, in_blocks
from ensemblage.methods._train import Trained, bare
from ensemblage.parallel import deal_folds, members_on, rows_on
from ensemblage.runs import recorded_warnings
from ensemblage.strata import pick_rows
from ensemblage.tables import TableEncoder

HELD_OUT, FEWEST = 20_000, 100
"""So many rows are held out at most, a fifth of all if these are few; and so many there must be."""
LARGEST = 1e100


@dataclass(frozen=True)
class TrainedFile:
    """A model of a file's rows, and how good to expect it to be.

    Parameters
    ----------
    trained : Trained
        The model, and its scores on rows that it had not seen.
    held_out : Dataset
        These rows.
    n_rows : int
        Rows that it was fitted on.
    classes : dict of str to int
        How many of them each class has; empty if numbers are predicted.
    left_out : tuple of str
        Columns that the model does not look at, since they hold one value.

    See Also
    --------
    train_file : Gives it.

    Examples
    --------
    >>> from ensemblage.methods import TrainedFile
    >>> TrainedFile(None, None, 400, {"no": 190, "yes": 210}).classes["yes"]
    210
    """

    trained: Trained
    held_out: Dataset
    n_rows: int
    classes: dict[str, int]
    left_out: tuple[str, ...] = ()


def train_file(
    path: str | PathLike[str],
    target: str,
    method: str = "strata",
    *,
    drop: Sequence[str] = (),
    task: str | None = None,
    n_splits: int = 5,
    seed: int = 0,
    n_jobs: int | None = None,
    scheduler: str | None = None,
) -> TrainedFile:
    """Fit a method to the rows of a Parquet file, block by block, numbers standardised.

    The target alone is read into memory. 20,000 rows, or a fifth of fewer than 100,000, are drawn
    by the seed and held out; the model is scored on them.

    Parameters
    ----------
    path : str or path-like
        The file; all its columns but the target and those left out must be numbers without gaps.
    target : str
        The column to predict. Rows without a value there are left out.
    method : str, default="strata"
        A method that can be fitted so.
    drop : sequence of str, default=()
        Columns to leave out.
    task : {"classification", "regression"}, default=None
        Whether classes or numbers are to be predicted; by default what the target holds decides.
    n_splits : int, default=5
        Parts in which the rows held out are scored, which tells how far chance goes.
    seed : int, default=0
        The only source of randomness.
    n_jobs : int, default=None
        Processes for members, as in joblib; the model is the same for any number.
    scheduler : str, default=None
        Address of a Dask scheduler, ``tcp://...``: its workers read the file themselves, which
        must have the same path there, hold its rows, and fit members.

    Returns
    -------
    TrainedFile
        The model, as :func:`train` gives it, and its scores.

    See Also
    --------
    train : The same of rows in memory.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> from ensemblage.methods import train_file
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> table = pa.table({"a": X[:, 0], "b": X[:, 1], "class": np.where(X[:, 0] > 0, "yes", "no")})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.parquet"
    ...     parquet.write_table(table, path)
    ...     found = train_file(path, "class")
    >>> found.trained.comparison.summary[0].accuracy > 0.9
    True
    >>> found.trained.model.predict([[3.0, 0.0]])
    array(['yes'], dtype='<U3')
    """
    if not in_blocks(method):
        raise ValueError(
            f"The method {method!r} needs all rows in memory: take 'strata' for a file that is "
            "read in blocks."
        )
    names = number_columns(path, target, drop)
    y = read_parquet_target(path, target, task)
    chosen = get_method(method, y.task.name)
    held = _hold_out(y, target, seed)
    with rows_on(scheduler), members_on(scheduler):
        read = ParquetBlocks if scheduler is None else ParquetParts
        rows = read(path, names)
        names, constant = _varying(rows, names, target)
        rows = read(path, names) if constant else rows
        if rows.shape[0] != len(y.values):
            raise ValueError(f"{path} changed while it was read: fit again.")
        jobs, began = n_jobs if scheduler is None else -1, perf_counter()
        with threadpool_limits(1, "blas"), recorded_warnings() as said:
            model = _fitted(chosen.factory(seed, jobs), rows, y, held, names)
        seconds = perf_counter() - began
        X = pick_rows(rows, held).astype(np.float64)
    dataset = Dataset(
        Path(path).name, X, np.array(y.classes)[y.values[held]] if y.classes else y.values[held],
        tuple(names), ("number",) * len(names), target, origin=str(path), task_reason=y.reason,
        notes=tuple(_notes(y, target, constant)),
    )  # fmt: skip
    scores = _scored(model, dataset, chosen, n_splits, seconds)
    trained = Trained(bare(model), model, scores, chosen.name, tuple(dict.fromkeys(said)))
    own = y.known
    own[held] = False
    counts = np.bincount(y.values[own], minlength=len(y.classes)).tolist() if y.classes else []
    classes = dict(zip(y.classes, counts, strict=True))
    return TrainedFile(trained, dataset, int(own.sum()), classes, tuple(constant))


def _hold_out(y: FileTarget, target: str, seed: int) -> NDArray[np.intp]:
    """Draw rows to hold out, each that has a value of the target as likely as any other."""
    known = np.flatnonzero(y.known)
    if len(known) < FEWEST:
        raise ValueError(
            f"{len(known)} rows have a value of {target!r}; a fit in blocks holds some out, and "
            f"needs {FEWEST} at least."
        )
    most = min(HELD_OUT, len(known) // 5)
    chosen = np.random.default_rng(seed).choice(known, most, replace=False, shuffle=False)
    return np.sort(chosen)


def _varying(rows: Any, names: list[str], target: str) -> tuple[list[str], list[str]]:
    """Look at all values once, and part the columns that vary from the others."""
    extent = column_extent(rows)
    if extent.largest > LARGEST:
        raise ValueError(
            f"Numbers as large as {extent.largest:g} cannot be squared and summed: divide their "
            "columns."
        )
    varies = extent.lowest < extent.highest
    if not varies.any():
        raise ValueError(f"Every column beside {target!r} is constant: nothing can be learned.")
    parted = {each: [n for n, v in zip(names, varies, strict=True) if v == each] for each in (1, 0)}
    return parted[1], parted[0]


def _fitted(
    estimator: Any, rows: Any, y: FileTarget, held: NDArray[np.intp], names: list[str]
) -> Pipeline:
    """Fit to all rows but those held out, which have no weight; give the model of raw rows."""
    source, scaling = standardised(rows)
    # two rows of the same means and deviations teach an encoder what all of them would
    corners = np.stack([scaling.centre - scaling.spread, scaling.centre + scaling.spread])
    encoder = TableEncoder(kinds=["number"] * len(names), random_state=0).fit(corners)
    if not encoder.varying_.all():
        name = names[int(np.argmin(encoder.varying_))]
        raise ValueError(
            f"Column {name!r} varies too little for its size: take a number from all of it, or "
            "leave it out."
        )
    weights = y.known.astype(np.float64)
    weights[held] = 0.0
    labels = y.values if y.known.all() else np.where(y.known, y.values, y.values.dtype.type(0))
    estimator.fit(source, labels, sample_weight=weights)
    estimator.__dict__.pop("feature_names_in_", None)  # the encoder hands it arrays
    if y.classes:
        estimator.classes_ = np.array(y.classes)[estimator.classes_]
    return Pipeline([("table", encoder), ("model", estimator)])


def _scored(model: Pipeline, dataset: Dataset, method: Method, parts: int, seconds: float) -> Any:
    """Score the rows held out, in parts."""
    n_parts = max(2, min(parts, dataset.most_folds))
    folds = deal_folds(fold_labels(dataset.y), n_parts, np.random.default_rng(0))
    score: Any = score_predictions if dataset.classes else score_numbers
    found = [asdict(score(model, dataset.X[test], dataset.y[test])) for _, test in folds]
    wanted = OF_CLASSES if dataset.classes else OF_NUMBERS
    said = (
        f"The score is of {len(dataset.y)} rows that were held out of the fit, in {n_parts} parts."
    )
    scores = [{name: each[name] for name in wanted} for each in found]
    return comparison_of_parts(dataset, method, scores, seconds, said)


def _notes(y: FileTarget, target: str, constant: list[str]) -> list[str]:
    missing = int((~y.known).sum())
    notes = [f"Rows without a value of {target!r}, left out: {missing}."] if missing else []
    if constant:
        notes.append(f"Columns of one value, left out: {listing(map(repr, constant))}.")
    return notes
