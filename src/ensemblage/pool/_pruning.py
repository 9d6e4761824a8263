"""A faster pool: members go one by one, those first that cost most time for what they add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from ensemblage.fusion import Fusion
from ensemblage.pool._held_out_record import HeldOutRecord
from ensemblage.pool._pool_targets import mean_loss


@dataclass(frozen=True)
class PrunedPool:
    """A point on the way from all members to one.

    Parameters
    ----------
    members : tuple of str
        Those that are left.
    latency : float
        Seconds for 100 rows.
    log_loss : float
        On rows that they have not seen.

    Examples
    --------
    >>> from ensemblage.pool import PrunedPool
    >>> PrunedPool(("svm",), 0.002, 0.3).members
    ('svm',)
    """

    members: tuple[str, ...]
    latency: float
    log_loss: float


def frontier(record: HeldOutRecord, seconds: dict[str, float], fusion: Fusion) -> list[PrunedPool]:
    """Drop members one by one, each time the one that costs the least loss per second saved.

    ``seconds`` of each fitted member for 100 rows; the others are not there to begin with.
    """
    left = [k for k, name in enumerate(record.names) if name in seconds]
    points = [_point(left, record, seconds, fusion)]
    while len(left) > 1:
        options = [[each for each in left if each != k] for k in left]
        tried = [_point(option, record, seconds, fusion) for option in options]
        now = points[-1]
        prices = [
            (each.log_loss - now.log_loss) / max(now.latency - each.latency, 1e-9) for each in tried
        ]
        best = int(np.argmin(prices))
        left, point = options[best], tried[best]
        points.append(point)
    return points


def _point(
    members: list[int], record: HeldOutRecord, seconds: dict[str, float], fusion: Fusion
) -> PrunedPool:
    names = tuple(record.names[k] for k in members)
    outputs = record.outputs[members].astype(float)
    fused = fuse_again(record, names, fusion).combine(outputs)
    loss = mean_loss(record.target.row_losses(fused, record.y), record.weights)
    return PrunedPool(names, sum(seconds[name] for name in names), loss)


def fuse_again(record: HeldOutRecord, names: Sequence[str], fusion: Fusion) -> Fusion:
    """Fit a fusion to what some members said of rows that they had not seen."""
    members = [record.names.index(name) for name in names]
    outputs = record.outputs[members].astype(float)
    fitted: Fusion = clone(fusion).fit(outputs, record.y, sample_weight=record.weights)
    return fitted
