"""Strata behind a gate, pooled with members on all rows."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from ensemblage.fusion._fusion import Fusion
from ensemblage.fusion._gate import Gate
from ensemblage.fusion._logpool import LogPool


class AnchoredGate(Fusion):
    """A gate over the strata's members, and a pool of what it says with the anchors.

    Anchors are members that learn all rows. They keep the ensemble from losing to a single
    strong model where strata have nothing to add. Where several kinds of member learn each
    stratum, each kind has a gate of its own.

    Parameters
    ----------
    gate : Fusion, default=None
        Fuses the strata's members of one kind; :class:`Gate` if not given.
    pool : Fusion, default=None
        Fuses what the gates say with the anchors; :class:`LogPool` if not given.
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
    >>> y = np.arange(60) % 2
    >>> right = np.where(y[:, None] == [0, 1], 0.9, 0.1)
    >>> outputs = np.stack([right, 1 - right, right])
    >>> near = np.log([[0.9, 0.1]]) * np.ones((60, 1))
    >>> fusion = AnchoredGate().fit(outputs, y, affinity=near)
    >>> bool((fusion.combine(outputs, near).argmax(axis=1) == y).all())
    True
    """

    learns = True
    uses_affinity = True

    def __init__(self, gate=None, pool=None, n_anchors=1):
        self.gate = gate
        self.pool = pool
        self.n_anchors = n_anchors

    def fit(self, outputs, y, *, affinity=None, sample_weight=None):
        """Fit the gate, then the pool on what it says.

        Parameters
        ----------
        outputs : ndarray of shape (n_members, n_samples, n_classes)
            Members' outputs on rows that they have not seen, kind by kind, anchors last.
        y : ndarray of shape (n_samples,)
            Class numbers.
        affinity : ndarray of shape (n_samples, n_strata)
            Log affinities of the rows to the strata.
        sample_weight : ndarray of shape (n_samples,), default=None
            Row weights.

        Returns
        -------
        self : object
            Fitted fusion.
        """
        self.gates_ = [
            clone(self.gate or Gate()).fit(kind, y, affinity=affinity, sample_weight=sample_weight)
            for kind in self._kinds(outputs, affinity)
        ]
        self.pool_ = clone(self.pool or LogPool())
        self.pool_.fit(self._pooled(outputs, affinity), y, sample_weight=sample_weight)
        return self

    def _kinds(self, outputs, affinity) -> np.ndarray:
        """Split the strata's outputs to (n_kinds, n_strata, n_samples, n_classes)."""
        outputs = np.asarray(outputs)
        n_gated = len(outputs) - self.n_anchors
        return outputs[:n_gated].reshape(-1, affinity.shape[1], *outputs.shape[1:])

    def _pooled(self, outputs, affinity) -> np.ndarray:
        pairs = zip(self.gates_, self._kinds(outputs, affinity), strict=True)
        gated = [gate.combine(kind, affinity) for gate, kind in pairs]
        return np.stack([*gated, *outputs[len(outputs) - self.n_anchors :]])

    def combine(self, outputs, affinity=None):
        """Gate the strata's members and pool the result with the anchors.

        Parameters
        ----------
        outputs : ndarray of shape (n_members, n_samples, n_classes)
            Members' outputs, anchors last.
        affinity : ndarray of shape (n_samples, n_strata)
            Log affinities.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Fused outputs.
        """
        return self.pool_.combine(self._pooled(outputs, affinity))

    def importance(self, n_members: int):
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
        """Tell whether the pool gives probabilities.

        Parameters
        ----------
        from_probabilities : bool
            Whether the members' outputs are.

        Returns
        -------
        bool
            What the pool says.
        """
        return (self.pool or LogPool()).gives_probabilities(from_probabilities)
