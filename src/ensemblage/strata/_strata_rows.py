"""Training rows and new rows of ensembles on strata, as they were read."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from ensemblage.parallel import Fold, make_folds, read_weights
from ensemblage.strata._strata_targets import Target

Array = NDArray[np.float64]

# one layout in memory, so that a frame and an array of the same numbers give the same bits
ARRAYS = {"dtype": [np.float64, np.float32], "order": "C"}


class Training(NamedTuple):
    """Validated training rows.

    ``y`` are numbers of classes, or numbers; ``weights`` are ones where no ``sample_weight`` was
    given; ``folds`` are there where outputs on rows that members have not seen are needed.
    """

    X: Any
    y: NDArray[Any]
    target: Target
    weights: Array
    sample_weight: Array | None = None
    sources: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    folds: list[Fold] | None = None


def is_mixed_frame(X: Any) -> bool:
    """Tell whether X is a frame with columns that an array of floats cannot hold."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return False
    kinds = frame.schema.values()
    return not all(kind.is_numeric() or kind == nw.Boolean for kind in kinds)


def read_training(
    estimator: Any, X: Any, y: Any, sample_weight: Any, sources: Any, groups: Any
) -> Training:
    """Validate what ``fit`` was given; the estimator notes number and names of the columns."""
    if is_mixed_frame(X) and estimator._encoder_for(X) is None:  # noqa: SLF001
        validate_data(estimator, X, y, skip_check_array=True)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
    else:
        X, y = estimator._training_rows(  # noqa: SLF001
            X, y, sample_weight, **ARRAYS, ensure_min_samples=2
        )
    check_consistent_length(X, sources, groups)
    weights: Array = read_weights(sample_weight, X)
    y, target = estimator._read_target(y, weights)  # noqa: SLF001
    given = None if sample_weight is None else weights
    return Training(X, y, target, weights, given, sources, groups)


def read_rows(estimator: Any, X: Any) -> Any:
    """Validate rows to predict; without an encoder, a frame with words stays as it is."""
    if is_mixed_frame(X) and not hasattr(estimator, "encoder_"):
        validate_data(estimator, X, reset=False, skip_check_array=True)
        return X
    return estimator._new_rows(X, **ARRAYS)  # noqa: SLF001


def reads_tables(estimator: Any) -> bool:
    """Tell whether an estimator takes frames with words: a pipeline, or one that says so."""
    if estimator is None or isinstance(estimator, str):
        return False
    tags = get_tags(estimator).input_tags
    return isinstance(estimator, Pipeline) or tags.string or tags.categorical


def hold_out(data: Training, cv: Any, seed: int) -> Training:
    """Add the folds that a user's ``cv`` asks for; a splitter may leave rows out of all tests."""
    y, target = data.y, data.target
    if not isinstance(cv, Integral):
        splitter = check_cv(cv, y, classifier=target.of_classes)
        return data._replace(folds=[Fold(*each) for each in splitter.split(data.X, y, data.groups)])
    n_folds = int(cv) if data.groups is not None else target.count_folds(y, int(cv))
    return data._replace(folds=make_folds(target.labels(y), n_folds, seed, data.groups))
