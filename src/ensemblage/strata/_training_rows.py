"""Training rows as an ensemble on strata reads them: numbers or frames, weights, folds."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv
from sklearn.utils.validation import _check_sample_weight

from ensemblage.parallel import Fold, make_folds

Array = NDArray[np.float64]


class Training(NamedTuple):
    """Validated training data.

    ``y`` are class numbers; ``weights`` are ones if none were given; ``folds`` are there where
    outputs on rows that members have not seen are needed.
    """

    X: Any
    y: NDArray[np.intp]
    weights: Array
    weighted: bool
    sources: NDArray[Any] | None
    folds: list[Fold] | None

    @property
    def sample_weight(self) -> Array | None:
        """Weights if any were given."""
        return self.weights if self.weighted else None

    @property
    def n_classes(self) -> int:
        """Number of classes, each of which occurs."""
        return int(self.y.max()) + 1


def is_mixed_frame(X: Any) -> bool:
    """Tell whether X is a frame with columns that an array of floats cannot hold."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return False
    kinds = frame.schema.values()
    return not all(kind.is_numeric() or kind == nw.Boolean for kind in kinds)


def check_weights(sample_weight: Any, X: Any, y: NDArray[np.intp], classes: NDArray[Any]) -> Array:
    """Give the row weights, ones if there are none; each class must keep some."""
    weights: Array = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    absent = np.bincount(y, weights) == 0
    if absent.any():
        raise ValueError(
            f"sample_weight leaves no weight to class {classes[absent][0]!r}. "
            "Leave its rows out, or give some of them weight."
        )
    return weights


def split_rows(
    cv: Any, X: Any, y: NDArray[np.intp], classes: NDArray[Any], seed: int, groups: Any = None
) -> list[Fold]:
    """Make folds of what the user gave as ``cv``; splitters may leave rows out of all tests."""
    if not isinstance(cv, Integral):
        return [Fold(*parts) for parts in check_cv(cv, y, classifier=True).split(X, y, groups)]
    n_folds = int(cv)
    if groups is None:
        counts = np.bincount(y)
        n_folds = max(2, min(n_folds, int(counts.min())))
        if n_folds < int(cv):
            warnings.warn(
                f"Class {classes[counts.argmin()]!r} has {counts.min()} rows, fewer than cv={cv} "
                f"folds: using {n_folds} folds.",
                UserWarning,
                stacklevel=5,
            )
    return make_folds(y, n_folds, seed, groups)
