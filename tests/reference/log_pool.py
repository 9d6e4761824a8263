"""The log-linear pool with biases and one temperature, one row and one class at a time."""

import numpy as np
from scipy.optimize import minimize


def probabilities(scores, importances, biases, temperature=1.0):
    """Pool calibrated log probabilities, (n_members, n_samples, n_classes)."""
    n_members, n_samples, n_classes = scores.shape
    pooled = np.empty((n_samples, n_classes))
    for i in range(n_samples):
        logits = [
            (biases[c] + sum(importances[k] * scores[k, i, c] for k in range(n_members)))
            / temperature
            for c in range(n_classes)
        ]
        total = sum(np.exp(each) for each in logits)
        pooled[i] = [np.exp(each) / total for each in logits]
    return pooled


def log_loss(pooled, y, weights):
    """Sum of the weighted log losses."""
    return -sum(weights[i] * np.log(pooled[i, y[i]]) for i in range(len(y)))


def importances_and_biases(scores, y, weights, ridge, bias_ridge):
    """Minimise the loss by a method that is told no slopes."""
    n_members, _, n_classes = scores.shape

    def loss(values):
        importances, biases = values[:n_members], values[n_members:]
        value = log_loss(probabilities(scores, importances, biases), y, weights)
        value += ridge * sum((each - 1 / n_members) ** 2 for each in importances)
        return value + bias_ridge * sum(each**2 for each in biases)

    start = [1 / n_members] * n_members + [0.0] * n_classes
    bounds = [(0, None)] * n_members + [(None, None)] * n_classes
    best = minimize(loss, start, bounds=bounds, method="SLSQP", options={"ftol": 1e-12}).x
    return best[:n_members], best[n_members:]
