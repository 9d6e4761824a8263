"""Calibration intercepts of sources, one source and one row at a time."""

import math

import numpy as np
from scipy.optimize import minimize


def source_loss(intercepts, log_proba, labels, weights, ridge):
    total = ridge * sum(b * b for b in intercepts)
    for logs, label, weight in zip(log_proba, labels, weights, strict=True):
        scores = [log + b for log, b in zip(logs, intercepts, strict=True)]
        total -= weight * (scores[label] - math.log(sum(math.exp(score) for score in scores)))
    return total


def intercepts_by_source(log_proba, labels, sources, weights, ridge):
    """Minimise the loss of each source by itself, by numeric gradients."""
    found = []
    for source in range(max(sources) + 1):
        own = [m for m in range(len(labels)) if sources[m] == source]
        args = (log_proba[own], [labels[m] for m in own], [weights[m] for m in own], ridge)
        best = minimize(source_loss, np.zeros(log_proba.shape[1]), args, method="BFGS")
        found.append(best.x)
    return np.array(found)
