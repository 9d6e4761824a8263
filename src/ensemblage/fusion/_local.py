"""Local competence: trust the members that were right around the point."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.utils._param_validation import Interval

from ensemblage.fusion._fusion import Fusion
from ensemblage.fusion._product import product_rule


def local_accuracies(right, neighbours, sample_weight=None):
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
    return (hits + 0.5) / (near.sum(axis=1, keepdims=True) + 1.0)


class LocalCompetence(Fusion):
    r"""Product of the members, each with its accuracy around the point as importance.

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
    >>> X, y = np.array([[0.0], [0.1], [1.0], [1.1]]), np.array([0, 0, 1, 1])
    >>> says_zero = np.tile([0.9, 0.1], (4, 1))
    >>> outputs = np.array([says_zero, says_zero[:, ::-1]])
    >>> local = LocalCompetence(n_neighbors=2).fit(outputs, y, X=X)
    >>> local.combine(outputs, X=X).argmax(axis=1)
    array([0, 0, 1, 1])
    """

    learns = True

    _parameter_constraints: dict = {  # noqa: RUF012
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, n_neighbors=25):
        self.n_neighbors = n_neighbors

    def fit(self, outputs, y, *, affinity=None, sample_weight=None, X=None):
        """Remember where each member was right.

        Parameters
        ----------
        outputs : ndarray of shape (n_members, n_samples, n_classes)
            Members' outputs on rows that they have not seen.
        y : ndarray of shape (n_samples,)
            Class numbers.
        affinity : None
            Ignored.
        sample_weight : ndarray of shape (n_samples,), default=None
            Row weights.
        X : ndarray of shape (n_samples, n_features)
            The rows, on the scale in which near means similar.

        Returns
        -------
        self : object
            Fitted fusion.
        """
        self._validate_params()
        count = min(self.n_neighbors, len(y))
        # no search tree: a model file must not hold one
        self.neighbors_ = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(X)
        self.right_ = np.asarray(outputs).argmax(axis=2) == np.asarray(y)
        self.weights_ = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        return self

    def combine(self, outputs, affinity=None, *, X=None):
        """Multiply the members' probabilities, each to the power of its importance.

        Parameters
        ----------
        outputs : ndarray of shape (n_members, n_samples, n_classes)
            Members' probabilities.
        affinity : None
            Ignored.
        X : ndarray of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        near = self.neighbors_.kneighbors(X, return_distance=False)
        accuracies = local_accuracies(self.right_, near, self.weights_)
        return product_rule(outputs, accuracies / accuracies.sum(axis=1, keepdims=True))
