"""A log-linear pool of members with learned importances."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax, softmax

from ensemblage.fusion._base import NOTHING_KNOWN, Array, Fusion, FusionContext
from ensemblage.fusion._member_outputs import SMALLEST, are_probabilities

MOST_BONUS = 20.0


class LogPool(Fusion):
    r"""Product of the members' calibrated probabilities, raised to learned importances.

    Parameters
    ----------
    ridge : float, default=10.0
        Pull of the importances towards equal ones, in units of log loss summed over rows.

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

    def __init__(self, ridge: float = 10.0) -> None:
        self.ridge = ridge

    def fit(
        self,
        outputs: Array | None,
        y: NDArray[np.intp],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Array | None = None,
    ) -> Self:
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        outputs = np.asarray(outputs)
        self.probable_ = np.array([are_probabilities(each) for each in outputs])
        logits = self._logits(outputs)
        pairs = [
            _calibration(each, y, weights, with_bonus=not probable and each.shape[1] > 2)
            for each, probable in zip(logits, self.probable_, strict=True)
        ]
        self.temperatures_, self.bonuses_ = np.array(pairs).T
        scores = self._scores(outputs)
        self.weights_ = _importances(scores, y, weights, self.ridge)
        self.influence_ = self.weights_ * scores.std(axis=2).mean(axis=1)
        return self

    def _logits(self, outputs: Array) -> Array:
        probable = self.probable_[:, None, None]
        return np.where(probable, np.log(np.maximum(outputs, SMALLEST)), outputs)

    def _scores(self, outputs: Array) -> Array:
        """Calibrated log probabilities, of shape (n_members, n_samples, n_classes)."""
        parts = zip(self._logits(outputs), self.temperatures_, self.bonuses_, strict=True)
        return np.stack([_calibrated(*each) for each in parts])

    def combine(self, outputs: Array, context: FusionContext = NOTHING_KNOWN) -> Array:
        return np.asarray(softmax(np.tensordot(self.weights_, self._scores(outputs), 1), axis=1))

    def importance(self, n_members: int) -> Array:
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
        return np.asarray(self.influence_ / max(self.influence_.sum(), SMALLEST))

    def gives_probabilities(self, from_probabilities: bool) -> bool:
        return True


def _importances(scores: Array, y: NDArray[np.intp], weights: Array, ridge: float) -> Array:
    """Minimise the class's Notes' loss, given calibrated (n_members, n_samples, n_classes)."""
    equal, each = np.full(len(scores), 1 / len(scores)), np.arange(len(y))

    def loss(importance: Array) -> tuple[float, Array]:
        log_p = log_softmax(np.tensordot(importance, scores, 1), axis=1)
        gap = np.exp(log_p)
        gap[each, y] -= 1
        slope = np.einsum("ksc,sc->k", scores, gap * weights[:, None])
        pull = importance - equal
        value = -weights @ log_p[each, y] + ridge * pull @ pull
        return value, slope + 2 * ridge * pull

    best = minimize(loss, equal, jac=True, bounds=[(0, None)] * len(equal), method="L-BFGS-B")
    return np.asarray(best.x)


def _calibrated(logits: Array, temperature: float, bonus: float) -> Array:
    first = logits == logits.max(axis=1, keepdims=True)
    return np.asarray(log_softmax(logits / temperature + bonus * first, axis=1))


def _calibration(
    logits: Array, y: NDArray[np.intp], weights: Array, *, with_bonus: bool
) -> tuple[float, float]:
    """Temperature and bonus with the least log loss."""

    def loss(log_t: float, bonus: float = 0.0) -> float:
        log_p = _calibrated(logits, np.exp(log_t), bonus)
        return float(-weights @ log_p[np.arange(len(y)), y])

    start = minimize_scalar(loss, bounds=(-4, 4), method="bounded").x
    if not with_bonus:
        return float(np.exp(start)), 0.0

    def loss_of_pair(pair: Array) -> float:
        return loss(pair[0], pair[1])

    best = minimize(loss_of_pair, [start, 0.0], bounds=[(-4, 4), (0, MOST_BONUS)])
    log_t, bonus = best.x if best.fun < loss(start) else (start, 0.0)
    return float(np.exp(log_t)), float(bonus)
