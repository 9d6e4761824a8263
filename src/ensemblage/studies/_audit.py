"""Audit of a method, or of a saved model, over sources and time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from inspect import cleandoc
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, structs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from ensemblage._core import listing, suggestion
from ensemblage.datasets import Dataset, DataSummary
from ensemblage.persistence import SavedModel
from ensemblage.sources import SourceAudit, source_audit
from ensemblage.studies._methods import METHODS, get_method, make_model
from ensemblage.studies._runner import interrupts_explained
from ensemblage.studies._store import ResultStore

MILLISECONDS_PER_DAY = 86_400_000
NESTED = (
    "The outer sources are left out, each with all of its inner ones; the column of the inner "
    "sources is not a feature."
)


class AuditDocument(SourceAudit, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An audit of a dataset, as the command prints it."""

    dataset: Annotated[str, Meta(description="Name of the dataset.")]
    method: Annotated[str, Meta(description="The method that was audited, or the model's file.")]
    label: Annotated[str, Meta(description="Display name of the method.")]
    data: Annotated[DataSummary | None, Meta(description="Summary of the dataset.")] = None


_fields = cleandoc(SourceAudit.__doc__ or "").partition("Parameters\n")[2]
AuditDocument.__doc__ = f"""{AuditDocument.__doc__}

Parameters
{_fields}
dataset : str
    Name of the dataset.
method : str
    The method that was audited, or the model's file.
label : str
    Display name of the method.
data : DataSummary or None
    Summary of the dataset.
"""


def audit(
    dataset: Dataset,
    method: str | SavedModel = "auto",
    *,
    time: str | None = None,
    threshold: Sequence[float] | None = None,
    event: str | None = None,
    interval: str = "profile",
    learning_curve: bool = True,
    name: str = "",
    n_splits: int = 5,
    seed: int = 0,
    n_jobs: int | None = None,
    store: ResultStore | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> AuditDocument:
    """Audit a method, or the method of a saved model with its settings; it is source-blind.

    ``time`` is a column of the dataset, which is then no feature; ``name`` is the file of the
    model. The predictions of each fit are stored in ``store``; the same audit resumes with them.
    """
    if dataset.sources is None and time is None:
        raise ValueError(
            "An audit needs the source of each row, or its time: name the column by "
            "`source_column` or `time`."
        )
    dataset, times = _by_outer_source(dataset), None
    if time is not None:
        dataset, times = split_times(dataset, time)
    _refuse_source_method(method)
    if isinstance(method, SavedModel):
        dataset = _with_columns_of(method, dataset)
        if isinstance(getattr(method.model, "estimator", None), FrozenEstimator):
            raise ValueError(  # noqa: TRY004  the file is the wrong one
                f"{name} is a model that was adapted to one source: audit the model before that."
            )
        model, label, method = clone(method.model), f"the method of {name}", name
    else:
        label = get_method(method, dataset.task.name).label
        model = make_model(method, dataset.columns, seed, task=dataset.task.name)
    if dataset.classes and not hasattr(model, "predict_proba"):
        raise ValueError(
            f"The method {method!r} gives no probabilities, which an audit needs: use logistic, "
            "forest or boosting."
        )
    far = "0 fits"

    def report(done: int, total: int) -> None:
        nonlocal far
        far = f"{done} of {total} fits"
        if progress is not None:
            progress(done, total)

    with interrupts_explained(store, lambda: far):
        found = source_audit(
            model, dataset.X, dataset.y, dataset.sources, time=times,
            threshold=threshold or None, event=event, interval=interval,
            learning_curve=learning_curve, columns=dataset.columns, cv=n_splits,
            n_jobs=n_jobs, random_state=seed, cache=None if store is None else store.arrays(),
            progress=report,
        )  # fmt: skip
    return AuditDocument(
        **structs.asdict(found), dataset=dataset.name, method=method, label=label,
        data=DataSummary.of_dataset(dataset),
    )  # fmt: skip


def _by_outer_source(dataset: Dataset) -> Dataset:
    if dataset.sources is None or dataset.sources.ndim == 1:
        return dataset
    return replace(dataset, sources=dataset.outer_sources, notes=(*dataset.notes, NESTED))


def _refuse_source_method(method: str | SavedModel) -> None:
    used = str(method.details.get("method")) if isinstance(method, SavedModel) else method
    if used in METHODS and METHODS[used].needs_sources:
        raise ValueError(
            f"The method {used!r} needs the source of each row, which an audit leaves out: audit "
            "another one, such as 'auto'."
        )


def split_times(dataset: Dataset, time: str) -> tuple[Dataset, NDArray[Any]]:
    """Remove the column of times from the features; dates as such."""
    if time not in dataset.feature_names:
        raise ValueError(
            f"There is no column {time!r}.{suggestion(time, dataset.feature_names)} The columns "
            f"are: {listing(dataset.feature_names)}."
        )
    place = dataset.feature_names.index(time)
    rest = [j for j in range(len(dataset.feature_names)) if j != place]
    if not rest:
        raise ValueError(f"There are no features: the only column is the time {time!r}.")
    times = dataset.X[:, place]
    if dataset.kinds[place] == "date":
        days = times.astype(float)
        times = np.full(len(days), np.datetime64("NaT", "ms"))
        known = ~np.isnan(days)
        times[known] = np.round(days[known] * MILLISECONDS_PER_DAY).astype("datetime64[ms]")
    return _with_columns(dataset, rest), times


def _with_columns_of(saved: SavedModel, dataset: Dataset) -> Dataset:
    """Put the columns in the order of a saved model."""
    known = set(dataset.feature_names)
    absent = [each for each in saved.columns if each not in known]
    if absent:
        raise ValueError(
            f"Columns that the model requires are missing: {listing(absent)}."
            f"{suggestion(absent[0], dataset.feature_names)}"
        )
    return _with_columns(dataset, [dataset.feature_names.index(each) for each in saved.columns])


def _with_columns(dataset: Dataset, chosen: list[int]) -> Dataset:
    X = dataset.X[:, chosen]
    kinds = tuple(dataset.kinds[j] for j in chosen)
    return replace(
        dataset, X=X.astype(float) if "categorical" not in kinds else X, kinds=kinds,
        feature_names=tuple(dataset.feature_names[j] for j in chosen),
    )  # fmt: skip
