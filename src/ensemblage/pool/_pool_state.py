"""What a fitted pool must hold together, for files that may be forged."""

from __future__ import annotations

from typing import Any

from ensemblage.fusion import RESPONSES, LogPool
from ensemblage.messages import expect, expect_array
from ensemblage.pool._held_out_record import HeldOutRecord
from ensemblage.pool._recipe import NUMBERS, TABLE


def check_pool(pool: Any) -> None:
    """Refuse members, what they are asked, or a fusion that do not belong together."""
    n_members, n_classes = len(pool.estimators_), len(pool.classes_)
    expect(n_members > 0, "it has no members")
    for name in ("member_names_", "responses_", "views_"):
        expect(len(getattr(pool, name)) == n_members, f"{name} has another length")
    expect(set(pool.responses_) <= set(RESPONSES), "responses_ are not known")
    expect(set(pool.views_) <= {NUMBERS, TABLE}, "views_ are not known")
    if isinstance(pool.fusion_, LogPool):
        lengths = (len(pool.fusion_.weights_), len(pool.fusion_.prior_))
        expect(lengths == (n_members, n_classes), "fusion_ is of another pool")
    _check_record(pool.held_out_, n_classes)


def _check_record(record: HeldOutRecord, n_classes: int) -> None:
    """Refuse arrays of other lengths: classes of rows are indices of their probabilities."""
    n_members, n_rows = len(record.names), len(record.y)
    expect(len(record.places) == n_members, "places has another length")
    expect_array(record, "outputs", [n_members, n_rows, n_classes])
    expect_array(record, "pooled", [n_rows, n_classes], low=0, high=1 + 1e-6)
    expect_array(record, "y", [n_rows], "integer", low=0, high=n_classes - 1)
    expect_array(record, "rows", [n_rows], "integer", low=0)
    if record.weights is not None:
        expect_array(record, "weights", [n_rows], low=0)
