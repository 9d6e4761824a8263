"""What ``fit`` gets, read: features, classes and weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_consistent_length

from ensemblage.bayes._coding import Target, Training
from ensemblage.parallel import read_weights
from ensemblage.tables import Column, per_column, read_features


def read_training(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Training:
    """Read what ``fit`` gets; rows without weight are dropped."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    columns = _declare(read_features(estimator, X, reset=True), estimator.categories)
    target = read_target(y, [column.name for column in columns])
    check_consistent_length(X, target.labels)
    like = np.empty((len(target.labels), 1))
    weights = read_weights(sample_weight, like)
    training = Training(columns, target, weights)
    kept = np.flatnonzero(weights)
    return training if len(kept) == len(weights) else training.take(kept)


def _declare(columns: list[Column], categories: Any) -> list[Column]:
    """Take categories that the user declares beside those of the columns' own types."""
    declared = per_column(categories, [column.name for column in columns], "categories")
    pairs = zip(columns, declared, strict=True)
    return [column if known is None else column.as_words(known) for column, known in pairs]


def read_target(y: Any, taken: list[str]) -> Target:
    """Read the class column; a categorical one keeps its declared classes."""
    declared = _declared_classes(y)
    name = str(getattr(y, "name", None) or "class")
    while name in taken:
        name += "_"
    values = column_or_1d(y, warn=True)
    assert_all_finite(values, input_name="y")
    if declared is None or not all(isinstance(each, str) for each in declared):
        check_classification_targets(values)  # words leave nothing to check, and sort slowly
    if declared is None:
        categories, labels = np.unique(values, return_inverse=True)
    else:
        categories = np.array(declared)
        position = {category: code for code, category in enumerate(declared)}
        labels = np.array([position[value] for value in values.tolist()])
    return Target(name, labels.astype(np.int32), categories)


def _declared_classes(y: Any) -> list[Any] | None:
    dtype = getattr(y, "dtype", None)
    categories = getattr(dtype, "categories", None)
    if categories is None:
        return None
    return list(categories.tolist() if hasattr(categories, "tolist") else categories)
