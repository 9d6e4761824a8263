"""The rows of the study: one outer fold of a set, encoded as the pool encodes them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.datasets import Dataset
from ensemblage.parallel import draw_seeds, make_folds
from ensemblage.pool import PoolRows, shared_folds, thin
from ensemblage.tables import TableEncoder, is_raw_table

OUTER = 5
INNER = 5
MOST_ROWS = 1_000
MANY_CLASSES = 6
MOST_ROWS_OF_MANY = 400
"""Where there are more classes than that: boosting grows a tree for each of them."""


class OuterFold(NamedTuple):
    """What is learned, with the shared inner folds, and what is asked."""

    learned: PoolRows
    X: Any
    y: NDArray[np.intp]


def outer_fold(data: Dataset, number: int, seed: int) -> OuterFold:
    """Split a set; rows of a large one are drawn once for all outer folds."""
    classes, y = np.unique(data.y, return_inverse=True)
    limit = MOST_ROWS if len(classes) <= MANY_CLASSES else MOST_ROWS_OF_MANY
    kept = thin(np.arange(len(y)), y, limit, seed)
    X, y = data.X[kept], y[kept]
    train, test = make_folds(y, OUTER, seed)[number]
    X_train, X_test = _encoded(X[train], y[train], X[test])
    inner = shared_folds(y[train], INNER, draw_seeds(seed, 1)[0])
    return OuterFold(PoolRows(X_train, y[train], len(classes), None, inner), X_test, y[test])


def _encoded(X: Any, y: NDArray[np.intp], asked: Any) -> tuple[Any, Any]:
    if not is_raw_table(X, gaps=True) and not is_raw_table(asked, gaps=True):
        return np.ascontiguousarray(X, float), np.ascontiguousarray(asked, float)
    encoder = TableEncoder(random_state=0).fit(X, y)
    return encoder.transform(X), encoder.transform(asked)
