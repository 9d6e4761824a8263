"""A method audited over sources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from msgspec import Meta, Struct

from ensemblage.datasets import Dataset, DataSummary
from ensemblage.sources import SourceAudit, source_audit
from ensemblage.studies._documents import documented
from ensemblage.studies._methods import get_method, make_model


@documented
class AuditDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model is worth on known sources and on new ones."""

    dataset: Annotated[str, Meta(description="Name of the data.")]
    method: Annotated[str, Meta(description="The method that was audited.")]
    label: Annotated[str, Meta(description="What tables call it.")]
    sentences: Annotated[tuple[str, ...], Meta(description="What matters, in plain words.")]
    audit: Annotated[SourceAudit, Meta(description="All figures.")]
    data: Annotated[DataSummary | None, Meta(description="What is in the data.")] = None


def audit(
    dataset: Dataset,
    method: str = "boosting",
    *,
    n_splits: int = 5,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> AuditDocument:
    """Audit a method that gives probabilities; it does not see the source."""
    if not dataset.classes:
        raise ValueError(
            f"An audit is of classes, and {dataset.target!r} holds numbers: `compare` with "
            "`new_sources` tells what to expect on a new source, and its report draws what is "
            "missed in each; or ask for classes by `task`."
        )
    chosen = get_method(method)
    if dataset.sources is None:
        raise ValueError("An audit needs to know where rows come from: name it by `source_column`.")
    model = make_model(method, dataset.columns, seed)
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"The method {method!r} gives no probabilities, which an audit needs: take logistic, "
            "forest or boosting."
        )
    found = source_audit(
        model, dataset.X, dataset.y, dataset.sources, columns=dataset.feature_names,
        cv=n_splits, n_jobs=n_jobs, random_state=seed, progress=progress,
    )  # fmt: skip
    return AuditDocument(
        dataset=dataset.name, method=method, label=chosen.label, sentences=found.sentences,
        audit=found, data=DataSummary.of_dataset(dataset),
    )  # fmt: skip
