"""A gate: each row listens to the members whose strata it is close to."""

from __future__ import annotations

from numbers import Real

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.base import clone

from ensemblage.fusion._fusion import Fusion
from ensemblage.fusion._logpool import SMALLEST, are_probabilities

TEMPERATURES = 2.0 ** np.arange(-1, 9)
"""From half the affinities' own scale to where almost all members count alike."""


def gate_rule(outputs, affinity, temperature=1.0):
    r"""Average the members' outputs, each row with its own weights.

    Parameters
    ----------
    outputs : ndarray of shape (n_members, n_samples, n_classes)
        Probabilities or decision values.
    affinity : ndarray of shape (n_samples, n_members)
        Log affinity :math:`a_k(x)` of each row to each member's stratum.
    temperature : float, default=1.0
        Above one the gate is softer than the affinities, below one sharper.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        :math:`\sum_k g_k(x) f_k(x)` with :math:`g(x) = \mathrm{softmax}(a(x) / T)`.

    Examples
    --------
    >>> import numpy as np
    >>> outputs = np.array([[[0.9, 0.1]], [[0.3, 0.7]]])
    >>> gate_rule(outputs, np.log([[0.5, 0.5]]))
    array([[0.6, 0.4]])
    """
    weights = softmax(np.asarray(affinity) / temperature, axis=1)
    return np.einsum("sk,ksc->sc", weights, np.asarray(outputs))


class Gate(Fusion):
    r"""Members weighted by how close a row is to their strata.

    Parameters
    ----------
    temperature : float or "auto", default="auto"
        Softness :math:`T` of the gate; ``"auto"`` takes the one with the least loss on outputs for
        rows that the members have not seen.

    Attributes
    ----------
    temperature_ : float
        The temperature in use.

    See Also
    --------
    gate_rule : The rule itself.

    Notes
    -----
    Densities in many dimensions differ by huge factors between strata; without a temperature
    a row would listen to one member only.

    Examples
    --------
    >>> import numpy as np
    >>> outputs = np.array([[[0.9, 0.1]], [[0.3, 0.7]]])
    >>> gate = Gate(temperature=1.0).fit(outputs, np.array([0]))
    >>> gate.combine(outputs, affinity=np.log([[0.5, 0.5]]))
    array([[0.6, 0.4]])
    """

    uses_affinity = True

    def __init__(self, temperature="auto"):
        self.temperature = temperature

    @property
    def learns(self) -> bool:  # numpydoc ignore=RT01
        """Whether the temperature is learned."""
        return isinstance(self.temperature, str)

    def fit(self, outputs, y, *, affinity=None, sample_weight=None):
        """Choose the temperature.

        Parameters
        ----------
        outputs : ndarray of shape (n_members, n_samples, n_classes)
            Members' outputs on rows that they have not seen.
        y : ndarray of shape (n_samples,)
            Class numbers.
        affinity : ndarray of shape (n_samples, n_members)
            Log affinities of these rows.
        sample_weight : ndarray of shape (n_samples,), default=None
            Row weights.

        Returns
        -------
        self : object
            Fitted fusion.
        """
        if isinstance(self.temperature, Real):
            self.temperature_ = float(self.temperature)
            return self
        return self._choose(_log_likelihoods(outputs, y, affinity), sample_weight)

    def _choose(self, logs, sample_weight):
        best = np.argmax([np.average(each, weights=sample_weight) for each in logs])
        self.temperature_ = float(TEMPERATURES[best])
        return self

    def fit_parts(self, parts, outputs, y, *, affinity=None, sample_weight=None) -> list:
        """Choose a temperature on each part of the rows; each row is looked at once.

        Parameters
        ----------
        parts : list of ndarray of int
            Row numbers of each part.
        outputs : ndarray of shape (n_members, n_samples, n_classes)
            Members' outputs on rows that they have not seen.
        y : ndarray of shape (n_samples,)
            Class numbers.
        affinity : ndarray of shape (n_samples, n_members)
            Log affinities of these rows.
        sample_weight : ndarray of shape (n_samples,), default=None
            Row weights.

        Returns
        -------
        list of Gate
            Fitted, one per part.
        """
        gates = [clone(self) for _ in parts]
        if isinstance(self.temperature, Real):
            return [gate.fit(outputs, y) for gate in gates]
        logs = _log_likelihoods(outputs, y, affinity)
        weights = [None if sample_weight is None else sample_weight[part] for part in parts]
        return [
            gate._choose(logs[:, part], own)  # noqa: SLF001
            for gate, part, own in zip(gates, parts, weights, strict=True)
        ]

    def importance(self, n_members: int):
        """Give no single number: a gate weighs members row by row.

        Parameters
        ----------
        n_members : int
            Number of members.

        Returns
        -------
        None
            See :func:`gate_rule` for the weights of a row.
        """
        return

    def combine(self, outputs, affinity=None):
        """Fuse by affinity.

        Parameters
        ----------
        outputs : ndarray of shape (n_members, n_samples, n_classes)
            Members' outputs.
        affinity : ndarray of shape (n_samples, n_members)
            Log affinities.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Fused outputs.
        """
        return gate_rule(outputs, affinity, self.temperature_)


def _log_likelihoods(outputs, y, affinity) -> np.ndarray:
    """Log probability of each row's own class at each temperature."""
    outputs, affinity = np.asarray(outputs), np.asarray(affinity)
    if are_probabilities(outputs.reshape(-1, outputs.shape[2])):
        # a mean of probabilities is one: the other classes need not be looked at
        return _log_shares(outputs[:, np.arange(len(y)), y].T, affinity)
    fused = (gate_rule(outputs, affinity, temperature) for temperature in TEMPERATURES)
    return np.stack([_log_softmax_at(y, each) for each in fused])


def _log_shares(own, affinity) -> np.ndarray:
    """Log probability of each row's own class at each temperature, given each member's of it."""
    weights = np.exp((affinity - affinity.max(axis=1, keepdims=True)) / TEMPERATURES[-1])
    shares, ones = np.empty((len(TEMPERATURES), len(own))), np.ones(affinity.shape[1])
    for share in shares[::-1]:
        share[:] = np.einsum("sk,sk->s", weights, own) / (weights @ ones)
        np.square(weights, out=weights)  # half the temperature
    return np.log(np.maximum(shares, SMALLEST))


def _log_softmax_at(y, decisions) -> np.ndarray:
    return np.take_along_axis(log_softmax(decisions, axis=1), y[:, None], axis=1)[:, 0]
