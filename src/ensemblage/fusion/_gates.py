"""Fusions with weights per row: by affinity, by a softmax gate, by local accuracy."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

from ensemblage._core import PROBABILITY_FLOOR, Interval, expect_array, expect_fitted, set_module
from ensemblage.fusion._base import EMPTY_CONTEXT, Fusion, FusionContext, are_probabilities
from ensemblage.fusion._log_linear import LogLinearPool
from ensemblage.fusion._normal import (
    MIN_VARIANCE_FACTOR,
    PRIOR_ROWS,
    Normals,
    as_normals,
    as_outputs,
    normal_log_density,
    normal_mixture,
    squared_residuals,
)
from ensemblage.fusion._rules import product_rule

Doubles = NDArray[np.float64]

# Candidate temperatures, from 0.5 to where almost all members have the same weight.
TEMPERATURES = 2.0 ** np.arange(-1, 9)


def gate_weights(affinity: Any, temperature: float = 1.0) -> Doubles:
    r"""Weights :math:`g(x) = \mathrm{softmax}(a(x) / T)` of log affinities (n_rows, n_members)."""
    return np.asarray(softmax(np.asarray(affinity) / temperature, axis=1))


def gate_rule(outputs: Any, affinity: Any, temperature: float = 1.0) -> Doubles:
    r"""Average of the members' outputs with weights per row, :math:`\sum_k g_k(x) f_k(x)`."""
    weights = gate_weights(affinity, temperature)
    return np.asarray(np.einsum("sk,ksc->sc", weights, np.asarray(outputs)))


def _log_likelihoods(outputs: Any, y: NDArray[np.intp], affinity: Any) -> Doubles:
    """Log probability of each row's own class, (n_temperatures, n_samples)."""
    outputs, affinity = np.asarray(outputs), np.asarray(affinity)
    if not are_probabilities(outputs.reshape(-1, outputs.shape[2])):
        fused = (gate_rule(outputs, affinity, temperature) for temperature in TEMPERATURES)
        logs = (log_softmax(each, axis=1) for each in fused)
        return np.stack([np.take_along_axis(each, y[:, None], axis=1)[:, 0] for each in logs])
    # a mean of probabilities is normalised: other classes are not needed
    own = outputs[:, np.arange(len(y)), y].T
    weights = np.exp((affinity - affinity.max(axis=1, keepdims=True)) / TEMPERATURES[-1])
    shares, ones = np.empty((len(TEMPERATURES), len(own))), np.ones(affinity.shape[1])
    for share in shares[::-1]:
        share[:] = np.einsum("sk,sk->s", weights, own) / (weights @ ones)
        np.square(weights, out=weights)  # half the temperature
    return np.asarray(np.log(np.maximum(shares, PROBABILITY_FLOOR)))


def _fit_variances(
    outputs: Any, y: NDArray[Any], affinity: Any, temperatures: list[float], inside: Doubles
) -> list[tuple[float, Doubles]]:
    """Best temperature of each subset, and the members' variance factors at it.

    ``inside`` has row weights (n_subsets, n_rows), zero for rows that are not in the subset; what
    does not depend on the subset is computed once.
    """
    members, y = as_normals(outputs), np.asarray(y, dtype=float)
    squares = squared_residuals(members, y).T.copy()
    means, variances = (np.ascontiguousarray(each.T) for each in members)
    unit = inside.sum(axis=1, keepdims=True) / (inside > 0).sum(axis=1, keepdims=True)
    losses, factors = [], []
    for temperature in temperatures:
        weights = gate_weights(affinity, temperature)
        mean = np.einsum("nk,nk->n", weights, means)
        between = np.einsum("nk,nk->n", weights, (means - mean[:, None]) ** 2)
        sums, sizes = inside @ (weights * squares), inside @ weights
        whole = sums.sum(axis=1, keepdims=True) / sizes.sum(axis=1, keepdims=True)
        own = (sums / unit + PRIOR_ROWS * whole) / (sizes / unit + PRIOR_ROWS)
        factors.append(np.maximum(own, MIN_VARIANCE_FACTOR))
        weights *= variances
        mixtures = Normals(mean, between + factors[-1] @ weights.T)
        losses.append(-np.einsum("pn,pn->p", inside, normal_log_density(mixtures, y)))
    best = np.argmin(losses, axis=0).tolist()
    return [(temperatures[t], factors[t][k]) for k, t in enumerate(best)]


@set_module("ensemblage.fusion")
class AffinityGate(Fusion):
    r"""Members weighted by the affinity of a row to their strata.

    Parameters
    ----------
    temperature : float or "auto", default="auto"
        Temperature :math:`T` of the gate's softmax; ``"auto"`` chooses it by out-of-fold log loss.

    Attributes
    ----------
    temperature_ : float
        The temperature used.
    variance_factors_ : ndarray of shape (n_members,)
        Factors of each member's variances, estimated from its residuals weighted by the gate.
        Regression only.

    Notes
    -----
    The weights are :math:`g(x) = \mathrm{softmax}(a(x) / T)` of the log affinities. Densities in
    many dimensions differ by large factors between strata; without a temperature one member would
    have all the weight. Classification: :math:`\sum_k g_k(x) f_k(x)`. Regression, with members that
    predict :math:`N(\mu_k, s_k^2)`: mean and variance of the mixture,

    .. math:: \mu = \sum_k g_k \mu_k, \qquad s^2 = \sum_k g_k \big( s_k^2 + (\mu_k - \mu)^2 \big).

    Each :math:`s_k^2` is the mean squared residual weighted by :math:`g_k`, shrunk towards that of
    all members, which counts as twenty rows.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.fusion import AffinityGate, FusionContext
    >>> outputs = np.array([[[0.9, 0.1]], [[0.3, 0.7]]])
    >>> gate = AffinityGate(temperature=1.0).fit(outputs, np.array([0]))
    >>> gate.combine(outputs, FusionContext(affinity=np.log([[0.5, 0.5]])))
    array([[0.6, 0.4]])
    """

    needs = frozenset({"affinity"})
    temperature_: float
    variance_factors_: Doubles

    def __init__(self, temperature: Any = "auto") -> None:
        self.temperature = temperature

    def requires_fit(self, *, numeric: bool = False) -> bool:
        return numeric or isinstance(self.temperature, str)

    def _fit(self, outputs: Any, y: Any, context: FusionContext, weights: Doubles | None) -> None:
        every = slice(None)
        self._fit_gates([self], [every], outputs, y, context, weights, self.numeric_)

    def fit_subsets(
        self,
        subsets: list[NDArray[np.intp]],
        outputs: Doubles,
        y: NDArray[Any],
        context: FusionContext = EMPTY_CONTEXT,
        *,
        numeric: bool = False,
        sample_weight: Doubles | None = None,
    ) -> list[Self]:
        gates: list[Self] = [clone(self) for _ in subsets]
        for gate in gates:
            gate.numeric_ = numeric
        # each row is evaluated once, not once per subset
        self._fit_gates(gates, subsets, outputs, y, context, sample_weight, numeric)
        return gates

    def _fit_gates(
        self,
        gates: list[Self],
        subsets: list[Any],
        outputs: Any,
        y: Any,
        context: FusionContext,
        sample_weight: Doubles | None,
        numeric: bool,
    ) -> None:
        """Fit each gate to its subset of the rows."""
        fixed = isinstance(self.temperature, Real)
        temperatures = [float(self.temperature)] if fixed else TEMPERATURES.tolist()
        if numeric:
            inside = np.zeros((len(subsets), len(y)))
            for own, subset in zip(inside, subsets, strict=True):
                own[subset] = 1.0 if sample_weight is None else sample_weight[subset]
            found = _fit_variances(outputs, y, context.affinity, temperatures, inside)
            for gate, (temperature, factors) in zip(gates, found, strict=True):
                gate.temperature_, gate.variance_factors_ = temperature, factors
            return
        logs = None if fixed else _log_likelihoods(outputs, y, context.affinity)
        for gate, subset in zip(gates, subsets, strict=True):
            best = 0
            if logs is not None:
                weights = None if sample_weight is None else sample_weight[subset]
                means = [np.average(each, weights=weights) for each in logs[:, subset]]
                best = int(np.argmax(means))
            gate.temperature_ = temperatures[best]

    def combine(self, outputs: Doubles, context: FusionContext = EMPTY_CONTEXT) -> Doubles:
        if not self.numeric_:
            return gate_rule(outputs, context.affinity, self.temperature_)
        members = as_normals(outputs)
        own = members._replace(variance=members.variance * self.variance_factors_[:, None])
        return as_outputs(normal_mixture(own, self.row_weights(outputs, context)))

    def row_weights(self, outputs: Doubles, context: FusionContext = EMPTY_CONTEXT) -> Doubles:
        return gate_weights(context.affinity, self.temperature_)

    def member_weights(self, n_members: int) -> None:
        return None

    def _check_fitted(self) -> None:
        super()._check_fitted()
        expect_fitted(self, {"temperature_": "number 1e-300.."})
        if self.numeric_:
            expect_array(self, "variance_factors_", [len(self.variance_factors_)], low=0)


@set_module("ensemblage.fusion")
class SoftmaxGate(Fusion):
    r"""Members weighted by a softmax gate of the features, fitted jointly with the members.

    The gate is :math:`g(x) = \mathrm{softmax}_k(v_k \cdot x + c_k)`, with coefficients ``coef_``
    (n_members, n_features) and ``intercept_`` (n_members,).
    """

    needs = frozenset({"X"})
    classes_only = True
    coef_: NDArray[Any]
    intercept_: NDArray[Any]

    @classmethod
    def from_coefficients(cls, coef: NDArray[Any], intercept: NDArray[Any]) -> SoftmaxGate:
        gate = cls()
        gate.coef_, gate.intercept_ = coef, intercept
        return gate

    def combine(self, outputs: Doubles, context: FusionContext = EMPTY_CONTEXT) -> Doubles:
        fused = np.einsum("sk,ksc->sc", self.row_weights(outputs, context), np.asarray(outputs))
        return np.asarray(fused / fused.sum(axis=1, keepdims=True))

    def row_weights(self, outputs: Doubles, context: FusionContext = EMPTY_CONTEXT) -> Doubles:
        gate = np.asarray(context.X) @ self.coef_.T + self.intercept_
        return np.asarray(softmax(gate.astype(float), axis=1))

    def member_weights(self, n_members: int) -> None:
        return None

    def __sklearn_clone__(self) -> Self:
        return self  # it is fitted with the members only

    def _check_fitted(self) -> None:
        super()._check_fitted()
        rules = {"coef_": "float (members, columns)", "intercept_": "float (members)"}
        expect_fitted(self, rules)


@set_module("ensemblage.fusion")
class AnchoredGate(Fusion):
    """A gate over the strata's members, pooled with anchors.

    Anchors are members fitted on all rows, so that the ensemble is not much worse than a single
    strong model where strata do not help. If several types of member are fitted on each stratum,
    each type has its own gate. Outputs are ordered by type, anchors last. A member's weight for a
    row is its weight in the gate times the gate's weight in the pool; ``member_weights`` divides
    the gate's weight evenly among the strata.

    Parameters
    ----------
    gate : Fusion, default=None
        Fuses the strata's members of one type; by default :class:`AffinityGate`.
    pool : Fusion, default=None
        Fuses the outputs of the gates with the anchors; by default :class:`LogLinearPool`. Its
        context has no affinity.
    n_anchors : int, default=1
        Number of anchors, which are the last members.

    Attributes
    ----------
    gates_ : list of Fusion
        Fitted, one per type of member.
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

    def __init__(self, gate: Any = None, pool: Any = None, *, n_anchors: int = 1) -> None:
        self.gate = gate
        self.pool = pool
        self.n_anchors = n_anchors

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]  # its parts need more or less
        """Affinity, and what gate and pool need."""
        pool_needs = self._unfitted_pool().needs - {"affinity"}
        return frozenset({"affinity"} | self._unfitted_gate().needs | pool_needs)

    def _unfitted_gate(self) -> Fusion:
        return AffinityGate() if self.gate is None else self.gate

    def _unfitted_pool(self) -> Fusion:
        return LogLinearPool() if self.pool is None else self.pool

    def requires_fit(self, *, numeric: bool = False) -> bool:
        return True

    def _fit(self, outputs: Any, y: Any, context: FusionContext, weights: Doubles | None) -> None:
        outputs, gate = np.asarray(outputs), self._unfitted_gate()
        options: dict[str, Any] = {"numeric": self.numeric_, "sample_weight": weights}
        self.gates_ = [
            clone(gate).fit(each, y, context, **options)
            for each in self._by_member_type(outputs, context)
        ]
        pooled = self._gated_and_anchors(outputs, context)
        without_affinity = context._replace(affinity=None)
        self.pool_ = clone(self._unfitted_pool()).fit(pooled, y, without_affinity, **options)

    def _by_member_type(self, outputs: Doubles, context: FusionContext) -> Doubles:
        """Split the strata's outputs to (n_types, n_strata, n_samples, n_classes)."""
        n_gated = len(outputs) - self.n_anchors
        n_strata = np.asarray(context.affinity).shape[1]
        return outputs[:n_gated].reshape(-1, n_strata, *outputs.shape[1:])

    def _gated_and_anchors(self, outputs: Doubles, context: FusionContext) -> Doubles:
        """Stack gates and anchors, (n_types + n_anchors, n_samples, n_classes)."""
        pairs = zip(self.gates_, self._by_member_type(outputs, context), strict=True)
        gated = [gate.combine(each, context) for gate, each in pairs]
        return np.stack([*gated, *outputs[len(outputs) - self.n_anchors :]])

    def combine(self, outputs: Doubles, context: FusionContext = EMPTY_CONTEXT) -> Doubles:
        pooled = self._gated_and_anchors(np.asarray(outputs), context)
        combined: Doubles = self.pool_.combine(pooled, context._replace(affinity=None))
        return combined

    def row_weights(
        self, outputs: Doubles, context: FusionContext = EMPTY_CONTEXT
    ) -> Doubles | None:
        outputs = np.asarray(outputs)
        pooled = self._gated_and_anchors(outputs, context)
        shares = self.pool_.row_weights(pooled, context._replace(affinity=None))
        pairs = zip(self.gates_, self._by_member_type(outputs, context), strict=True)
        gated = [gate.row_weights(own, context) for gate, own in pairs]
        if shares is None or any(each is None for each in gated):
            return None
        parts = [shares[:, [k]] * each for k, each in enumerate(gated)]
        return np.concatenate([*parts, shares[:, len(gated) :]], axis=1)

    def member_weights(self, n_members: int) -> Doubles | None:
        n_types = len(self.gates_)
        shares = self.pool_.member_weights(n_types + self.n_anchors)
        if shares is None:
            return None
        n_strata = (n_members - self.n_anchors) // n_types
        return np.concatenate([np.repeat(shares[:n_types] / n_strata, n_strata), shares[n_types:]])

    def returns_probabilities(self, from_probabilities: bool) -> bool:
        return self._unfitted_pool().returns_probabilities(from_probabilities)


def local_accuracies(
    right: NDArray[np.bool_], neighbours: NDArray[np.intp], sample_weight: Doubles | None = None
) -> Doubles:
    """Accuracy of each member on each row's neighbours, (n_samples, n_members).

    ``right`` is (n_members, n_rows), ``neighbours`` (n_samples, n_neighbors). Smoothed: one half is
    added to the correct predictions and one to the neighbours, so that no accuracy is zero.
    """
    weights = np.ones(right.shape[1]) if sample_weight is None else sample_weight
    near = weights[neighbours]
    hits = np.einsum("kin,in->ik", right[:, neighbours].astype(float), near)
    return np.asarray((hits + 0.5) / (near.sum(axis=1, keepdims=True) + 1.0))


@set_module("ensemblage.fusion")
class LocalCompetence(Fusion):
    r"""Weighted product of the members, with local accuracies as weights.

    It needs the rows as numeric features on comparable scales.

    Parameters
    ----------
    n_neighbors : int, default=25
        Number of neighbours.

    Attributes
    ----------
    neighbors_ : NearestNeighbors
        Fitted on the training rows.
    right_ : ndarray of shape (n_members, n_rows)
        Whether each member predicted each row correctly.
    weights_ : ndarray of shape (n_rows,)
        Row weights.

    Notes
    -----
    The weight in eq. 10 is :math:`i_k(x) = a_k(x) / \sum_{k'} a_{k'}(x)`, where :math:`a_k(x)`
    is the member's accuracy on the ``n_neighbors`` nearest rows. The outputs passed to ``fit``
    must be out-of-fold.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.fusion import FusionContext, LocalCompetence
    >>> X, y = np.array([[0.0], [0.1], [1.0], [1.1]]), np.array([0, 0, 1, 1])
    >>> first = np.tile([0.9, 0.1], (4, 1))
    >>> outputs = np.array([first, first[:, ::-1]])
    >>> rows = FusionContext(X=X)
    >>> local = LocalCompetence(n_neighbors=2).fit(outputs, y, rows)
    >>> local.combine(outputs, rows).argmax(axis=1)
    array([0, 0, 1, 1])
    """

    needs = frozenset({"X"})
    classes_only = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, n_neighbors: int = 25) -> None:
        self.n_neighbors = n_neighbors

    def requires_fit(self, *, numeric: bool = False) -> bool:
        return True

    def _fit(self, outputs: Any, y: Any, context: FusionContext, weights: Doubles | None) -> None:
        self._validate_params()
        count = min(self.n_neighbors, len(y))
        # no search tree: model files do not support it
        self.neighbors_ = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(context.X)
        self.right_ = np.asarray(outputs).argmax(axis=2) == np.asarray(y)
        self.weights_ = np.ones(len(y)) if weights is None else np.asarray(weights)

    def combine(self, outputs: Doubles, context: FusionContext = EMPTY_CONTEXT) -> Doubles:
        # zero is a class unseen by the member, which must not exclude it
        allowed = np.where(np.asarray(outputs) == 0, PROBABILITY_FLOOR, outputs)
        return product_rule(allowed, self.row_weights(outputs, context))

    def row_weights(self, outputs: Doubles, context: FusionContext = EMPTY_CONTEXT) -> Doubles:
        near = self.neighbors_.kneighbors(context.X, return_distance=False)
        accuracies = local_accuracies(self.right_, near, self.weights_)
        return np.asarray(accuracies / accuracies.sum(axis=1, keepdims=True))

    def _check_fitted(self) -> None:
        super()._check_fitted()
        n_rows = int(self.neighbors_.n_samples_fit_)
        expect_array(self, "right_", (None, n_rows), "truth")
        expect_array(self, "weights_", (n_rows,), low=0)

    def member_weights(self, n_members: int) -> None:
        return None
