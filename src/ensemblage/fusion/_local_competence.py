"""Local competence: trust the members that were right around the point."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.utils._param_validation import Interval

from ensemblage.fusion._base import NOTHING_KNOWN, Array, Fusion, FusionContext
from ensemblage.fusion._member_outputs import SMALLEST
from ensemblage.fusion._product import product_rule
from ensemblage.messages import expect_array


def local_accuracies(
    right: NDArray[np.bool_], neighbours: NDArray[np.intp], sample_weight: Array | None = None
) -> Array:
    """Share of each point's neighbours that each member gets right.

    Parameters
    ----------
    right : ndarray of shape (n_members, n_rows)
        Whether each member was right on each row that it had not seen.
    neighbours : ndarray of shape (n_samples, n_neighbors)
        Each point's nearest rows.
    sample_weight : ndarray of shape (n_rows,), default=None
        Row weights.

    Returns
    -------
    ndarray of shape (n_samples, n_members)
        Between zero and one; one half is added to the rights and one to the neighbours, so that
        a member without any right neighbour keeps a say.

    Examples
    --------
    >>> import numpy as np
    >>> right = np.array([[True, True, False], [False, False, True]])
    >>> local_accuracies(right, np.array([[0, 1]])).round(2)
    array([[0.83, 0.17]])
    """
    weights = np.ones(right.shape[1]) if sample_weight is None else sample_weight
    near = weights[neighbours]
    hits = np.einsum("kin,in->ik", right[:, neighbours].astype(float), near)
    return np.asarray((hits + 0.5) / (near.sum(axis=1, keepdims=True) + 1.0))


class LocalCompetence(Fusion):
    r"""Product of the members, each with its accuracy around the point as importance.

    It needs the rows themselves, as numbers, on a scale in which near means similar.

    Parameters
    ----------
    n_neighbors : int, default=25
        How many rows count as around the point.

    Attributes
    ----------
    neighbors_ : NearestNeighbors
        Finds the rows around a point.
    right_ : ndarray of shape (n_members, n_rows)
        Whether each member was right on each row.
    weights_ : ndarray of shape (n_rows,)
        Row weights.

    Notes
    -----
    The importance in eq. 10 is :math:`i_k(x) = a_k(x) / \sum_{k'} a_{k'}(x)`, where :math:`a_k(x)`
    is the member's accuracy on the ``n_neighbors`` nearest rows. The outputs given to ``fit``
    must be on rows that the members have not seen.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.fusion import FusionContext, LocalCompetence
    >>> X, y = np.array([[0.0], [0.1], [1.0], [1.1]]), np.array([0, 0, 1, 1])
    >>> says_zero = np.tile([0.9, 0.1], (4, 1))
    >>> outputs = np.array([says_zero, says_zero[:, ::-1]])
    >>> rows = FusionContext(X=X)
    >>> local = LocalCompetence(n_neighbors=2).fit(outputs, y, rows)
    >>> local.combine(outputs, rows).argmax(axis=1)
    array([0, 0, 1, 1])
    """

    learns = True
    needs = frozenset({"X"})

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, n_neighbors: int = 25) -> None:
        self.n_neighbors = n_neighbors

    def fit(
        self,
        outputs: Array | None,
        y: NDArray[np.intp],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Array | None = None,
    ) -> Self:
        self._validate_params()
        count = min(self.n_neighbors, len(y))
        # no search tree: a model file must not hold one
        self.neighbors_ = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(context.X)
        self.right_ = np.asarray(outputs).argmax(axis=2) == np.asarray(y)
        self.weights_ = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        return self

    def combine(self, outputs: Array, context: FusionContext = NOTHING_KNOWN) -> Array:
        # zero is a class that the member never saw, which it must not rule out for the others
        allowed = np.where(np.asarray(outputs) == 0, SMALLEST, outputs)
        return product_rule(allowed, self.row_weights(outputs, context))

    def row_weights(self, outputs: Array, context: FusionContext = NOTHING_KNOWN) -> Array:
        near = self.neighbors_.kneighbors(context.X, return_distance=False)
        accuracies = local_accuracies(self.right_, near, self.weights_)
        return np.asarray(accuracies / accuracies.sum(axis=1, keepdims=True))

    def __check_state__(self) -> None:
        """Refuse records of members' hits that no fit makes."""
        n_rows = int(self.neighbors_.n_samples_fit_)
        expect_array(self, "right_", (None, n_rows), "truth")
        expect_array(self, "weights_", (n_rows,), low=0)

    def importance(self, n_members: int) -> None:
        return None
