"""Training of a method on a dataset or a large file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from ensemblage._core import deal_folds, free_memory, listing, set_module
from ensemblage.blocks import ParquetBlocks, ParquetParts, column_range, pick_rows, standardised
from ensemblage.datasets import (
    Dataset,
    TableEncoder,
    Target,
    fold_labels,
    is_parquet,
    numeric_columns,
    open_table,
    parquet_bytes,
    read_parquet_target,
)
from ensemblage.evaluation import Predictions
from ensemblage.studies._compare import AUTO, compare, comparison_of, source_notes
from ensemblage.studies._documents import Comparison, MethodScores
from ensemblage.studies._methods import METHODS, Method, get_method, make_model
from ensemblage.studies._runner import recorded_warnings, worth_workers
from ensemblage.studies._study import MethodPoint, Splits, Study, score_model
from ensemblage.studies._workers import members_on, rows_on

# Memory of a fit, in sizes of the table: the table itself, and copies for folds and members.
COPIES = 2
# Bytes.
GIGABYTE = 1e9
# Test rows held out of a file at most; a fifth of the rows if that is less.
MAX_HELD_OUT = 20_000
# Rows with a target that a file needs at least.
MIN_ROWS = 100
# Larger absolute values would overflow when squared and summed.
MAX_VALUE = 1e100
NOTE = (
    "The score is out of fold: each fold is scored with settings and weights chosen on the other "
    "folds."
)
HOLDOUT_NOTE = (
    "The score is of a holdout set: each fifth of it is scored with weights chosen on the rest."
)


@set_module("ensemblage.studies")
@dataclass(frozen=True)
class Trained:
    """A fitted model with its cross-validated scores.

    Parameters
    ----------
    model : Pipeline
        Preprocessing and method, fitted on all rows; without a hyperparameter search.
    fitted : Pipeline
        The fitted pipeline, with the hyperparameter search if there was one.
    comparison : Comparison
        Cross-validated scores of the method, or scores on held-out rows.
    method : Method
        The fitted method.
    dataset : Dataset
        The rows; for a file read in blocks the held-out ones.
    n_rows : int
        Number of training rows.
    classes : dict of str to int
        Number of training rows of each class; empty in regression.
    warnings : tuple of str
        Warnings of the fit.
    left_out : tuple of str
        Constant columns of a file read in blocks, which the model does not use.
    held_out : bool
        Whether the dataset was held out of the fit.
    """

    model: Pipeline
    fitted: Pipeline
    comparison: Comparison
    method: Method
    dataset: Dataset
    n_rows: int
    classes: dict[str, int]
    warnings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    held_out: bool = False


def train(
    data: Dataset | str | PathLike[str],
    method: str = "auto",
    *,
    target: str | None = None,
    drop: Sequence[str] = (),
    task: str | None = None,
    n_splits: int = 5,
    seed: int = 0,
    n_jobs: int | None = None,
    scheduler: str | None = None,
    time_budget: float | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Trained:
    """Cross-validate a method, then fit it on all rows; or fit it to a Parquet file in blocks.

    A pool is fitted once, and scored by its out-of-fold predictions. Of a file, only the target is
    read into memory; 20,000 random rows, or a fifth of fewer than 100,000, are held out to score
    the model.

    Parameters
    ----------
    data : Dataset, str or path-like
        The rows, or a Parquet file whose features are numeric without missing values.
    method : str, default="auto"
        The name of a method, see ``METHODS``; "auto" is a pool. A file needs one that can be
        fitted in blocks, "strata".
    target : str, default=None
        The column of a file to predict. Rows with a missing target are left out.
    drop : sequence of str, default=()
        Columns of a file to leave out.
    task : {"classification", "regression"}, default=None
        The task; by default inferred from a file's target.
    n_splits : int, default=5
        Folds of the cross-validation; at most the rows of the largest class, or half of all rows in
        regression. For a file, the parts in which the held-out rows are scored.
    seed : int, default=0
        Random seed of folds and fits.
    n_jobs : int, default=None
        Processes, as in joblib; the model is the same for any number.
    scheduler : str, default=None
        Address of a Dask scheduler whose workers fit folds and members instead. They read a file
        themselves, under the same path, and hold its rows in memory.
    time_budget : float, default=None
        Seconds that a pool may take to fit; other methods have no budget.
    progress : callable, default=None
        Called as ``progress(done, total)`` at the start and after each fit to rows in memory.

    Returns
    -------
    Trained
        The ``model``, its scores as a ``comparison``, and the scored ``dataset``.

    Examples
    --------
    >>> from ensemblage.datasets import load_dataset
    >>> from ensemblage.studies import train
    >>> trained = train(load_dataset("iris"), "logistic", n_splits=3)
    >>> trained.comparison.summary[0].accuracy > 0.9
    True
    >>> trained.model.predict([[5.1, 3.5, 1.4, 0.2]])
    array(['setosa'], dtype='<U10')

    A file:

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> table = pa.table({"a": X[:, 0], "b": X[:, 1], "class": np.where(X[:, 0] > 0, "yes", "no")})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.parquet"
    ...     parquet.write_table(table, path)
    ...     trained = train(path, "strata", target="class")
    >>> trained.n_rows, trained.comparison.summary[0].accuracy > 0.9
    (400, True)
    """
    if not isinstance(data, Dataset):
        if target is None:
            raise ValueError("A file needs `target`, the column to predict.")
        return _train_blocks(data, target, method, drop, task, n_splits, seed, n_jobs, scheduler)
    folds = max(2, min(n_splits, data.max_folds))
    chosen = get_method(method, data.task.name)
    _check_budget(chosen, time_budget)
    params = chosen.fit_params(data.sources, new_sources=False)
    expected, wanted = chosen.expected_seconds(len(data.y)), n_jobs if scheduler is None else -1
    expected = min(expected, time_budget or expected)
    step, scores = _WithFinalFit(progress, expected), None
    if chosen.has_oof_predictions:
        jobs = wanted if worth_workers(expected, wanted) else None
        step.expect(0.0, 0.0)
        step(0, 0)
    else:
        scores = compare(
            data, methods=[method], n_splits=folds, seed=seed, n_jobs=n_jobs, scheduler=scheduler,
            progress=step,
        )  # fmt: skip
        jobs = _jobs_for(scores, n_jobs) if scheduler is None else -1
    with members_on(scheduler):
        model = make_model(chosen, data.columns, seed, jobs, task=data.task.name)
        if scores is None:
            model.set_params(model__cv=folds, model__time_budget=time_budget)
        began = perf_counter()
        # One BLAS thread, so that sums have the same order as in worker processes.
        with threadpool_limits(1, "blas"), recorded_warnings() as warned:
            model.fit(data.X, data.y, **params)
        if scores is None:
            scores = own_comparison(data, chosen, model[-1], perf_counter() - began)
    step.finish()
    return Trained(
        bare(model), model, scores, chosen, data, len(data.y), data.classes,
        tuple(dict.fromkeys(warned)),
    )  # fmt: skip


def _check_budget(method: Method, time_budget: float | None) -> None:
    if time_budget is not None and not method.has_oof_predictions:
        raise ValueError(
            f"`time_budget` is {time_budget:g} s, but the method {method.name!r} has no budget: "
            "omit it, or use the pool, 'auto'."
        )


class _WithFinalFit:
    """Reports progress of the folds and of the final fit on all rows."""

    def __init__(self, progress: Any, seconds: float) -> None:
        self._progress, self._seconds, self._total = progress, seconds, 1

    def expect(self, spent: float, whole: float) -> None:
        """Add the cost of the final fit."""
        if hasattr(self._progress, "expect"):
            self._progress.expect(spent, whole + self._seconds)

    def __call__(self, done: int, total: int) -> None:
        self._total = total + 1
        if self._progress is not None:
            self._progress(done, self._total)

    def finish(self) -> None:
        """Report that the final fit is done."""
        self(self._total, self._total - 1)


def _jobs_for(scores: Comparison, n_jobs: int | None) -> int | None:
    """Return the workers of the final fit: several only if the fastest fold was slow.

    Slower folds may have waited for kernels to be compiled, or for other programs.
    """
    seconds = [each for each in scores.methods[0].seconds if each is not None]
    return n_jobs if worth_workers(min(seconds, default=0.0), n_jobs) else None


def bare(model: Pipeline) -> Pipeline:
    """Remove the hyperparameter search and the number of processes."""
    best = getattr(model[-1], "best_estimator_", model[-1])
    model = Pipeline([*model.steps[:-1], ("model", best)])
    names = [name for name in model.get_params() if name.endswith("n_jobs")]
    return model.set_params(**dict.fromkeys(names))


def own_comparison(dataset: Dataset, method: Method, pool: Any, seconds: float) -> Comparison:
    """Score a pool's out-of-fold predictions, as a comparison of one method.

    Of a pool with sources these are the predictions with the source known.
    They are scored in as many parts as the pool has folds, which gives a standard error.
    """
    from ensemblage.pool import LARGE_DATA_ROWS  # noqa: PLC0415  is imported with any pool

    by_source = getattr(pool, "source_pool_", None)
    record = pool.out_of_fold_
    if by_source is not None and by_source.helps:
        record = by_source.pool.out_of_fold
    parts = deal_folds(
        record.target.stratification_labels(record.y), pool.cv, np.random.default_rng(0)
    )
    labels, scored = np.asarray(getattr(pool, "classes_", ())), []
    for _, test in parts:
        outputs, y = record.pool_outputs[test], record.y[test]
        if dataset.classes:
            proba = np.asarray(outputs, dtype=float)
            y, y_pred = labels[y], labels[proba.argmax(axis=1)]
            predictions = Predictions(y_pred, tuple(labels.tolist()), proba, proba)
        else:  # without intervals, as their width was fitted on these rows
            predictions = Predictions(outputs[:, 0], std=np.sqrt(outputs[:, 1]))
        scored.append(dataset.task.scores(y, predictions))
    how = HOLDOUT_NOTE if len(dataset.y) > LARGE_DATA_ROWS else NOTE
    notes = [*source_notes(dataset, {method.name: method}, new_sources=False), how]
    return comparison_of_parts(dataset, method, scored, seconds, notes)


def comparison_of_parts(
    dataset: Dataset,
    method: Method,
    scored: Sequence[Mapping[str, float | None]],
    seconds: float,
    notes: Sequence[str],
) -> Comparison:
    """Make a comparison of one method from scores of parts of the test rows."""
    by_name = {name: tuple(each[name] for each in scored) for name in dataset.task.measures}
    methods = (
        MethodScores(
            name=method.name,
            label=method.label,
            ours=method.ours,
            complexity=method.complexity,
            seconds=(seconds / len(scored),) * len(scored),
            ranks=(),
            failures={},
            warnings={},
            **by_name,
        ),
    )
    point = MethodPoint(method.name, method.label, {}, "")
    splits = Splits(0, 1, len(scored))
    study = Study("train", dataset.name, (dataset.name,), (point,), splits, AUTO)
    return comparison_of(dataset, study, methods, [*dataset.notes, *notes])


def _train_blocks(
    path: str | PathLike[str],
    target: str,
    method: str,
    drop: Sequence[str],
    task: str | None,
    n_splits: int,
    seed: int,
    n_jobs: int | None,
    scheduler: str | None,
) -> Trained:
    """Fit to the rows of a Parquet file in blocks, with standardised features."""
    if not fits_blocks(method):
        raise ValueError(
            f"The method {method!r} needs all rows in memory: use 'strata' for a file that is "
            "read in blocks."
        )
    names = numeric_columns(path, target, drop)
    y = read_parquet_target(path, target, task)
    chosen = get_method(method, y.task.name)
    make: Any = chosen.factory(y.task.name)
    held = _hold_out(y, target, seed)
    with rows_on(scheduler), members_on(scheduler):
        read = ParquetBlocks if scheduler is None else ParquetParts
        rows = read(path, names)
        names, constant = _varying(rows, names, target)
        rows = read(path, names) if constant else rows
        if rows.shape[0] != len(y.values):
            raise ValueError(f"{path} changed while it was read: fit again.")
        began = perf_counter()
        with threadpool_limits(1, "blas"), recorded_warnings() as warned:
            estimator = make(seed, n_jobs if scheduler is None else -1)
            model = _fitted(estimator, rows, y, held, names)
        seconds = perf_counter() - began
        X = pick_rows(rows, held).astype(np.float64)
    missing, notes = int((~y.known).sum()), []
    if missing:
        notes.append(f"Rows with a missing value of {target!r}, left out: {missing}.")
    if constant:
        notes.append(f"Constant columns, left out: {listing(map(repr, constant))}.")
    dataset = Dataset(
        Path(path).name, X, np.array(y.classes)[y.values[held]] if y.classes else y.values[held],
        tuple(names), ("numeric",) * len(names), target, origin=str(path), task_reason=y.reason,
        notes=tuple(notes),
    )  # fmt: skip
    n_parts = max(2, min(n_splits, dataset.max_folds))
    parts = deal_folds(fold_labels(dataset.y), n_parts, np.random.default_rng(0))
    scores = comparison_of_parts(
        dataset, chosen,
        [score_model(model, dataset.X[test], dataset.y[test], dataset.task) for _, test in parts],
        seconds,
        [f"The score is computed from {len(dataset.y)} held-out rows, in {n_parts} parts."],
    )  # fmt: skip
    own = y.known
    own[held] = False
    counts = np.bincount(y.values[own], minlength=len(y.classes)).tolist() if y.classes else []
    return Trained(
        bare(model), model, scores, chosen, dataset, int(own.sum()),
        dict(zip(y.classes, counts, strict=True)), tuple(dict.fromkeys(warned)), tuple(constant),
        held_out=True,
    )  # fmt: skip


def _hold_out(y: Target, target: str, seed: int) -> NDArray[np.intp]:
    """Draw held-out rows uniformly from those with a target."""
    known = np.flatnonzero(y.known)
    if len(known) < MIN_ROWS:
        raise ValueError(
            f"{len(known)} rows have a value of {target!r}; a fit in blocks needs at least "
            f"{MIN_ROWS}, as some are held out."
        )
    n_held_out = min(MAX_HELD_OUT, len(known) // 5)
    chosen = np.random.default_rng(seed).choice(known, n_held_out, replace=False, shuffle=False)
    return np.sort(chosen)


def _varying(rows: Any, names: list[str], target: str) -> tuple[list[str], list[str]]:
    """Names of the columns that vary, and of the constant ones, in one pass."""
    extent = column_range(rows)
    if extent.largest > MAX_VALUE:
        raise ValueError(
            f"Values as large as {extent.largest:g} overflow when squared and summed: rescale "
            "their columns."
        )
    varies = extent.lowest < extent.highest
    if not varies.any():
        raise ValueError(f"Every column except the target {target!r} is constant.")
    split = {each: [n for n, v in zip(names, varies, strict=True) if v == each] for each in (1, 0)}
    return split[1], split[0]


def _fitted(
    estimator: Any, rows: Any, y: Target, held: NDArray[np.intp], names: list[str]
) -> Pipeline:
    """Fit to all rows but the held-out ones, which have weight zero; return the pipeline."""
    source, scaling = standardised(rows)
    # two rows with the mean and standard deviation of all rows fit the encoder equally
    corners = np.stack([scaling.mean - scaling.std, scaling.mean + scaling.std])
    encoder = TableEncoder(kinds=["numeric"] * len(names), random_state=0).fit(corners)
    if not encoder.varying_.all():
        name = names[int(np.argmin(encoder.varying_))]
        raise ValueError(
            f"Column {name!r} varies too little relative to its magnitude: subtract a constant, "
            "or leave it out."
        )
    weights = y.known.astype(np.float64)
    weights[held] = 0.0
    labels = y.values if y.known.all() else np.where(y.known, y.values, y.values.dtype.type(0))
    estimator.fit(source, labels, sample_weight=weights)
    estimator.__dict__.pop("feature_names_in_", None)  # the encoder returns arrays
    if y.classes:
        estimator.classes_ = np.array(y.classes)[estimator.classes_]
    return Pipeline([("table", encoder), ("model", estimator)])


def fits_blocks(method: str) -> bool:
    """Whether the method can be fitted to rows that are read in blocks."""
    return method in METHODS and METHODS[method].fits_blocks


def is_large_parquet(path: str | PathLike[str]) -> bool:
    """Whether a file is Parquet and would take 256 MB or more in memory."""
    name = Path(path)
    return is_parquet(name) and name.is_file() and open_table(name).in_blocks


def memory_note(path: str | PathLike[str], method: str) -> str | None:
    """Note on the memory of a large Parquet file; refuse one that does not fit."""
    if not is_large_parquet(path):
        return None
    size, free = parquet_bytes(Path(path)), free_memory()
    takes = (
        f"The method {method!r} reads the table into memory: about {size / GIGABYTE:.1f} GB, and "
        "about as much again for the fit"
    )
    if COPIES * size <= free:
        return f"{takes}."
    raise ValueError(
        f"{takes}; {free / GIGABYTE:.1f} GB are free. Use `method` strata, which reads numeric "
        "columns in blocks, or a sample of the rows by `draw`."
    )
