"""What a fitted model learned, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ensemblage.explain._kinds import KINDS
from ensemblage.messages import count
from ensemblage.parallel import final_step
from ensemblage.strata import StrataDescription

MOST_STRATA = 3


def what_was_learned(
    model: Pipeline, columns: Sequence[str] = (), described: StrataDescription | None = None
) -> list[str]:
    """Say what a fitted model learned.

    Parameters
    ----------
    model : Pipeline
        As ``make_model`` makes it, fitted.
    columns : sequence of str, default=()
        Names of the table's columns, for a model that was fitted on an array.
    described : StrataDescription, default=None
        What the strata are, of a model that has some.

    Returns
    -------
    list of str
        A line each.
    """
    estimator = model[-1]
    encoder = getattr(estimator, "encoder_", model[:-1])
    width = len(encoder.get_feature_names_out())
    lines = [f"{count(model.n_features_in_, 'column')}, encoded as {count(width, 'feature')}"]
    for describe in (_chosen, _trees, _rounds):
        lines.extend(describe(estimator))
    inside = final_step(estimator)
    for kind in KINDS:
        if kind.explains(inside):
            lines.extend(kind.learned(inside, columns))
            break
    return lines if described is None else [*lines, *_harder(described)]


def _harder(described: StrataDescription) -> Iterator[str]:
    """Name the strata with larger errors than the whole, the largest first."""
    average = described.error or 0.0
    harder = [each for each in described.strata if (each.error or 0.0) > average]
    for each in sorted(harder, key=lambda each: -(each.error or 0.0))[:MOST_STRATA]:
        where = " on training rows" if described.error_rows == "training" else ""
        own, whole = (described.written_error(error) for error in (each.error, average))
        errors = f"error {own}{where}, all rows {whole}"
        yield f"harder than others: {each.name} ({errors})"


def _chosen(estimator: Any) -> Iterator[str]:
    best = getattr(estimator, "best_params_", {})
    if best:
        text = ", ".join(
            f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}"
            for name, value in best.items()
        )
        yield f"chosen by inner folds: {text}"


def _trees(estimator: Any) -> Iterator[str]:
    trees = getattr(estimator, "estimators_", None)
    if trees is not None and all(hasattr(tree, "get_depth") for tree in trees):
        depth = np.mean([tree.get_depth() for tree in trees])
        yield f"{len(trees)} trees, {depth:.1f} levels deep on average"


def _rounds(estimator: Any) -> Iterator[str]:
    if hasattr(estimator, "n_trees_per_iteration_"):
        yield f"{estimator.n_iter_} boosting rounds"
