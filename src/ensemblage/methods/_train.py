"""Fit one method on all rows, with a cross-validated score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from ensemblage.datasets import Dataset
from ensemblage.methods._compare import compare
from ensemblage.methods._method import Method
from ensemblage.methods._method_costs import expected_seconds
from ensemblage.methods._method_documents import Comparison
from ensemblage.methods._own_scores import own_comparison
from ensemblage.methods._registry import get_method, make_model
from ensemblage.parallel import members_on, worth_workers
from ensemblage.runs import recorded_warnings


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
    >>> from ensemblage.methods import train
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
