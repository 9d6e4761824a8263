"""The log-linear pool: calibrated members, weighted in logs."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax, softmax

from ensemblage._core import deal_folds, expect, expect_array, expect_fitted, set_module
from ensemblage.fusion._base import NOTHING_KNOWN, Fusion, FusionContext
from ensemblage.fusion._normal import (
    Normals,
    as_normals,
    as_outputs,
    calibrated,
    normal_product,
    product_loss,
    spread_factors,
    squared_residuals,
)
from ensemblage.fusion._outputs import PROBABILITY_FLOOR, are_probabilities

Doubles = NDArray[np.float64]


MOST_BONUS = 20.0
N_FOLDS = 5


class Ridges(NamedTuple):
    """Pull of the importances to equal ones, and of class biases to zero; None for no biases."""

    importances: float
    biases: float | None


@set_module("ensemblage.fusion")
class LogPool(Fusion):
    r"""Product of the members' calibrated probabilities, raised to learned importances.

    Parameters
    ----------
    ridge : float, default=10.0
        Pull of the importances towards equal ones, in units of log loss summed over rows.
    bias_ridge : float, default=None
        If given, a bias per class is learned beside the importances, pulled towards zero so
        strongly.
    tempered : bool, default=False
        Divide the pooled logits by one temperature, chosen on rows that importances and biases
        have not seen.
    floor : float, default=0.0
        Share of the classes' frequencies in members' probabilities, so that a member that rules
        a class out can be outvoted.

    Attributes
    ----------
    temperatures_ : ndarray of shape (n_members,)
        What each member's logits are divided by to be calibrated.
    bonuses_ : ndarray of shape (n_members,)
        What is then added for the class that a member puts first; 0 for probabilities, and for
        two classes.
    weights_ : ndarray of shape (n_members,)
        Importances, not negative.
    influence_ : ndarray of shape (n_members,)
        Importance times how far a member's calibrated log probabilities spread over the classes.
    biases_ : ndarray of shape (n_classes,)
        Added to the pooled logits; 0 without ``bias_ridge``.
    temperature_ : float
        What the pooled logits are divided by; 1 unless ``tempered``.
    prior_ : ndarray of shape (n_classes,)
        Frequencies of the classes.
    probable_ : ndarray of shape (n_members,)
        Which members gave probabilities; the others' decision values are taken as logits.

    Notes
    -----
    The joint-subset paper's eq. 10, :math:`p(c|x) \propto \prod_k p_k(c|x)^{i_k}`, with
    importances :math:`i_k` that minimise

    .. math:: -\sum_i \log p(y_i|x_i) + \lambda \sum_k (i_k - 1/K)^2, \quad i_k \ge 0

    on outputs for rows that the members have not seen. Each member is first calibrated by one
    temperature. Decision values for three classes and more need a second number, the bonus: a
    support vector machine's count pairwise votes, which tell little of how sure the first is.

    With all options it is

    .. math:: p(c|x) \propto \exp \frac1T \Big( b_c + \sum_k i_k \log p_k(c|x) \Big), \quad
        p_k = (1 - \epsilon) p_k' + \epsilon \pi,

    where :math:`p_k'` is what member k gave, :math:`\pi` the classes' frequencies and
    :math:`\epsilon` the floor; :math:`\mu \sum_c b_c^2` is added to the loss. For T, importances
    and biases are fitted to four fifths of the rows and judged on the last, five times: it undoes
    what they owe to chance.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(200) % 2
    >>> knows = np.where(y[:, None] == [0, 1], 0.8, 0.2)
    >>> pool = LogPool().fit(np.stack([knows, rng.dirichlet([1, 1], 200)]), y)
    >>> bool(pool.weights_[0] > pool.weights_[1])
    True
    """

    learns = True

    def __init__(
        self,
        ridge: float = 10.0,
        *,
        bias_ridge: float | None = None,
        tempered: bool = False,
        floor: float = 0.0,
    ) -> None:
        self.ridge = ridge
        self.bias_ridge = bias_ridge
        self.tempered = tempered
        self.floor = floor

    def fit(
        self,
        outputs: Doubles | None,
        y: NDArray[np.intp],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Doubles | None = None,
    ) -> Self:
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        outputs = np.asarray(outputs)
        self.probable_ = np.array([are_probabilities(each) for each in outputs])
        self.prior_ = np.bincount(y, weights, minlength=outputs.shape[2]) / weights.sum()
        logits = self._logits(outputs)
        pairs = [
            _calibration(each, y, weights, with_bonus=not probable and each.shape[1] > 2)
            for each, probable in zip(logits, self.probable_, strict=True)
        ]
        self.temperatures_, self.bonuses_ = np.array(pairs).T
        scores, ridges = self._scores(outputs), Ridges(self.ridge, self.bias_ridge)
        self.weights_, self.biases_ = _importances(scores, y, weights, ridges)
        self.temperature_ = _temperature(scores, y, weights, ridges) if self.tempered else 1.0
        self.influence_ = self.weights_ * scores.std(axis=2).mean(axis=1)
        return self

    def _logits(self, outputs: Doubles) -> Doubles:
        logits = np.array(outputs, dtype=float)
        said = logits[self.probable_]
        if self.floor > 0:
            said *= 1 - self.floor
            said += self.floor * self.prior_
        logits[self.probable_] = np.log(np.maximum(said, PROBABILITY_FLOOR))
        return logits

    def _tempered(self, outputs: Doubles) -> Doubles:
        """Log probabilities at the members' temperatures, but for a number per row."""
        logits = self._logits(outputs) / self.temperatures_[:, None, None]
        for k in np.flatnonzero(self.bonuses_):
            logits[k] += self.bonuses_[k] * _first(logits[k])
        return np.asarray(logits)

    def _scores(self, outputs: Doubles) -> Doubles:
        """Calibrated log probabilities, of shape (n_members, n_samples, n_classes)."""
        return np.asarray(log_softmax(self._tempered(outputs), axis=2))

    def log_probabilities(self, outputs: Doubles) -> Doubles:
        """Give each member's own log probabilities, at its best temperature.

        Parameters
        ----------
        outputs : ndarray of shape (n_members, n_samples, n_classes)
            Members' outputs.

        Returns
        -------
        ndarray of shape (n_members, n_samples, n_classes)
            What the pool adds up, each times its importance.
        """
        return self._scores(outputs)

    def combine(self, outputs: Doubles, context: FusionContext = NOTHING_KNOWN) -> Doubles:
        # a number that is added to all classes of a row changes nothing
        pooled = np.tensordot(self.weights_, self._tempered(outputs), 1) + self.biases_
        return np.asarray(softmax(pooled / self.temperature_, axis=1))

    def only(self, members: NDArray[np.intp]) -> LogPool:
        """Give the same pool without the members that are not named.

        Parameters
        ----------
        members : ndarray of int
            Numbers of those to keep.

        Returns
        -------
        LogPool
            Fitted. Where the others have importance 0, it says the same.
        """
        kept = copy(self)
        for name in ("temperatures_", "bonuses_", "weights_", "influence_", "probable_"):
            setattr(kept, name, getattr(self, name)[members])
        return kept

    def _check_fitted(self) -> None:
        """Refuse arrays that do not belong together."""
        expect_fitted(self, {"temperature_": "number"})
        n_members, n_classes = len(self.weights_), len(self.prior_)
        for name in ("weights_", "influence_", "bonuses_"):
            expect_array(self, name, [n_members], low=0)
        expect_array(self, "temperatures_", [n_members])
        expect_array(self, "probable_", [n_members], "truth")
        expect_array(self, "biases_", [n_classes])
        expect_array(self, "prior_", [n_classes], low=0, high=1 + 1e-9)
        sound = self.temperature_ > 0 and bool((self.temperatures_ > 0).all())
        expect(sound, "a temperature is not above zero")

    def importance(self, n_members: int) -> Doubles:
        """Share of each member's influence on the product.

        Parameters
        ----------
        n_members : int
            Number of members.

        Returns
        -------
        ndarray of shape (n_members,)
            Adds up to one, unless no member counts.
        """
        return np.asarray(self.influence_ / max(self.influence_.sum(), PROBABILITY_FLOOR))

    def gives_probabilities(self, from_probabilities: bool) -> bool:
        return True


def _importances(
    scores: Doubles, y: NDArray[np.intp], weights: Doubles, ridges: Ridges
) -> tuple[Doubles, Doubles]:
    """Minimise the class's Notes' loss, given calibrated (n_members, n_samples, n_classes)."""
    equal, each = np.full(len(scores), 1 / len(scores)), np.arange(len(y))
    n_members, biased = len(scores), ridges.biases is not None
    no_bias, bias_ridge = np.zeros(scores.shape[2]), ridges.biases or 0.0

    def loss(values: Doubles) -> tuple[float, Doubles]:
        importance, bias = values[:n_members], values[n_members:]
        pooled = np.tensordot(importance, scores, 1)
        log_p = log_softmax(pooled + bias if biased else pooled, axis=1)
        gap = np.exp(log_p)
        gap[each, y] -= 1
        gap *= weights[:, None]
        slope = np.einsum("ksc,sc->k", scores, gap)
        pull = importance - equal
        value = -weights @ log_p[each, y] + ridges.importances * pull @ pull
        slope = slope + 2 * ridges.importances * pull
        if not biased:
            return value, slope
        slope_of_bias = gap.sum(axis=0) + 2 * bias_ridge * bias
        return value + bias_ridge * bias @ bias, np.append(slope, slope_of_bias)

    start = np.append(equal, no_bias) if biased else equal
    bounds = [(0, None)] * n_members + [(None, None)] * (len(start) - n_members)
    best = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x
    return np.asarray(best[:n_members]), np.asarray(best[n_members:]) if biased else no_bias


def _temperature(scores: Doubles, y: NDArray[np.intp], weights: Doubles, ridges: Ridges) -> float:
    """Find what the logits of pools that have not seen a row are best divided by."""
    pooled = np.empty(scores.shape[1:])
    for train, test in deal_folds(y, N_FOLDS, np.random.default_rng(0)):
        importance, bias = _importances(scores[:, train], y[train], weights[train], ridges)
        pooled[test] = np.tensordot(importance, scores[:, test], 1) + bias
    return _calibration(pooled, y, weights, with_bonus=False)[0]


def _calibrated(logits: Doubles, temperature: float, bonus: float) -> Doubles:
    tempered = logits / temperature
    if bonus:
        tempered += bonus * _first(logits)
    return np.asarray(log_softmax(tempered, axis=1))


def _first(logits: Doubles) -> NDArray[np.bool_]:
    """Mark the classes that a member puts first, (n_samples, n_classes)."""
    return np.asarray(logits == logits.max(axis=1, keepdims=True))


def _calibration(
    logits: Doubles, y: NDArray[np.intp], weights: Doubles, *, with_bonus: bool
) -> tuple[float, float]:
    """Temperature and bonus with the least log loss."""

    def loss(log_t: float, bonus: float = 0.0) -> float:
        log_p = _calibrated(logits, np.exp(log_t), bonus)
        return float(-weights @ log_p[np.arange(len(y)), y])

    start = minimize_scalar(loss, bounds=(-4, 4), method="bounded").x
    if not with_bonus:
        return float(np.exp(start)), 0.0

    def loss_of_pair(pair: Doubles) -> float:
        return loss(pair[0], pair[1])

    best = minimize(loss_of_pair, [start, 0.0], bounds=[(-4, 4), (0, MOST_BONUS)])
    log_t, bonus = best.x if best.fun < loss(start) else (start, 0.0)
    return float(np.exp(log_t)), float(bonus)


@set_module("ensemblage.fusion")
class DensityPool(Fusion):
    r"""Product of members' normal densities, raised to learned importances.

    Parameters
    ----------
    ridge : float, default=10.0
        Pull of the importances towards equal ones, in units of log loss summed over rows.
    by_stratum : bool, default=False
        Learn the members' variances stratum by stratum, as far as rows suffice; it then needs to
        know the rows' strata.

    Attributes
    ----------
    factors_ : ndarray of shape (n_members, n_strata + 1) or (n_members, 1)
        What each member's variances are multiplied by, so that they agree with its residuals on
        the rows of each stratum; the last column is of all rows.
    weights_ : ndarray of shape (n_members,)
        Importances, not negative.
    shares_ : ndarray of shape (n_members,)
        Mean share of each member in the precision.

    See Also
    --------
    LogPool : The same of classes.

    Notes
    -----
    The joint-subset paper's eq. 10, :math:`p(y|x) \propto \prod_k p_k(y|x)^{i_k}`. Where member k
    says :math:`N(\mu_k, s_k^2)`, the product is normal too, with

    .. math:: \frac{1}{s^2} = \sum_k \frac{i_k}{s_k^2}, \qquad
        \mu = s^2 \sum_k \frac{i_k}{s_k^2} \mu_k .

    The importances minimise

    .. math:: -\sum_i \log p(y_i|x_i) + \lambda \sum_k (i_k - 1/K)^2, \quad i_k \ge 0

    on outputs for rows that the members have not seen. Variances are first multiplied by the mean
    of the squared residuals in units of them; that of a stratum is drawn towards that of all rows
    as by twenty rows.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.fusion import DensityPool
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=200)
    >>> said = np.stack([y + 0.1 * rng.normal(size=200), rng.normal(size=200)])
    >>> outputs = np.stack([said, np.ones((2, 200))], axis=2)  # mean and variance
    >>> pool = DensityPool().fit(outputs, y)
    >>> bool(pool.importance(2)[0] > 0.9)
    True
    """

    learns = True

    def __init__(self, ridge: float = 10.0, *, by_stratum: bool = False) -> None:
        self.ridge = ridge
        self.by_stratum = by_stratum

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]  # strata only where asked for
        """The rows' strata, if variances are learned by stratum."""
        return frozenset({"strata"} if self.by_stratum else ())

    def fit(
        self,
        outputs: Doubles | None,
        y: NDArray[Any],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Doubles | None = None,
    ) -> Self:
        members, truth = as_normals(outputs), np.asarray(y, dtype=float)
        weights = np.ones(len(truth)) if sample_weight is None else sample_weight
        strata = context.strata if self.by_stratum else None
        self.factors_ = spread_factors(squared_residuals(members, truth), weights, strata)
        own = calibrated(members, self.factors_, context)
        self.weights_ = _density_importances(own, truth, weights, self.ridge)
        self.shares_ = np.average(_precision_shares(own, self.weights_), axis=0, weights=weights)
        return self

    def _calibrated(self, outputs: Doubles, context: FusionContext) -> Normals:
        return calibrated(as_normals(outputs), self.factors_, context)

    def combine(self, outputs: Doubles, context: FusionContext = NOTHING_KNOWN) -> Doubles:
        return as_outputs(normal_product(self._calibrated(outputs, context), self.weights_))

    def row_weights(self, outputs: Doubles, context: FusionContext = NOTHING_KNOWN) -> Doubles:
        return _precision_shares(self._calibrated(outputs, context), self.weights_)

    def importance(self, n_members: int) -> Doubles:
        """Mean share of each member in the precision.

        Parameters
        ----------
        n_members : int
            Number of members.

        Returns
        -------
        ndarray of shape (n_members,)
            Adds up to one.
        """
        return self.shares_

    def only(self, members: NDArray[np.intp]) -> DensityPool:
        """Give the same pool without the members that are not named.

        Parameters
        ----------
        members : ndarray of int
            Numbers of those to keep.

        Returns
        -------
        DensityPool
            Fitted. Where the others have importance 0, it says the same.
        """
        kept = copy(self)
        for name in ("factors_", "weights_", "shares_"):
            setattr(kept, name, getattr(self, name)[members])
        return kept

    def _check_fitted(self) -> None:
        """Refuse arrays that do not belong together."""
        n_members = len(self.weights_)
        expect_array(self, "weights_", [n_members], low=0)
        expect_array(self, "shares_", [n_members], low=0)
        expect_array(self, "factors_", [n_members, None], low=0)


def _precision_shares(members: Normals, importances: Doubles) -> Doubles:
    """Share of each member in the precision of each row, (n_rows, n_members)."""
    parts = importances[:, None] / members.variance
    return np.asarray((parts / parts.sum(axis=0)).T)


def _density_importances(members: Normals, y: Doubles, weights: Doubles, ridge: float) -> Doubles:
    """Minimise the class's Notes' loss, given calibrated members."""
    equal = np.full(len(members.mean), 1 / len(members.mean))

    def loss(values: Doubles) -> tuple[float, Doubles]:
        # not all zero: there the product has no density
        given = values if values.any() else 1e-6 * equal
        return product_loss(members, y, weights, given, ridge)

    bounds = [(0, None)] * len(equal)
    best = np.asarray(minimize(loss, equal, jac=True, bounds=bounds, method="L-BFGS-B").x)
    return best if best.sum() > 0 else equal
