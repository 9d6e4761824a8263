"""What pools of classes and pools of numbers have in common."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ensemblage.fusion import Fusion, take_rows
from ensemblage.messages import warn_user
from ensemblage.parallel import Fold, read_weights, short_weights
from ensemblage.pool._contributions import Contributions, leave_places_out
from ensemblage.pool._fitted_pool import FittedPool
from ensemblage.pool._held_out_record import HeldOutRecord
from ensemblage.pool._leaderboard import Leaderboard
from ensemblage.pool._pool_rows import Array, PoolRows, shared_folds
from ensemblage.pool._pool_targets import PoolTarget
from ensemblage.pool._pruning import PrunedPool, frontier, fuse_again
from ensemblage.pool._recipe import NUMBERS, TABLE
from ensemblage.tables import EncodeMixin, TableEncoder

# one layout in memory, so that a frame and an array of the same numbers give the same bits
ARRAYS = {"dtype": [np.float64, np.float32], "order": "C"}


class PoolMixin(EncodeMixin):
    """Reads rows, keeps and asks members, and tells what a pool is made of."""

    member_names_: list[str]
    estimators_: list[Any]
    responses_: list[str]
    views_: list[str]
    fusion_: Fusion
    leaderboard_: Leaderboard
    held_out_: HeldOutRecord
    cv: Any

    _shows_table: ClassVar[bool] = True

    def _read_target(self, y: Any) -> tuple[NDArray[Any], PoolTarget]:
        """Validate what is to be predicted; give it as numbers, and what it is."""
        raise NotImplementedError  # look: ok

    def _target(self) -> PoolTarget:
        """Give what was read in ``fit``."""
        raise NotImplementedError  # look: ok

    def _read(self, X: Any, y: Any, sample_weight: Any, groups: Any, fold_seed: int) -> PoolRows:
        """Validate what ``fit`` was given, drop rows without weight, and make the folds."""
        given = X if hasattr(X, "shape") else np.array(X, dtype=object)
        X, y = self._training_rows(X, y, sample_weight, **ARRAYS, ensure_min_samples=2)
        table = given if isinstance(getattr(self, "encoder_", None), TableEncoder) else None
        check_consistent_length(X, groups)
        weights, numbers = None, np.arange(len(y))
        if sample_weight is not None:
            weights = short_weights(read_weights(sample_weight, X))
            present = weights > 0
            X, y, weights = X[present], y[present], weights[present]
            numbers = np.flatnonzero(present)
            table = None if table is None else take_rows(table, numbers)
            groups = None if groups is None else np.asarray(groups)[present]
        y, target = self._read_target(y)
        rows = PoolRows(X, y, target, weights, [], groups is not None, numbers, table)
        return rows._replace(folds=self._folds(rows, fold_seed, groups))

    def _folds(self, rows: PoolRows, seed: int, groups: Any) -> list[Fold]:
        """Make the folds that all members share."""
        return shared_folds(rows.labels, self.cv, seed, groups)

    def _store(self, pool: FittedPool) -> None:
        """Keep the members that have a say, and what is known of all; warn of those left out."""
        self.member_names_, self.estimators_ = pool.names, pool.estimators
        self.responses_, self.views_, self.fusion_ = pool.responses, pool.views, pool.fusion
        self.leaderboard_, self.held_out_ = pool.leaderboard, pool.held_out
        if pool.leaderboard.left_out:
            warn_user(" ".join(pool.leaderboard.left_out))

    def _ask(self, X: Any) -> Array:
        """Ask the members about rows, (n_members, n_samples, n_outputs)."""
        check_is_fitted(self)
        given = X if hasattr(X, "shape") else np.array(X, dtype=object)
        seen, target = {NUMBERS: self._new_rows(X, **ARRAYS), TABLE: given}, self._target()
        asked = zip(self.estimators_, self.responses_, self.views_, strict=True)
        return np.stack([target.ask(each, seen[sees], by) for each, by, sees in asked])

    def contributions(self) -> Contributions:
        """Tell what the pool would lose without each place of diversity.

        Returns
        -------
        Contributions
            Log loss without each place, on rows that the pool has not seen. Only the fusion is
            fitted again. It is of members that do not know sources.
        """
        check_is_fitted(self)
        return leave_places_out(self.held_out_, self._unfitted_fusion())

    def _unfitted_fusion(self) -> Fusion:
        """Give the fusion with the options that it was fitted with."""
        fusion: Fusion = clone(self.fusion_)
        return fusion

    def frontier(self) -> list[PrunedPool]:
        """List ever smaller pools: how long each takes to predict, and at what loss.

        Returns
        -------
        list of PrunedPool
            From all members that count to one; each time the member goes that costs the least
            loss per second saved.
        """
        check_is_fitted(self)
        seconds = {
            each.member: each.predict_seconds
            for each in self.leaderboard_[1:]
            if each.member in self.member_names_
        }
        return frontier(self.held_out_, seconds, self._unfitted_fusion())

    def prune(self, max_latency: float) -> Self:
        """Give a pool that predicts faster; this one stays as it is, and so does that of sources.

        Parameters
        ----------
        max_latency : float
            Seconds for 100 rows, as ``frontier`` has them.

        Returns
        -------
        object
            Fitted, of the largest pool of ``frontier`` that is fast enough; the fusion is fitted
            again for its members.
        """
        points = self.frontier()
        fast = [each for each in points if each.latency <= max_latency]
        if not fast:
            least = min(each.latency for each in points)
            raise ValueError(
                f"max_latency={max_latency!r} is less than the {least:.2g} s for 100 rows that the "
                "fastest of the pools takes. Allow more; frontier() lists what each costs."
            )
        kept = [k for k, name in enumerate(self.member_names_) if name in fast[0].members]
        pruned = copy(self)
        for name in ("member_names_", "estimators_", "responses_", "views_"):
            setattr(pruned, name, [getattr(self, name)[k] for k in kept])
        pruned.fusion_ = fuse_again(self.held_out_, pruned.member_names_, self._unfitted_fusion())
        return pruned
