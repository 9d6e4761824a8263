"""Strata behind a gate, pooled with members on all rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ensemblage.fusion._affinity_gate import Gate
from ensemblage.fusion._base import NOTHING_KNOWN, Array, Fusion, FusionContext
from ensemblage.fusion._log_pool import LogPool


class AnchoredGate(Fusion):
    """A gate over the strata's members, and a pool of what it says with the anchors.

    Anchors are members that learn all rows. They keep the ensemble from losing to a single
    strong model where strata have nothing to add. Where several kinds of member learn each
    stratum, each kind has a gate of its own. Outputs come kind by kind, anchors last.

    Parameters
    ----------
    gate : Fusion, default=None
        Fuses the strata's members of one kind; :class:`Gate` if not given.
    pool : Fusion, default=None
        Fuses what the gates say with the anchors; :class:`LogPool` if not given. It is not told
        the rows' affinity, which is to strata and not to what it pools.
    n_anchors : int, default=1
        The last so many members are anchors.

    Attributes
    ----------
    gates_ : list of Fusion
        Fitted, one per kind of member.
    pool_ : Fusion
        Fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.fusion import AnchoredGate, FusionContext
    >>> y = np.arange(60) % 2
    >>> right = np.where(y[:, None] == [0, 1], 0.9, 0.1)
    >>> outputs = np.stack([right, 1 - right, right])
    >>> near = FusionContext(affinity=np.log([[0.9, 0.1]]) * np.ones((60, 1)))
    >>> fusion = AnchoredGate().fit(outputs, y, near)
    >>> bool((fusion.combine(outputs, near).argmax(axis=1) == y).all())
    True
    """

    learns = True

    def __init__(self, gate: Any = None, pool: Any = None, n_anchors: int = 1) -> None:
        self.gate = gate
        self.pool = pool
        self.n_anchors = n_anchors

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]  # its parts need more or less
        """Affinity, and what gate and pool need."""
        pool_needs = self._unfitted_pool().needs - {"affinity"}
        return frozenset({"affinity"} | self._unfitted_gate().needs | pool_needs)

    def _unfitted_gate(self) -> Fusion:
        return Gate() if self.gate is None else self.gate

    def _unfitted_pool(self) -> Fusion:
        return LogPool() if self.pool is None else self.pool

    def fit(
        self,
        outputs: Array | None,
        y: NDArray[np.intp],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Array | None = None,
    ) -> Self:
        outputs, gate = np.asarray(outputs), self._unfitted_gate()
        self.gates_ = [
            clone(gate).fit(kind, y, context, sample_weight=sample_weight)
            for kind in self._kinds(outputs, context)
        ]
        self.pool_ = clone(self._unfitted_pool()).fit(
            self._pooled(outputs, context), y, _without_affinity(context),
            sample_weight=sample_weight,
        )  # fmt: skip
        return self

    def _kinds(self, outputs: Array, context: FusionContext) -> Array:
        """Split the strata's outputs to (n_kinds, n_strata, n_samples, n_classes)."""
        n_gated = len(outputs) - self.n_anchors
        n_strata = np.asarray(context.affinity).shape[1]
        return outputs[:n_gated].reshape(-1, n_strata, *outputs.shape[1:])

    def _pooled(self, outputs: Array, context: FusionContext) -> Array:
        """Gates first, then anchors: (n_kinds + n_anchors, n_samples, n_classes)."""
        pairs = zip(self.gates_, self._kinds(outputs, context), strict=True)
        gated = [gate.combine(kind, context) for gate, kind in pairs]
        return np.stack([*gated, *outputs[len(outputs) - self.n_anchors :]])

    def combine(self, outputs: Array, context: FusionContext = NOTHING_KNOWN) -> Array:
        pooled = self._pooled(np.asarray(outputs), context)
        combined: Array = self.pool_.combine(pooled, _without_affinity(context))
        return combined

    def row_weights(self, outputs: Array, context: FusionContext = NOTHING_KNOWN) -> Array | None:
        """Tell each anchor's share in the pool, and each stratum's in its gate's.

        Parameters
        ----------
        outputs : ndarray of shape (n_members, n_samples, n_classes)
            Members' outputs.
        context : FusionContext
            With the rows' affinity.

        Returns
        -------
        ndarray of shape (n_samples, n_members) or None
            None where gate or pool has no such number.
        """
        outputs = np.asarray(outputs)
        pooled = self._pooled(outputs, context)
        shares = self.pool_.row_weights(pooled, _without_affinity(context))
        pairs = zip(self.gates_, self._kinds(outputs, context), strict=True)
        gated = [gate.row_weights(kind, context) for gate, kind in pairs]
        if shares is None or any(each is None for each in gated):
            return None
        parts = [shares[:, [kind]] * each for kind, each in enumerate(gated)]
        return np.concatenate([*parts, shares[:, len(gated) :]], axis=1)

    def importance(self, n_members: int) -> Array | None:
        """Share of each gate, spread evenly over the strata, and of each anchor.

        Parameters
        ----------
        n_members : int
            Number of members.

        Returns
        -------
        ndarray of shape (n_members,) or None
            None if the pool has no such number.
        """
        n_kinds = len(self.gates_)
        shares = self.pool_.importance(n_kinds + self.n_anchors)
        if shares is None:
            return None
        n_strata = (n_members - self.n_anchors) // n_kinds
        return np.concatenate([np.repeat(shares[:n_kinds] / n_strata, n_strata), shares[n_kinds:]])

    def gives_probabilities(self, from_probabilities: bool) -> bool:
        return self._unfitted_pool().gives_probabilities(from_probabilities)


def _without_affinity(context: FusionContext) -> FusionContext:
    return context._replace(affinity=None)
