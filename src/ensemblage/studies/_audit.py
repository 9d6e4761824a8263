"""Audit of a method over sources."""

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
    """Validation of a model at known sources and at new ones."""

    dataset: Annotated[str, Meta(description="Name of the dataset.")]
    method: Annotated[str, Meta(description="The method that was audited.")]
    label: Annotated[str, Meta(description="Display name of the method.")]
    sentences: Annotated[tuple[str, ...], Meta(description="Summary of the results.")]
    audit: Annotated[SourceAudit, Meta(description="All estimates.")]
    data: Annotated[DataSummary | None, Meta(description="Summary of the dataset.")] = None


def audit(
    dataset: Dataset,
    method: str = "boosting",
    *,
    n_splits: int = 5,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> AuditDocument:
    """Audit a method with probabilities; it is source-blind."""
    if not dataset.classes:
        raise ValueError(
            f"An audit needs a classification target, and {dataset.target!r} is numeric. Use "
            "`compare` with `new_sources` for leave-source-out validation of a regression; its "
            "report has the residuals of each source. Or set `task` to classification."
        )
    chosen = get_method(method)
    if dataset.sources is None:
        raise ValueError("An audit needs the source of each row: set `source_column`.")
    model = make_model(method, dataset.columns, seed)
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"The method {method!r} gives no probabilities, which an audit needs: use logistic, "
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
