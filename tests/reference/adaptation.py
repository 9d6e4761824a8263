"""Adaptation in plain steps, by general optimisation and dense matrices."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from sklearn.base import clone


def value_calibration(predicted, y, weights):
    """Shift, slope and probability of a change, by the marginal likelihoods of the residuals.

    Residuals r have the covariance W^-1 + Z P^-1 Z' times the residual variance, or W^-1 without a
    change; with that variance integrated out, the density is det(V)^-1/2 (r' V^-1 r)^(-n/2).
    """
    mean = np.average(predicted, weights=weights)
    sd = np.sqrt(np.average((predicted - mean) ** 2, weights=weights)) or 1.0
    residual = y - predicted

    def loss(values):
        shift, change = values
        left = residual - shift - change * (predicted - mean)
        return weights @ left**2 + shift**2 + 4 * change**2 * sd**2

    shift, change = minimize(loss, [0.0, 0.0], tol=1e-14).x
    rows = np.column_stack([np.ones(len(y)), (predicted - mean) / sd])
    plain = np.diag(1 / weights)
    changed = plain + rows @ np.diag([1.0, 0.25]) @ rows.T

    def evidence(covariance):
        _, volume = np.linalg.slogdet(covariance)
        square = residual @ np.linalg.solve(covariance, residual)
        return -0.5 * volume - 0.5 * weights.sum() * np.log(square)

    probability = expit(evidence(changed) - evidence(plain) - np.log(2))
    return shift, 1 + change, probability


def adapted_proba(model, X, y, training=None):
    """Probabilities of the rows that a linear model of two classes was adapted to."""
    logs = np.log(model.predict_proba(X))
    each = np.arange(len(y))

    def loss(values):
        log_p = log_softmax(np.exp(values[0]) * logs + values[1:], axis=1)
        return -log_p[each, y].sum() + values[0] ** 2 / 0.32 + values[1:] @ values[1:] / 2

    best = minimize(loss, np.zeros(3), tol=1e-12)
    at, h = best.x, 1e-5
    # the expected curvature, numerically: mean over labels of squared gradients per row
    proba = np.exp(log_softmax(np.exp(at[0]) * logs + at[1:], axis=1))
    information = np.diag([1 / 0.16, 1.0, 1.0])
    for m in each:
        for label in (0, 1):

            def row(values, m=m, label=label):
                return log_softmax(np.exp(values[0]) * logs[m] + values[1:])[label]

            slope = np.array(
                [(row(at + h * unit) - row(at - h * unit)) / (2 * h) for unit in np.eye(3)]
            )
            information += proba[m, label] * np.outer(slope, slope)
    log_odds = loss(np.zeros(3)) - best.fun - np.log(2)
    log_odds += 0.5 * (np.log(1 / 0.16) - np.linalg.slogdet(information)[1])
    share = expit(log_odds)
    adapted = log_softmax(np.exp(share * at[0]) * logs + share * at[1:], axis=1)
    if training is not None:
        n_train = len(training["y_train"])
        weights = np.append(np.ones(n_train), np.full(len(y), max(1, 0.15 * n_train / len(y))))
        refitted = clone(model).fit(
            np.concatenate([training["X_train"], X]), np.append(training["y_train"], y), weights
        )
        adapted = (adapted + np.log(refitted.predict_proba(X))) / 2
    mixed = np.exp((1 - share) * logs + share * adapted)
    return mixed / mixed.sum(axis=1, keepdims=True)
