"""What a fitted pool must hold together, for files that may be forged."""

from __future__ import annotations

from typing import Any

import numpy as np

from ensemblage.fusion import RESPONSES, DensityPool, LogPool
from ensemblage.messages import expect, expect_array, expect_fitted
from ensemblage.pool._held_out_record import HeldOutRecord
from ensemblage.pool._leaderboard import Leaderboard
from ensemblage.pool._recipe import NUMBERS, TABLE

NUMBER_RESPONSES = ("predict", "predict_std")
"""What regressors are asked for."""


def check_pool(pool: Any, n_classes: int | None) -> None:
    """Refuse members, what they are asked, or a fusion that do not belong together.

    The number of classes is None for a pool of numbers.
    """
    n_members = len(pool.estimators_)
    expect(n_members > 0, "it has no members")
    for name in ("member_names_", "responses_", "views_"):
        expect(len(getattr(pool, name)) == n_members, f"{name} has another length")
    expect_fitted(pool, {"member_names_": "words (members)"}, members=n_members)
    expect(isinstance(pool.leaderboard_, Leaderboard), "leaderboard_ is none")
    known = NUMBER_RESPONSES if n_classes is None else RESPONSES
    expect(set(pool.responses_) <= set(known), "responses_ are not known")
    expect(set(pool.views_) <= {NUMBERS, TABLE}, "views_ are not known")
    if isinstance(pool.fusion_, LogPool):
        lengths = (len(pool.fusion_.weights_), len(pool.fusion_.prior_))
        expect(lengths == (n_members, n_classes), "fusion_ is of another pool")
    if isinstance(pool.fusion_, DensityPool):
        expect(len(pool.fusion_.weights_) == n_members, "fusion_ is of another pool")
    _check_record(pool.held_out_, n_classes)


def _check_record(record: HeldOutRecord, n_classes: int | None) -> None:
    """Refuse arrays of other lengths: classes of rows are indices of their probabilities."""
    n_members, n_rows = len(record.names), len(record.y)
    expect(len(record.places) == n_members, "places has another length")
    if n_classes is None:
        expect_array(record, "outputs", [n_members, n_rows, 2])
        expect_array(record, "pooled", [n_rows, 2])
        expect_array(record, "y", [n_rows])
        variances = np.append(record.outputs[:, :, 1], record.pooled[:, 1])
        expect(bool((variances > 0).all()), "a variance is not above zero")
    else:
        expect_array(record, "outputs", [n_members, n_rows, n_classes])
        expect_array(record, "pooled", [n_rows, n_classes], low=0, high=1 + 1e-6)
        expect_array(record, "y", [n_rows], "integer", low=0, high=n_classes - 1)
    expect_array(record, "rows", [n_rows], "integer", low=0)
    if record.weights is not None:
        expect_array(record, "weights", [n_rows], low=0)
