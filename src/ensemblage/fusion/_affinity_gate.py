"""A gate: each row listens to the members whose strata it is close to."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import clone

from ensemblage.fusion._base import NOTHING_KNOWN, Array, Fusion, FusionContext
from ensemblage.fusion._member_outputs import SMALLEST, are_probabilities
from ensemblage.messages import expect_fitted

TEMPERATURES = 2.0 ** np.arange(-1, 9)
"""From half the affinities' own scale to where almost all members count alike."""


def gate_rule(outputs: Any, affinity: Any, temperature: float = 1.0) -> Array:
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
    return np.asarray(np.einsum("sk,ksc->sc", weights, np.asarray(outputs)))


class Gate(Fusion):
    r"""Members weighted by how close a row is to their strata; needs the rows' affinity.

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
    >>> from ensemblage.fusion import FusionContext, Gate
    >>> outputs = np.array([[[0.9, 0.1]], [[0.3, 0.7]]])
    >>> gate = Gate(temperature=1.0).fit(outputs, np.array([0]))
    >>> gate.combine(outputs, FusionContext(affinity=np.log([[0.5, 0.5]])))
    array([[0.6, 0.4]])
    """

    needs = frozenset({"affinity"})

    def __init__(self, temperature: Any = "auto") -> None:
        self.temperature = temperature

    @property
    def learns(self) -> bool:  # type: ignore[override]  # a fixed temperature is nothing to learn
        """Whether the temperature is learned."""
        return isinstance(self.temperature, str)

    def fit(
        self,
        outputs: Array | None,
        y: NDArray[np.intp],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Array | None = None,
    ) -> Self:
        if isinstance(self.temperature, Real):
            self.temperature_ = float(self.temperature)
            return self
        return self._choose(_log_likelihoods(outputs, y, context.affinity), sample_weight)

    def _choose(self, logs: Array, sample_weight: Array | None) -> Self:
        best = np.argmax([np.average(each, weights=sample_weight) for each in logs])
        self.temperature_ = float(TEMPERATURES[best])
        return self

    def fit_parts(
        self,
        parts: list[NDArray[np.intp]],
        outputs: Array,
        y: NDArray[np.intp],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Array | None = None,
    ) -> list[Self]:
        gates: list[Self] = [clone(self) for _ in parts]
        if isinstance(self.temperature, Real):
            return [gate.fit(outputs, y) for gate in gates]
        # each row is looked at once, not once per part
        logs = _log_likelihoods(outputs, y, context.affinity)
        weights = [None if sample_weight is None else sample_weight[part] for part in parts]
        return [
            gate._choose(logs[:, part], own)  # noqa: SLF001
            for gate, part, own in zip(gates, parts, weights, strict=True)
        ]

    def combine(self, outputs: Array, context: FusionContext = NOTHING_KNOWN) -> Array:
        return gate_rule(outputs, context.affinity, self.temperature_)

    def row_weights(self, outputs: Array, context: FusionContext = NOTHING_KNOWN) -> Array:
        return np.asarray(softmax(np.asarray(context.affinity) / self.temperature_, axis=1))

    def importance(self, n_members: int) -> None:
        return None

    def __check_state__(self) -> None:
        """Refuse a temperature that no fit finds."""
        expect_fitted(self, {"temperature_": "number 1e-300.."})


def _log_likelihoods(outputs: Any, y: NDArray[np.intp], affinity: Any) -> Array:
    """Log probability of each row's own class, (n_temperatures, n_samples)."""
    outputs, affinity = np.asarray(outputs), np.asarray(affinity)
    if are_probabilities(outputs.reshape(-1, outputs.shape[2])):
        # a mean of probabilities is one: the other classes need not be looked at
        return _log_shares(outputs[:, np.arange(len(y)), y].T, affinity)
    fused = (gate_rule(outputs, affinity, temperature) for temperature in TEMPERATURES)
    return np.stack([_log_softmax_at(y, each) for each in fused])


def _log_shares(own: Array, affinity: Array) -> Array:
    """Give the same, from members' probabilities of the row's own class (n_samples, n_members)."""
    weights = np.exp((affinity - affinity.max(axis=1, keepdims=True)) / TEMPERATURES[-1])
    shares, ones = np.empty((len(TEMPERATURES), len(own))), np.ones(affinity.shape[1])
    for share in shares[::-1]:
        share[:] = np.einsum("sk,sk->s", weights, own) / (weights @ ones)
        np.square(weights, out=weights)  # half the temperature
    return np.asarray(np.log(np.maximum(shares, SMALLEST)))


def _log_softmax_at(y: NDArray[np.intp], decisions: Array) -> Array:
    return np.asarray(np.take_along_axis(log_softmax(decisions, axis=1), y[:, None], axis=1)[:, 0])
