"""How sure a network may be of itself, learned from rows that it has not seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

Floats = NDArray[np.float64]

WIDEST = 4.0
"""Bound on the logarithm of a temperature, either way."""


def fit_temperature(log_joint: Floats, labels: NDArray[np.int32], weights: Floats) -> float:
    r"""Find the temperature at which held-out rows' own classes are most probable.

    Minimises :math:`-\sum_i w_i \log \mathrm{softmax}(a_i / T)_{y_i} + \frac12 (\log T)^2`: the
    second term keeps T near one where few rows speak.
    """
    each = np.arange(len(labels))

    def loss(log_t: float) -> float:
        log_p = log_softmax(log_joint * np.exp(-log_t), axis=1)
        return float(0.5 * log_t**2 - weights @ log_p[each, labels])

    return float(np.exp(minimize_scalar(loss, bounds=(-WIDEST, WIDEST), method="bounded").x))
