"""The rows of the study: one outer fold of a set, encoded as the pool encodes them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensemblage.datasets import Dataset
from ensemblage.parallel import draw_seeds, make_folds
from ensemblage.pool import PoolClasses, PoolRows, shared_folds, thin
from ensemblage.tables import TableEncoder, is_raw_table

OUTER = 5
INNER = 5
MOST_ROWS = 1_000
MANY_CLASSES = 6
MOST_ROWS_OF_MANY = 400
"""Where there are more classes than that: boosting grows a tree for each of them."""


class OuterFold(NamedTuple):
    """Rows to learn, with the shared inner folds, and rows to ask about, which have none."""

    learned: PoolRows
    asked: PoolRows


def outer_fold(data: Dataset, number: int, seed: int) -> OuterFold:
    """Split a set; rows of a large one are drawn once for all outer folds."""
    classes, y = np.unique(data.y, return_inverse=True)
    limit = MOST_ROWS if len(classes) <= MANY_CLASSES else MOST_ROWS_OF_MANY
    kept = thin(np.arange(len(y)), y, limit, seed)
    X, y = data.X[kept], y[kept]
    train, test = make_folds(y, OUTER, seed)[number]
    inner = shared_folds(y[train], INNER, draw_seeds(seed, 1)[0])
    learned = PoolRows(X[train], y[train], PoolClasses(classes), None, inner)
    asked = PoolRows(X[test], y[test], PoolClasses(classes), None, [])
    return _encoded(OuterFold(learned, asked))


def _encoded(fold: OuterFold) -> OuterFold:
    """Make numbers of words and gaps, by the rows that are learned, and keep the table beside."""
    if not any(is_raw_table(rows.X, gaps=True) for rows in fold):
        return OuterFold(*(rows._replace(X=np.ascontiguousarray(rows.X, float)) for rows in fold))
    encoder = TableEncoder(random_state=0).fit(fold.learned.X, fold.learned.y)
    return OuterFold(*(rows._replace(X=encoder.transform(rows.X), table=rows.X) for rows in fold))
