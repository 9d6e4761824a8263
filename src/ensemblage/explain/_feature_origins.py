"""The features at the end of a pipeline: their names, and the columns that they come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ensemblage.tables import feature_categories


def feature_names(model: Any, columns: Sequence[str]) -> list[str]:
    """Name the features at the last step after the table's columns."""
    names: Any = np.asarray(columns, dtype=object)
    for step in _steps_before(model):
        names = step.get_feature_names_out(names)
    return [str(name) for name in names]


def feature_origins(model: Any, columns: Sequence[str]) -> list[int] | None:
    """Give the column of each feature at the last step, by position; None if it is not known."""
    origins = np.arange(len(columns))
    for step in _steps_before(model):
        if hasattr(step, "feature_columns_"):
            origins = origins[step.feature_columns_]
        elif hasattr(step, "get_support"):
            origins = origins[step.get_support()]
        elif len(step.get_feature_names_out(origins.astype(object))) != len(origins):
            return None
    return [int(each) for each in origins]


def feature_categories_of(model: Any) -> list[str | None]:
    """Tell the category behind each feature of zeros and ones at the last step, or None.

    A step behind the encoder may scale them; then they are numbers, and the list is empty.
    """
    found: list[str | None] = []
    for step in _steps_before(model):
        if hasattr(step, "get_support"):
            found = [each for each, kept in zip(found, step.get_support(), strict=False) if kept]
        else:
            found = feature_categories(step)
    return found


def column_names(estimator: Any, columns: Sequence[str]) -> dict[str, str]:
    """Give the names of the table's columns by those that an estimator has for its own."""
    numbered = [f"x{j}" for j in range(estimator.n_features_in_)]
    own = [str(name) for name in getattr(estimator, "feature_names_in_", numbered)]
    return dict(zip(own, columns, strict=True)) if len(own) == len(columns) else {}


def _steps_before(model: Any) -> Iterator[Any]:
    """Give all steps before the last, also of a pipeline that stands at a pipeline's end."""
    if isinstance(model, Pipeline):
        yield from (step for _, step in model.steps[:-1])
        yield from _steps_before(model[-1])
