"""A method trained on a dataset or a large file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

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
from ensemblage.studies._compare import compare, comparison_of
from ensemblage.studies._documents import Comparison, MethodScores
from ensemblage.studies._methods import Method, expected_seconds, get_method, in_blocks, make_model
from ensemblage.studies._runner import recorded_warnings
from ensemblage.studies._study import MethodPoint, Splits, Study, score_model
from ensemblage.studies._workers import members_on, rows_on, worth_workers

AUTO = "auto"


COPIES = 2
"""A fit takes the table as often again as it is read: folds, and what members make of them."""
GIGABYTE = 1e9


def is_large_parquet(path: str | PathLike[str]) -> bool:
    """Whether a file is Parquet that would take 256 MB or more."""
    name = Path(path)
    return is_parquet(name) and name.is_file() and open_table(name).in_blocks


def memory_note(path: str | PathLike[str], method: str) -> str | None:
    """Say what a large Parquet file takes in memory, and refuse one that would fill it."""
    if not is_large_parquet(path):
        return None
    size, free = parquet_bytes(Path(path)), free_memory()
    takes = (
        f"The method {method!r} reads the table into memory, where it takes about "
        f"{size / GIGABYTE:.1f} GB, and a fit about as much again"
    )
    if COPIES * size <= free:
        return f"{takes}."
    raise ValueError(
        f"{takes}; {free / GIGABYTE:.1f} GB are free. Take `method` strata, which reads numbers in "
        "blocks, or some of the rows by `draw`."
    )


NOTE = (
    "The score is of what the pool said of rows that neither its members nor its fusion had seen, "
    "in the folds on which they were tuned; nothing was fitted again for it."
)


def own_comparison(dataset: Dataset, method: Method, pool: Any, seconds: float) -> Comparison:
    """Write a pool's own held-out answers down as a comparison of one method.

    They are scored in as many parts as the pool has folds, which tells how far chance goes.
    """
    told = getattr(pool, "known_sources_", None)
    record = pool.held_out_ if told is None else told.pool.held_out
    parts = deal_folds(
        record.target.stratification_labels(record.y), pool.cv, np.random.default_rng(0)
    )
    labels, scored = np.asarray(getattr(pool, "classes_", ())), []
    for _, test in parts:
        held, y = record.pooled[test], record.y[test]
        if dataset.classes:
            shares = np.asarray(held, dtype=float)
            y, y_pred = labels[y], labels[shares.argmax(axis=1)]
            predictions = Predictions(y_pred, tuple(labels.tolist()), shares, shares)
        else:  # without intervals: how far they reach was learned from these very rows
            predictions = Predictions(held[:, 0], std=np.sqrt(held[:, 1]))
        scored.append(dataset.task.scores(y, predictions))
    return comparison_of_parts(dataset, method, scored, seconds, NOTE)


def comparison_of_parts(
    dataset: Dataset,
    method: Method,
    scored: Sequence[Mapping[str, float | None]],
    seconds: float,
    note: str,
) -> Comparison:
    """Write scores of parts of rows that a fit has not seen down as a comparison of one method."""
    by_name = {name: tuple(each[name] for each in scored) for name in dataset.task.measures}
    methods = (
        MethodScores(
            name=method.name,
            label=method.label,
            ours=method.ours,
            effort=method.effort,
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
    return comparison_of(dataset, study, methods, [*dataset.notes, note])


@set_module("ensemblage.studies")
@dataclass(frozen=True)
class Trained:
    """A fitted model and how good to expect it to be.

    Parameters
    ----------
    model : Pipeline
        Preprocessing and method, fitted on all rows; without what only the fit needed.
    fitted : Pipeline
        The same as it was fitted, with the search for parameters if there was one.
    comparison : Comparison
        The method's scores on folds of the same rows.
    method : str
        Its name.
    warnings : tuple of str
        What the fit warned of.
    """

    model: Pipeline
    fitted: Pipeline
    comparison: Comparison
    method: str
    warnings: tuple[str, ...] = ()


def train(
    dataset: Dataset,
    method: str,
    *,
    n_splits: int = 5,
    seed: int = 0,
    n_jobs: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Trained:
    """Score a method on folds, then fit it on all rows.

    A pool is fitted once: it tells by itself what its members say of rows that they have not seen.

    Parameters
    ----------
    dataset : Dataset
        The rows.
    method : str
        The name of a method; "auto" is a pool.
    n_splits : int, default=5
        Folds of the score; at most the rows of the largest class, or half of all for numbers.
    seed : int, default=0
        Folds and fits derive from it.
    n_jobs : int, default=None
        Processes, as in joblib; the model is the same for any number.
    scheduler : str, default=None
        Address of a Dask scheduler whose workers fit folds and members instead.
    progress : callable, default=None
        Called as ``progress(done, total)`` at the start and after each fit.

    Returns
    -------
    Trained
        The model and its scores.

    Examples
    --------
    >>> from ensemblage.datasets import load_dataset
    >>> from ensemblage.studies import train
    >>> trained = train(load_dataset("iris"), "logistic", n_splits=3)
    >>> trained.comparison.summary[0].accuracy > 0.9
    True
    >>> trained.model.predict([[5.1, 3.5, 1.4, 0.2]])
    array(['setosa'], dtype='<U10')
    """
    folds = max(2, min(n_splits, dataset.most_folds))
    chosen = get_method(method, dataset.task.name)
    extra = chosen.fit_params(dataset.sources, new_sources=False)
    if chosen.judges_itself:
        with members_on(scheduler):
            jobs = n_jobs if scheduler is None else -1
            return _train_once(dataset, chosen, Folds(folds, seed), jobs, progress)
    step = None if progress is None else _WithFinalFit(progress)
    scores = compare(
        dataset, methods=[method], n_splits=folds, seed=seed, n_jobs=n_jobs, scheduler=scheduler,
        progress=step,
    )  # fmt: skip
    jobs = _jobs_for(scores, n_jobs) if scheduler is None else -1
    model = make_model(chosen, dataset.columns, seed, jobs)
    with members_on(scheduler):
        said = _fit(model, dataset, extra)
    if step is not None:
        step.finish()
    return Trained(bare(model), model, scores, chosen.name, said)


class Folds(NamedTuple):
    """How many folds there are, and the seed of them and of the fits."""

    number: int
    seed: int


def _train_once(
    dataset: Dataset,
    method: Method,
    folds: Folds,
    n_jobs: int | None,
    progress: Callable[[int, int], Any] | None,
) -> Trained:
    """Fit a method that tells by itself what it says of rows that it has not seen."""
    seconds = expected_seconds(method, len(dataset.y))
    if progress is not None:
        if hasattr(progress, "expect"):
            progress.expect(seconds)
        progress(0, 1)
    jobs = n_jobs if worth_workers(seconds, n_jobs) else None
    model = make_model(method, dataset.columns, folds.seed, jobs)
    model.set_params(model__cv=folds.number)
    started = perf_counter()
    said = _fit(model, dataset, method.fit_params(dataset.sources, new_sources=False))
    scores = own_comparison(dataset, method, model[-1], perf_counter() - started)
    if progress is not None:
        progress(1, 1)
    return Trained(bare(model), model, scores, method.name, said)


def _fit(model: Pipeline, dataset: Dataset, extra: dict[str, Any]) -> tuple[str, ...]:
    """Fit in place; give what was warned of, each once."""
    # One BLAS thread, so that sums have one order, as in the worker processes.
    with threadpool_limits(1, "blas"), recorded_warnings() as said:
        model.fit(dataset.X, dataset.y, **extra)
    return tuple(dict.fromkeys(said))


class _WithFinalFit:
    """Tells of folds and of one more fit, on all rows, after them."""

    def __init__(self, progress: Callable[[int, int], Any]) -> None:
        self._progress, self._total = progress, 0
        self._left: float | None = None

    def __call__(self, done: int, total: int) -> Any:
        self._total = total + 1
        if self._left is not None and hasattr(self._progress, "expect"):
            waiting = total - done
            last = self._left / waiting if waiting else None
            self._progress.expect(None if last is None else self._left + last)
        return self._progress(done, self._total)

    def finish(self) -> None:
        """Tell that the last fit is done."""
        self._progress(self._total, self._total)

    def expect(self, seconds: float | None) -> None:
        """Note what the folds will take."""
        self._left = seconds


def _jobs_for(scores: Comparison, n_jobs: int | None) -> int | None:
    """Give the final fit workers only if it takes long, judging by the quickest on a fold.

    Others may have waited for kernels to be compiled, or for other programs.
    """
    seconds = [each for each in scores.methods[0].seconds if each is not None]
    return n_jobs if worth_workers(min(seconds, default=0.0), n_jobs) else None


def bare(model: Pipeline) -> Pipeline:
    """Leave out what only the search for parameters needed, and the number of processes."""
    best = getattr(model[-1], "best_estimator_", model[-1])
    model = Pipeline([*model.steps[:-1], ("model", best)])
    names = [name for name in model.get_params() if name.endswith("n_jobs")]
    return model.set_params(**dict.fromkeys(names))


HELD_OUT, FEWEST = 20_000, 100
"""So many rows are held out at most, a fifth of all if these are few; and so many there must be."""
LARGEST = 1e100


@set_module("ensemblage.studies")
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
    >>> from ensemblage.studies import TrainedFile
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
    >>> from ensemblage.studies import train_file
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
    names = numeric_columns(path, target, drop)
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
        tuple(names), ("numeric",) * len(names), target, origin=str(path), task_reason=y.reason,
        notes=tuple(_notes(y, target, constant)),
    )  # fmt: skip
    scores = _scored(model, dataset, chosen, n_splits, seconds)
    trained = Trained(bare(model), model, scores, chosen.name, tuple(dict.fromkeys(said)))
    own = y.known
    own[held] = False
    counts = np.bincount(y.values[own], minlength=len(y.classes)).tolist() if y.classes else []
    classes = dict(zip(y.classes, counts, strict=True))
    return TrainedFile(trained, dataset, int(own.sum()), classes, tuple(constant))


def _hold_out(y: Target, target: str, seed: int) -> NDArray[np.intp]:
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
    extent = column_range(rows)
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
    estimator: Any, rows: Any, y: Target, held: NDArray[np.intp], names: list[str]
) -> Pipeline:
    """Fit to all rows but those held out, which have no weight; give the model of raw rows."""
    source, scaling = standardised(rows)
    # two rows of the same means and deviations teach an encoder what all of them would
    corners = np.stack([scaling.mean - scaling.std, scaling.mean + scaling.std])
    encoder = TableEncoder(kinds=["numeric"] * len(names), random_state=0).fit(corners)
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
    scores = [
        score_model(model, dataset.X[test], dataset.y[test], dataset.task) for _, test in folds
    ]
    said = (
        f"The score is of {len(dataset.y)} rows that were held out of the fit, in {n_parts} parts."
    )
    return comparison_of_parts(dataset, method, scores, seconds, said)


def _notes(y: Target, target: str, constant: list[str]) -> list[str]:
    missing = int((~y.known).sum())
    notes = [f"Rows without a value of {target!r}, left out: {missing}."] if missing else []
    if constant:
        notes.append(f"Columns of one value, left out: {listing(map(repr, constant))}.")
    return notes
