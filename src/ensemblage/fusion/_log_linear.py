"""Log-linear pool: weighted product of calibrated members."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax, softmax

from ensemblage._core import (
    PROBABILITY_FLOOR,
    deal_folds,
    expect,
    expect_array,
    expect_fitted,
    set_module,
)
from ensemblage.fusion._base import EMPTY_CONTEXT, Fusion, FusionContext, are_probabilities
from ensemblage.fusion._normal import (
    Normals,
    as_normals,
    as_outputs,
    calibrated,
    normal_product,
    product_loss,
    squared_residuals,
    variance_factors,
)

Doubles = NDArray[np.float64]

# Upper bound of the offset of a member's top class, in logits.
MAX_TOP_CLASS_OFFSET = 20.0
# Bounds of a member's log temperature.
LOG_TEMPERATURES = (-4, 4)
# Number of folds for the pool's own temperature.
N_FOLDS = 5


def _top_class(logits: Doubles) -> NDArray[np.bool_]:
    """Mask of the largest logits, (n_samples, n_classes)."""
    return np.asarray(logits == logits.max(axis=1, keepdims=True))


def _fit_calibration(
    logits: Doubles, y: NDArray[np.intp], weights: Doubles, penalty: float, *, with_offset: bool
) -> tuple[float, float]:
    """Temperature and top-class offset that minimise the penalised log loss."""

    def loss(log_temperature: float, offset: float = 0.0) -> float:
        scaled = logits / np.exp(log_temperature)
        if offset:
            scaled += offset * _top_class(logits)
        log_p = np.asarray(log_softmax(scaled, axis=1))
        return float(-weights @ log_p[np.arange(len(y)), y] + penalty * log_temperature**2)

    start = minimize_scalar(loss, bounds=LOG_TEMPERATURES, method="bounded").x
    if not with_offset:
        return float(np.exp(start)), 0.0
    bounds = [LOG_TEMPERATURES, (0, MAX_TOP_CLASS_OFFSET)]

    def loss_of_pair(pair: Doubles) -> float:
        return loss(pair[0], pair[1])

    best = minimize(loss_of_pair, [start, 0.0], bounds=bounds)
    log_temperature, offset = best.x if best.fun < loss(start) else (start, 0.0)
    return float(np.exp(log_temperature)), float(offset)


def _fit_importances(
    loss: Callable[[Doubles], tuple[float, Doubles]], n_members: int, n_biases: int = 0
) -> tuple[Doubles, Doubles]:
    """Minimise a loss over non-negative importances and biases."""
    start = np.append(np.full(n_members, 1 / n_members), np.zeros(n_biases))
    bounds = [(0, None)] * n_members + [(None, None)] * n_biases
    best = np.asarray(minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x)
    return best[:n_members], best[n_members:]


def _fit_classes(
    scores: Doubles,
    y: NDArray[np.intp],
    weights: Doubles,
    weight_penalty: float,
    bias_penalty: float | None,
) -> tuple[Doubles, Doubles]:
    """Fit importances and biases to calibrated scores (n_members, n_samples, n_classes)."""
    n_members, _, n_classes = scores.shape
    rows, biased, own_penalty = np.arange(len(y)), bias_penalty is not None, bias_penalty or 0.0

    def loss(values: Doubles) -> tuple[float, Doubles]:
        importances, biases = values[:n_members], values[n_members:]
        pooled = np.tensordot(importances, scores, 1)
        log_p = log_softmax(pooled + biases if biased else pooled, axis=1)
        residuals = np.exp(log_p)
        residuals[rows, y] -= 1
        residuals *= weights[:, None]
        deviation = importances - np.full(n_members, 1 / n_members)
        value = -weights @ log_p[rows, y] + weight_penalty * deviation @ deviation
        gradient = np.einsum("ksc,sc->k", scores, residuals) + 2 * weight_penalty * deviation
        if not biased:
            return value, gradient
        bias_gradient = residuals.sum(axis=0) + 2 * own_penalty * biases
        return value + own_penalty * biases @ biases, np.append(gradient, bias_gradient)

    importances, biases = _fit_importances(loss, n_members, n_classes if biased else 0)
    return importances, biases if biased else np.zeros(n_classes)


def _fit_temperature(
    scores: Doubles,
    y: NDArray[np.intp],
    weights: Doubles,
    penalties: tuple[float, float | None],
    temperature_penalty: float,
) -> float:
    """Temperature of the pooled logits, fitted to their cross-fitted values."""
    pooled = np.empty(scores.shape[1:])
    for train, test in deal_folds(y, N_FOLDS, np.random.default_rng(0)):
        importances, biases = _fit_classes(scores[:, train], y[train], weights[train], *penalties)
        pooled[test] = np.tensordot(importances, scores[:, test], 1) + biases
    return _fit_calibration(pooled, y, weights, temperature_penalty, with_offset=False)[0]


def _fit_normals(members: Normals, y: Doubles, weights: Doubles, penalty: float) -> Doubles:
    n_members = len(members.mean)
    equal = np.full(n_members, 1 / n_members)

    def loss(values: Doubles) -> tuple[float, Doubles]:
        # not all zero, where the product is not a density
        return product_loss(members, y, weights, values if values.any() else 1e-6 * equal, penalty)

    best, _ = _fit_importances(loss, n_members)
    return best if best.sum() > 0 else equal


def _precision_shares(members: Normals, importances: Doubles) -> Doubles:
    """Share of each member in the precision of each row, (n_rows, n_members)."""
    parts = importances[:, None] / members.variance
    return np.asarray((parts / parts.sum(axis=0)).T)


@set_module("ensemblage.fusion")
class LogLinearPool(Fusion):
    r"""Product of the members' calibrated probabilities or densities, raised to importances.

    Parameters
    ----------
    weight_penalty : float, default=10.0
        Ridge penalty that shrinks the importances towards equal ones, in units of log loss summed
        over rows.
    bias_penalty : float, default=None
        If given, a bias per class is fitted with this ridge penalty. Classification only.
    temperature_scaling : bool, default=False
        Divide the pooled logits by a temperature, fitted by cross-validation. Classification only.
    temperature_penalty : float, default=0.0
        Ridge penalty of the logarithms of all temperatures, in units of log loss summed over rows.
        It keeps the temperature from zero where few rows are all predicted correctly.
        Classification only.
    prior_weight : float, default=0.0
        Weight of the class frequencies in members' probabilities, so that no member can exclude a
        class. Classification only.
    prior_rows : float, default=0.0
        Number of rows that the class frequencies count for in members' calibrated probabilities,
        beside the rows of the fit: with few rows, no member excludes a class after calibration
        either. Classification only.
    by_stratum : bool, default=False
        Estimate the members' variances per stratum, with shrinkage; needs the rows' strata.
        Regression only.

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
        Non-negative importances.
    temperatures_ : ndarray of shape (n_members,)
        Temperature that calibrates each member's logits. Classification only.
    top_class_offsets_ : ndarray of shape (n_members,)
        Added to the logit of a member's top class; 0 for probabilities, and for two classes.
        Classification only.
    influence_ : ndarray of shape (n_members,)
        Importance times the mean standard deviation of a member's calibrated log probabilities
        over the classes; ``member_weights`` are its shares. Classification only.
    biases_ : ndarray of shape (n_classes,)
        Added to the pooled logits; 0 without ``bias_penalty``. Classification only.
    temperature_ : float
        Temperature of the pooled logits; 1 without ``temperature_scaling``. Classification only.
    class_prior_ : ndarray of shape (n_classes,)
        Class frequencies. Classification only.
    prior_share_ : float
        Share of the class frequencies in members' calibrated probabilities. Classification only.
    has_probabilities_ : ndarray of shape (n_members,)
        Which members return probabilities; decision values of the others are used as logits.
        Classification only.
    variance_factors_ : ndarray of shape (n_members, n_strata + 1) or (n_members, 1)
        Factors of each member's variances, estimated from its residuals in each stratum; the last
        column is for all rows. Regression only.
    precision_shares_ : ndarray of shape (n_members,)
        Mean share of each member in the precision, its ``member_weights``. Regression only.

    Notes
    -----
    The joint-subset paper's eq. 10, :math:`p(y|x) \propto \prod_k p_k(y|x)^{i_k}`, with
    importances :math:`i_k` that minimise

    .. math:: -\sum_i \log p(y_i|x_i) + \lambda \sum_k (i_k - 1/K)^2, \quad i_k \ge 0

    on out-of-fold outputs.

    *Classification.* Each member is first calibrated by temperature scaling. Decision values for
    three and more classes also get an offset for the top class: those of a support vector machine
    count pairwise votes and carry little information on its confidence. With all options it is

    .. math:: p(c|x) \propto \exp \frac1T \Big( b_c + \sum_k i_k \log p_k(c|x) \Big), \quad
        p_k = (1 - \eta) c_k((1 - \epsilon) p_k' + \epsilon \pi) + \eta \pi,

    where :math:`p_k'` is the output of member k and :math:`c_k` its calibration, :math:`\pi` the
    class frequencies, :math:`\epsilon` the prior weight, and :math:`\eta = m / (n + m)` with n rows
    and m prior rows; :math:`\mu \sum_c b_c^2` is added to the loss. T is fitted by five-fold
    cross-validation of importances and biases.

    *Regression.* If member k predicts :math:`N(\mu_k, s_k^2)`, the product is normal too, with

    .. math:: \frac{1}{s^2} = \sum_k \frac{i_k}{s_k^2}, \qquad
        \mu = s^2 \sum_k \frac{i_k}{s_k^2} \mu_k .

    Variances are first multiplied by the mean squared residual in units of the variance; that of a
    stratum is shrunk towards that of all rows, which counts as twenty rows.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.fusion import LogLinearPool
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(200) % 2
    >>> informed = np.where(y[:, None] == [0, 1], 0.8, 0.2)
    >>> pool = LogLinearPool().fit(np.stack([informed, rng.dirichlet([1, 1], 200)]), y)
    >>> bool(pool.weights_[0] > pool.weights_[1])
    True
    """

    def __init__(
        self,
        *,
        weight_penalty: float = 10.0,
        bias_penalty: float | None = None,
        temperature_scaling: bool = False,
        temperature_penalty: float = 0.0,
        prior_weight: float = 0.0,
        prior_rows: float = 0.0,
        by_stratum: bool = False,
    ) -> None:
        self.weight_penalty = weight_penalty
        self.bias_penalty = bias_penalty
        self.temperature_scaling = temperature_scaling
        self.temperature_penalty = temperature_penalty
        self.prior_weight = prior_weight
        self.prior_rows = prior_rows
        self.by_stratum = by_stratum

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]  # strata only where asked for
        """The rows' strata, if variances are estimated by stratum."""
        return frozenset({"strata"} if self.by_stratum else ())

    def requires_fit(self, *, numeric: bool = False) -> bool:
        return True

    def _fit(self, outputs: Any, y: Any, context: FusionContext, weights: Doubles | None) -> None:
        weights = np.ones(len(y)) if weights is None else weights
        if self.numeric_:
            members, truth = as_normals(outputs), np.asarray(y, dtype=float)
            strata = context.strata if self.by_stratum else None
            squares = squared_residuals(members, truth)
            self.variance_factors_ = variance_factors(squares, weights, strata)
            own = calibrated(members, self.variance_factors_, context)
            self.weights_ = _fit_normals(own, truth, weights, self.weight_penalty)
            shares = _precision_shares(own, self.weights_)
            self.precision_shares_ = np.average(shares, axis=0, weights=weights)
            return
        outputs = np.asarray(outputs)
        self.has_probabilities_ = np.array([are_probabilities(each) for each in outputs])
        self.class_prior_ = np.bincount(y, weights, minlength=outputs.shape[2]) / weights.sum()
        self.prior_share_ = self.prior_rows / (len(y) + self.prior_rows)
        ridge = self.temperature_penalty
        pairs = [
            _fit_calibration(
                each, y, weights, ridge, with_offset=not probable and each.shape[1] > 2
            )
            for each, probable in zip(self._logits(outputs), self.has_probabilities_, strict=True)
        ]
        self.temperatures_, self.top_class_offsets_ = np.array(pairs).T
        scores = self.calibrated_log_proba(outputs)
        penalties = self.weight_penalty, self.bias_penalty
        self.weights_, self.biases_ = _fit_classes(scores, y, weights, *penalties)
        self.temperature_ = 1.0
        if self.temperature_scaling:
            self.temperature_ = _fit_temperature(scores, y, weights, penalties, ridge)
        self.influence_ = self.weights_ * scores.std(axis=2).mean(axis=1)

    def _logits(self, outputs: Doubles) -> Doubles:
        logits = np.array(outputs, dtype=float)
        probabilities = logits[self.has_probabilities_]
        if self.prior_weight > 0:
            probabilities *= 1 - self.prior_weight
            probabilities += self.prior_weight * self.class_prior_
        logits[self.has_probabilities_] = np.log(np.maximum(probabilities, PROBABILITY_FLOOR))
        return logits

    def _calibrated_logits(self, outputs: Doubles) -> Doubles:
        """Log probabilities at the members' temperatures, up to a constant per row."""
        logits = self._logits(outputs) / self.temperatures_[:, None, None]
        for k in np.flatnonzero(self.top_class_offsets_):
            logits[k] += self.top_class_offsets_[k] * _top_class(logits[k])
        if self.prior_share_ > 0:
            probabilities = (1 - self.prior_share_) * softmax(logits, axis=2)
            floor = self.prior_share_ * self.class_prior_
            logits = np.log(np.maximum(probabilities + floor, PROBABILITY_FLOOR))
        return np.asarray(logits)

    def _calibrated_normals(self, outputs: Doubles, context: FusionContext) -> Normals:
        return calibrated(as_normals(outputs), self.variance_factors_, context)

    def calibrated_log_proba(self, outputs: Doubles) -> Doubles:
        """Log probabilities of each member at its own temperature.

        Parameters
        ----------
        outputs : ndarray of shape (n_members, n_samples, n_classes)
            Members' outputs.

        Returns
        -------
        ndarray of shape (n_members, n_samples, n_classes)
            Log probabilities, of which the pool is the weighted sum.
        """
        return np.asarray(log_softmax(self._calibrated_logits(outputs), axis=2))

    def combine(self, outputs: Doubles, context: FusionContext = EMPTY_CONTEXT) -> Doubles:
        if self.numeric_:
            members = self._calibrated_normals(outputs, context)
            return as_outputs(normal_product(members, self.weights_))
        # a constant added to all classes of a row has no effect
        pooled = np.tensordot(self.weights_, self._calibrated_logits(outputs), 1) + self.biases_
        return np.asarray(softmax(pooled / self.temperature_, axis=1))

    def row_weights(
        self, outputs: Doubles, context: FusionContext = EMPTY_CONTEXT
    ) -> Doubles | None:
        if self.numeric_:
            return _precision_shares(self._calibrated_normals(outputs, context), self.weights_)
        return super().row_weights(outputs, context)

    def member_weights(self, n_members: int) -> Doubles:
        if self.numeric_:
            return self.precision_shares_
        return np.asarray(self.influence_ / max(self.influence_.sum(), PROBABILITY_FLOOR))

    def returns_probabilities(self, from_probabilities: bool) -> bool:
        return True

    def _per_member(self) -> list[str]:
        if self.numeric_:
            return ["variance_factors_", "weights_", "precision_shares_"]
        names = ["temperatures_", "top_class_offsets_", "weights_", "influence_"]
        return [*names, "has_probabilities_"]

    def subset(self, members: NDArray[np.intp]) -> LogLinearPool:
        """Restrict the pool to some members.

        Parameters
        ----------
        members : ndarray of int
            Indices of the members to keep.

        Returns
        -------
        LogLinearPool
            Fitted. Predictions are the same if all other members have importance 0.
        """
        kept = copy(self)
        for name in self._per_member():
            setattr(kept, name, getattr(self, name)[members])
        return kept

    def _check_fitted(self) -> None:
        super()._check_fitted()
        n_members = len(self.weights_)
        expect_array(self, "weights_", [n_members], low=0)
        if self.numeric_:
            expect_array(self, "precision_shares_", [n_members], low=0)
            expect_array(self, "variance_factors_", [n_members, None], low=0)
            return
        n_classes = len(self.class_prior_)
        expect_fitted(self, {"temperature_": "number", "prior_share_": "number"})
        expect(0 <= self.prior_share_ < 1, "prior_share_ is not between 0 and 1")
        for name in ("influence_", "top_class_offsets_"):
            expect_array(self, name, [n_members], low=0)
        expect_array(self, "temperatures_", [n_members])
        expect_array(self, "has_probabilities_", [n_members], "truth")
        expect_array(self, "biases_", [n_classes])
        expect_array(self, "class_prior_", [n_classes], low=0, high=1 + 1e-9)
        positive = self.temperature_ > 0 and bool((self.temperatures_ > 0).all())
        expect(positive, "a temperature is not above zero")
