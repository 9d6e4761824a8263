"""Shift and stretch a model's log probabilities to one site, no further than its rows tell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_softmax

Doubles = NDArray[np.float64]

SMALLEST = 1e-12
LOG_ODDS_OF_NONE = np.log(2)
"""Before any row is seen, no change is twice as likely as one."""


class CalibrationPrior(NamedTuple):
    """Standard deviations of a site's log slope and of its offsets, before any row is seen."""

    slope: float = 0.4
    offset: float = 1.0


class SiteCalibration(NamedTuple):
    """A slope and an offset per class, which add up to zero, and how sure they are.

    The covariance is of the log slope, then of the offsets; ``chance`` is that of a change at all,
    and ``log_evidence`` the log probability of the labels, whatever the change.
    """

    slope: float
    offsets: Doubles
    covariance: Doubles
    chance: float = 1.0
    log_evidence: float = 0.0

    def cautious(self) -> SiteCalibration:
        """Draw slope and offsets towards no change, by the chance that there is one."""
        return self._replace(
            slope=float(self.slope**self.chance), offsets=self.chance * self.offsets, chance=1.0
        )

    def log_proba(self, log_proba: Doubles) -> Doubles:
        """Give calibrated log probabilities."""
        return np.asarray(log_softmax(self.slope * log_proba + self.offsets, axis=1))

    @property
    def deviations(self) -> Doubles:
        """Log slope and offsets, in standard deviations from no change."""
        values = np.concatenate([[np.log(self.slope)], self.offsets])
        return np.asarray(values / np.sqrt(np.diag(self.covariance)))


def as_log_proba(probabilities: Doubles) -> Doubles:
    """Take logs of probabilities, none below 1e-12."""
    found = np.asarray(probabilities, dtype=np.float64)
    if not np.isfinite(found).all():
        raise ValueError(
            "The estimator's probabilities are not all numbers, which happens where its columns "
            "are too large for it. Scale them first, for instance with StandardScaler."
        )
    logs = np.log(np.clip(found, SMALLEST, None))
    return np.asarray(log_softmax(logs, axis=1))


def calibrate_site(
    log_proba: Doubles,
    labels: NDArray[np.intp],
    weights: Doubles,
    prior: CalibrationPrior = CalibrationPrior(),  # noqa: B008  a constant
) -> SiteCalibration:
    r"""Find slope b and offsets a of a site by their posterior mode.

    .. math:: -\sum_m w_m \log \mathrm{softmax}(b \log p_m + a)_{y_m} +
        \frac{(\log b)^2}{2 \sigma_b^2} + \frac{\|a\|^2}{2 \sigma_a^2}

    The covariance is that of the normal distribution with the same mode and Fisher information.
    """
    each, n_classes = np.arange(len(labels)), log_proba.shape[1]
    if n_classes == 1:
        return SiteCalibration(1.0, np.zeros(1), np.eye(2))
    precision = np.full(n_classes + 1, prior.offset**-2.0)
    precision[0] = prior.slope**-2.0

    def loss(values: Doubles) -> tuple[float, Doubles]:
        stretched = np.exp(values[0]) * log_proba
        log_p = log_softmax(stretched + values[1:], axis=1)
        gap = np.exp(log_p)
        gap[each, labels] -= 1
        gap *= weights[:, None]
        slope = np.append((gap * stretched).sum(), gap.sum(axis=0)) + precision * values
        value = -weights @ log_p[each, labels] + 0.5 * precision @ values**2
        return float(value), slope

    best = minimize(loss, np.zeros(n_classes + 1), jac=True, method="L-BFGS-B").x
    covariance = np.linalg.inv(_information(log_proba, weights, best) + np.diag(precision))
    # by Laplace's approximation
    volume = 0.5 * (np.linalg.slogdet(covariance)[1] + np.log(precision).sum())
    evidence = float(volume - loss(best)[0])
    chance = float(expit(evidence + loss(np.zeros(n_classes + 1))[0] - LOG_ODDS_OF_NONE))
    slope = float(np.exp(best[0]))
    return SiteCalibration(slope, best[1:], _centred(covariance), chance, evidence)


def _centred(covariance: Doubles) -> Doubles:
    """Leave out what all offsets have in common, of which no row can tell."""
    n_classes = len(covariance) - 1
    centre = np.eye(n_classes + 1)
    centre[1:, 1:] -= 1 / n_classes
    return np.asarray(centre @ covariance @ centre.T)


def _information(log_proba: Doubles, weights: Doubles, values: Doubles) -> Doubles:
    """Fisher information of log slope and offsets."""
    stretched = np.exp(values[0]) * log_proba
    shares = np.exp(log_softmax(stretched + values[1:], axis=1))
    # each class's score moves by its stretched log probability, and by its own offset
    centred = stretched - (shares * stretched).sum(axis=1, keepdims=True)
    n_classes = log_proba.shape[1]
    out = np.zeros((n_classes + 1, n_classes + 1))
    weighted = weights[:, None] * shares
    out[0, 0] = (weighted * centred * stretched).sum()
    out[0, 1:] = out[1:, 0] = (weighted * centred).sum(axis=0)
    out[1:, 1:] = np.diag(weighted.sum(axis=0)) - weighted.T @ shares
    return out
