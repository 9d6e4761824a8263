"""How members' outputs become one: the contract, and the fusions that learn nothing."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, clone

from ensemblage.fusion._rules import mean_rule, vote_rule


class Fusion(BaseEstimator):
    """Contract of a fusion.

    Member outputs have shape (n_members, n_samples, n_classes); with two classes decision values
    are the pair (-d, d). Affinities, where a fusion uses them, have shape (n_samples, n_members).

    Attributes
    ----------
    learns : bool
        Whether ``fit`` needs outputs on rows that the members have not seen.
    uses_affinity : bool
        Whether ``fit`` and ``combine`` need affinities.
    """

    learns = False
    uses_affinity = False

    def fit(self, outputs, y, *, affinity=None, sample_weight=None):
        """Learn from outputs and true classes.

        Parameters
        ----------
        outputs : ndarray of shape (n_members, n_samples, n_classes)
            Members' outputs.
        y : ndarray of shape (n_samples,)
            Class numbers, 0 to n_classes - 1.
        affinity : ndarray of shape (n_samples, n_members), default=None
            How close each row is to each member's stratum, in logs.
        sample_weight : ndarray of shape (n_samples,), default=None
            Row weights.

        Returns
        -------
        self : object
            Fitted fusion.
        """
        return self

    def fit_parts(self, parts, outputs, y, *, affinity=None, sample_weight=None) -> list:
        """Fit one fusion on each part of the rows; this one stays as it is.

        Parameters
        ----------
        parts : list of ndarray of int
            Row numbers of each part.
        outputs : ndarray of shape (n_members, n_samples, n_classes)
            Members' outputs.
        y : ndarray of shape (n_samples,)
            Class numbers.
        affinity : ndarray of shape (n_samples, n_members), default=None
            How close each row is to each member's stratum, in logs.
        sample_weight : ndarray of shape (n_samples,), default=None
            Row weights.

        Returns
        -------
        list of Fusion
            Fitted, one per part.
        """
        return [
            clone(self).fit(
                outputs[:, part],
                y[part],
                affinity=None if affinity is None else affinity[part],
                sample_weight=None if sample_weight is None else sample_weight[part],
            )
            for part in parts
        ]

    def combine(self, outputs, affinity=None):
        """Fuse member outputs.

        Parameters
        ----------
        outputs : ndarray of shape (n_members, n_samples, n_classes)
            Members' outputs.
        affinity : ndarray of shape (n_samples, n_members), default=None
            How close each row is to each member's stratum, in logs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The largest entry of a row is the prediction.
        """
        raise NotImplementedError  # look: ok

    def importance(self, n_members: int):
        """Share of each member in the result, where that is one number.

        Parameters
        ----------
        n_members : int
            Number of members.

        Returns
        -------
        ndarray of shape (n_members,) or None
            Adds up to one.
        """
        return np.full(n_members, 1 / n_members)

    def gives_probabilities(self, from_probabilities: bool) -> bool:
        """Tell whether fused outputs are probabilities.

        Parameters
        ----------
        from_probabilities : bool
            Whether the members' outputs are.

        Returns
        -------
        bool
            Whether ``combine`` gives probabilities.
        """
        return from_probabilities


class Mean(Fusion):
    """Average of the members' outputs.

    See Also
    --------
    mean_rule : The rule itself.

    Examples
    --------
    >>> import numpy as np
    >>> Mean().combine(np.array([[[0.9, 0.1]], [[0.5, 0.5]]]))
    array([[0.7, 0.3]])
    """

    def combine(self, outputs, affinity=None):
        """Average the members' outputs.

        Parameters
        ----------
        outputs : ndarray of shape (n_members, n_samples, n_classes)
            Members' outputs.
        affinity : None
            Ignored.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The average.
        """
        return mean_rule(outputs)


class Vote(Fusion):
    """Share of the members that choose each class.

    See Also
    --------
    vote_rule : The rule itself.

    Examples
    --------
    >>> import numpy as np
    >>> Vote().combine(np.array([[[0.9, 0.1]], [[0.6, 0.4]]]))
    array([[1., 0.]])
    """

    def combine(self, outputs, affinity=None):
        """Count the members' choices.

        Parameters
        ----------
        outputs : ndarray of shape (n_members, n_samples, n_classes)
            Members' outputs.
        affinity : None
            Ignored.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Shares of the votes.
        """
        return vote_rule(outputs)

    def gives_probabilities(self, from_probabilities: bool) -> bool:
        """Tell that shares of votes count as probabilities.

        Parameters
        ----------
        from_probabilities : bool
            Ignored.

        Returns
        -------
        bool
            True.
        """
        return True
