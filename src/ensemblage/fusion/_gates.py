"""Weights for each row: by affinity, by a learned gate, by local competence."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors
from sklearn.utils._param_validation import Interval

from ensemblage._core import expect, expect_array, expect_fitted, set_module
from ensemblage.fusion._base import NOTHING_KNOWN, Fusion, FusionContext
from ensemblage.fusion._log_linear import LogPool
from ensemblage.fusion._normal import (
    BORROWED,
    MIN_RESIDUAL_SHARE,
    Normals,
    as_normals,
    as_outputs,
    normal_log_density,
    normal_mixture,
    squared_residuals,
)
from ensemblage.fusion._outputs import PROBABILITY_FLOOR, are_probabilities
from ensemblage.fusion._rules import product_rule

Doubles = NDArray[np.float64]


TEMPERATURES = 2.0 ** np.arange(-1, 9)
"""From half the affinities' own scale to where almost all members count alike."""


def gate_rule(outputs: Any, affinity: Any, temperature: float = 1.0) -> Doubles:
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


@set_module("ensemblage.fusion")
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
        outputs: Doubles | None,
        y: NDArray[np.intp],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Doubles | None = None,
    ) -> Self:
        if isinstance(self.temperature, Real):
            self.temperature_ = float(self.temperature)
            return self
        return self._choose(_log_likelihoods(outputs, y, context.affinity), sample_weight)

    def _choose(self, logs: Doubles, sample_weight: Doubles | None) -> Self:
        best = np.argmax([np.average(each, weights=sample_weight) for each in logs])
        self.temperature_ = float(TEMPERATURES[best])
        return self

    def fit_parts(
        self,
        parts: list[NDArray[np.intp]],
        outputs: Doubles,
        y: NDArray[np.intp],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Doubles | None = None,
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

    def combine(self, outputs: Doubles, context: FusionContext = NOTHING_KNOWN) -> Doubles:
        return gate_rule(outputs, context.affinity, self.temperature_)

    def row_weights(self, outputs: Doubles, context: FusionContext = NOTHING_KNOWN) -> Doubles:
        return np.asarray(softmax(np.asarray(context.affinity) / self.temperature_, axis=1))

    def importance(self, n_members: int) -> None:
        return None

    def _check_fitted(self) -> None:
        """Refuse a temperature that no fit finds."""
        expect_fitted(self, {"temperature_": "number 1e-300.."})


def _log_likelihoods(outputs: Any, y: NDArray[np.intp], affinity: Any) -> Doubles:
    """Log probability of each row's own class, (n_temperatures, n_samples)."""
    outputs, affinity = np.asarray(outputs), np.asarray(affinity)
    if are_probabilities(outputs.reshape(-1, outputs.shape[2])):
        # a mean of probabilities is one: the other classes need not be looked at
        return _log_shares(outputs[:, np.arange(len(y)), y].T, affinity)
    fused = (gate_rule(outputs, affinity, temperature) for temperature in TEMPERATURES)
    return np.stack([_log_softmax_at(y, each) for each in fused])


def _log_shares(own: Doubles, affinity: Doubles) -> Doubles:
    """Give the same, from members' probabilities of the row's own class (n_samples, n_members)."""
    weights = np.exp((affinity - affinity.max(axis=1, keepdims=True)) / TEMPERATURES[-1])
    shares, ones = np.empty((len(TEMPERATURES), len(own))), np.ones(affinity.shape[1])
    for share in shares[::-1]:
        share[:] = np.einsum("sk,sk->s", weights, own) / (weights @ ones)
        np.square(weights, out=weights)  # half the temperature
    return np.asarray(np.log(np.maximum(shares, PROBABILITY_FLOOR)))


def _log_softmax_at(y: NDArray[np.intp], decisions: Doubles) -> Doubles:
    return np.asarray(np.take_along_axis(log_softmax(decisions, axis=1), y[:, None], axis=1)[:, 0])


@set_module("ensemblage.fusion")
class DensityGate(Fusion):
    r"""Mixture of members' normal densities, by how close a row is to their strata.

    Parameters
    ----------
    temperature : float or "auto", default="auto"
        Softness :math:`T` of the gate; ``"auto"`` takes the one with the least log loss on outputs
        for rows that the members have not seen.

    Attributes
    ----------
    temperature_ : float
        The temperature in use.
    factors_ : ndarray of shape (n_members,)
        What each member's variances are multiplied by, so that they agree with its residuals on
        the rows that listen to it.

    See Also
    --------
    Gate : The same of classes.

    Notes
    -----
    With :math:`g(x) = \mathrm{softmax}(a(x) / T)` of the log affinities, and members that say
    :math:`N(\mu_k, s_k^2)`, it gives mean and variance of the mixture,

    .. math:: \mu = \sum_k g_k \mu_k, \qquad s^2 = \sum_k g_k \big( s_k^2 + (\mu_k - \mu)^2 \big).

    Each :math:`s_k^2` is the mean of the squared residuals weighted by :math:`g_k`, drawn towards
    that of all members as by twenty rows.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.fusion import DensityGate, FusionContext
    >>> outputs = np.array([[[0.0, 1.0]] * 2, [[2.0, 1.0]] * 2])  # mean and variance
    >>> near = FusionContext(affinity=np.log([[0.5, 0.5]] * 2))
    >>> gate = DensityGate(temperature=1.0).fit(outputs, np.array([0.0, 2.0]), near)
    >>> gate.combine(outputs, near)
    array([[1., 3.],
           [1., 3.]])
    """

    learns = True
    needs = frozenset({"affinity"})

    def __init__(self, temperature: Any = "auto") -> None:
        self.temperature = temperature

    def fit(
        self,
        outputs: Doubles | None,
        y: NDArray[Any],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Doubles | None = None,
    ) -> Self:
        every = np.arange(len(y))
        found = self._fit_parts([every], np.asarray(outputs), y, context, sample_weight)
        self.temperature_, self.factors_ = found[0]
        return self

    def fit_parts(
        self,
        parts: list[NDArray[np.intp]],
        outputs: Doubles,
        y: NDArray[Any],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Doubles | None = None,
    ) -> list[Self]:
        gates: list[Self] = [clone(self) for _ in parts]
        found = self._fit_parts(parts, outputs, y, context, sample_weight)
        for gate, (temperature, factors) in zip(gates, found, strict=True):
            gate.temperature_, gate.factors_ = temperature, factors
        return gates

    def _fit_parts(
        self,
        parts: list[NDArray[np.intp]],
        outputs: Doubles,
        y: Doubles,
        context: FusionContext,
        sample_weight: Doubles | None,
    ) -> list[tuple[float, Doubles]]:
        """Give the best temperature of each part and the members' factors at it."""
        fixed = isinstance(self.temperature, Real)
        temperatures = [float(self.temperature)] if fixed else TEMPERATURES.tolist()
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        members, inside = as_normals(outputs), np.zeros((len(parts), len(y)))
        for own, part in zip(inside, parts, strict=True):
            own[part] = weights[part]
        rows = _Rows.of(members, np.asarray(y, dtype=float), inside)
        tried = [rows.judge(np.asarray(context.affinity), each) for each in temperatures]
        best = np.argmin([losses for losses, _ in tried], axis=0)
        return [(temperatures[t], tried[t][1][k]) for k, t in enumerate(best.tolist())]

    def combine(self, outputs: Doubles, context: FusionContext = NOTHING_KNOWN) -> Doubles:
        members = as_normals(outputs)
        own = members._replace(variance=members.variance * self.factors_[:, None])
        return as_outputs(normal_mixture(own, self.row_weights(outputs, context)))

    def row_weights(self, outputs: Doubles, context: FusionContext = NOTHING_KNOWN) -> Doubles:
        return np.asarray(softmax(np.asarray(context.affinity) / self.temperature_, axis=1))

    def importance(self, n_members: int) -> None:
        return None

    def _check_fitted(self) -> None:
        """Refuse variances that no fit makes."""
        expect_fitted(self, {"temperature_": "number"})
        expect(self.temperature_ > 0, "the temperature is not above zero")
        expect_array(self, "factors_", [len(self.factors_)], low=0)


class _Rows(NamedTuple):
    """What members said of rows and what is true, rows first, and the rows' weights in parts.

    A part learns from its rows alone, but what does not depend on that is worked out once.
    """

    mean: Doubles
    variance: Doubles
    squares: Doubles
    y: Doubles
    inside: Doubles
    """Of shape (n_parts, n_rows), zero for rows that are not in the part."""

    @classmethod
    def of(cls, members: Normals, y: Doubles, inside: Doubles) -> _Rows:
        mean, variance = (np.ascontiguousarray(each.T) for each in members)
        return cls(mean, variance, squared_residuals(members, y).T.copy(), y, inside)

    def judge(self, affinity: Doubles, temperature: float) -> tuple[Doubles, Doubles]:
        """Give each part's log loss, and its members' factors, (n_parts, n_members)."""
        shares = softmax(affinity / temperature, axis=1)
        mean = np.einsum("nk,nk->n", shares, self.mean)
        apart = np.einsum("nk,nk->n", shares, (self.mean - mean[:, None]) ** 2)
        factors = self._factors(shares)
        shares *= self.variance
        told = Normals(mean, apart + factors @ shares.T)
        return -np.einsum("pn,pn->p", self.inside, normal_log_density(told, self.y)), factors

    def _factors(self, shares: Doubles) -> Doubles:
        """Mean of the squared residuals of each member by its shares, drawn to that of all."""
        unit = self.inside.sum(axis=1, keepdims=True) / (self.inside > 0).sum(axis=1, keepdims=True)
        sums, sizes = self.inside @ (shares * self.squares), self.inside @ shares
        whole = sums.sum(axis=1, keepdims=True) / sizes.sum(axis=1, keepdims=True)
        own = (sums / unit + BORROWED * whole) / (sizes / unit + BORROWED)
        return np.asarray(np.maximum(own, MIN_RESIDUAL_SHARE))


@set_module("ensemblage.fusion")
class SoftmaxGate(Fusion):
    r"""Members weighted by a softmax of the row; needs the rows themselves.

    Its coefficients are learned together with the members, so it is made with them and learns
    nothing of its own.

    Parameters
    ----------
    coef : ndarray of shape (n_members, n_features)
        Coefficients :math:`v_k` of the gate.
    intercept : ndarray of shape (n_members,)
        Intercepts :math:`c_k` of the gate.

    See Also
    --------
    Gate : Where strata tell whom to listen to.

    Notes
    -----
    .. math:: p(c \mid x) = \sum_k g_k(x)\, p_k(c \mid x), \quad
        g(x) = \mathrm{softmax}_k(v_k \cdot x + c_k) .

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.fusion import FusionContext, SoftmaxGate
    >>> outputs = np.array([[[0.9, 0.1]], [[0.3, 0.7]]])
    >>> gate = SoftmaxGate(coef=np.array([[1.0], [-1.0]]), intercept=np.zeros(2))
    >>> gate.combine(outputs, FusionContext(X=np.array([[0.0]])))
    array([[0.6, 0.4]])
    """

    needs = frozenset({"X"})

    def __init__(self, coef: Any, intercept: Any) -> None:
        self.coef = coef
        self.intercept = intercept

    def combine(self, outputs: Doubles, context: FusionContext = NOTHING_KNOWN) -> Doubles:
        fused = np.einsum("sk,ksc->sc", self.row_weights(outputs, context), np.asarray(outputs))
        return np.asarray(fused / fused.sum(axis=1, keepdims=True))

    def row_weights(self, outputs: Doubles, context: FusionContext = NOTHING_KNOWN) -> Doubles:
        gate = np.asarray(context.X) @ np.asarray(self.coef).T + self.intercept
        return np.asarray(softmax(gate.astype(float), axis=1))

    def importance(self, n_members: int) -> None:
        return None

    def _check_fitted(self) -> None:
        """Refuse coefficients that do not belong together."""
        rules = {"coef": "float (members, columns)", "intercept": "float (members)"}
        expect_fitted(self, rules)


@set_module("ensemblage.fusion")
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
        outputs: Doubles | None,
        y: NDArray[np.intp],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Doubles | None = None,
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

    def _kinds(self, outputs: Doubles, context: FusionContext) -> Doubles:
        """Split the strata's outputs to (n_kinds, n_strata, n_samples, n_classes)."""
        n_gated = len(outputs) - self.n_anchors
        n_strata = np.asarray(context.affinity).shape[1]
        return outputs[:n_gated].reshape(-1, n_strata, *outputs.shape[1:])

    def _pooled(self, outputs: Doubles, context: FusionContext) -> Doubles:
        """Gates first, then anchors: (n_kinds + n_anchors, n_samples, n_classes)."""
        pairs = zip(self.gates_, self._kinds(outputs, context), strict=True)
        gated = [gate.combine(kind, context) for gate, kind in pairs]
        return np.stack([*gated, *outputs[len(outputs) - self.n_anchors :]])

    def combine(self, outputs: Doubles, context: FusionContext = NOTHING_KNOWN) -> Doubles:
        pooled = self._pooled(np.asarray(outputs), context)
        combined: Doubles = self.pool_.combine(pooled, _without_affinity(context))
        return combined

    def row_weights(
        self, outputs: Doubles, context: FusionContext = NOTHING_KNOWN
    ) -> Doubles | None:
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

    def importance(self, n_members: int) -> Doubles | None:
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


def local_accuracies(
    right: NDArray[np.bool_], neighbours: NDArray[np.intp], sample_weight: Doubles | None = None
) -> Doubles:
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


@set_module("ensemblage.fusion")
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
        outputs: Doubles | None,
        y: NDArray[np.intp],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Doubles | None = None,
    ) -> Self:
        self._validate_params()
        count = min(self.n_neighbors, len(y))
        # no search tree: a model file must not hold one
        self.neighbors_ = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(context.X)
        self.right_ = np.asarray(outputs).argmax(axis=2) == np.asarray(y)
        self.weights_ = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        return self

    def combine(self, outputs: Doubles, context: FusionContext = NOTHING_KNOWN) -> Doubles:
        # zero is a class that the member never saw, which it must not rule out for the others
        allowed = np.where(np.asarray(outputs) == 0, PROBABILITY_FLOOR, outputs)
        return product_rule(allowed, self.row_weights(outputs, context))

    def row_weights(self, outputs: Doubles, context: FusionContext = NOTHING_KNOWN) -> Doubles:
        near = self.neighbors_.kneighbors(context.X, return_distance=False)
        accuracies = local_accuracies(self.right_, near, self.weights_)
        return np.asarray(accuracies / accuracies.sum(axis=1, keepdims=True))

    def _check_fitted(self) -> None:
        """Refuse records of members' hits that no fit makes."""
        n_rows = int(self.neighbors_.n_samples_fit_)
        expect_array(self, "right_", (None, n_rows), "truth")
        expect_array(self, "weights_", (n_rows,), low=0)

    def importance(self, n_members: int) -> None:
        return None
