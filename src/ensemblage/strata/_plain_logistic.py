"""scikit-learn's logistic regression without its questions, for many members on few plain rows.

On sixty rows, to ask what kind of arrays these are takes scikit-learn longer than to learn from
them. Here the same loss is minimised by the same routine, so that the coefficients have the same
bits; a test compares them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn._loss import HalfBinomialLoss, HalfMultinomialLoss
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import squared_norm

from ensemblage.messages import warn_user

Doubles = NDArray[np.float64]
Objective = Callable[[Doubles], tuple[float, Doubles]]

# scikit-learn's own: tests of the line search per step, and the least gain that counts
LINE_SEARCHES, LEAST_GAIN = 50, 64 * np.finfo(float).eps


class PlainRows(NamedTuple):
    """What is learned from: finite, C-contiguous doubles, and classes numbered from zero."""

    X: Doubles
    codes: NDArray[np.intp]
    weights: Doubles | None


class Settings(NamedTuple):
    """scikit-learn's parameters of the same names."""

    C: float
    fit_intercept: bool
    tol: float
    max_iter: int


class Solution(NamedTuple):
    """Coefficients, (n_classes, n_features) or one row for two classes; intercepts; steps."""

    coef: Doubles
    intercept: Doubles
    n_iter: int


def solve_plain(rows: PlainRows, settings: Settings) -> Solution:
    r"""Minimise the mean logistic loss plus :math:`\|w\|^2 / (2 C \sum_i s_i)` by L-BFGS."""
    n_classes, n_columns = int(rows.codes.max()) + 1, rows.X.shape[1]
    total = len(rows.X) if rows.weights is None else np.sum(rows.weights)
    penalty = 1.0 / (settings.C * float(total))
    make = _two_classes if n_classes == 2 else _many_classes
    outputs = 1 if n_classes == 2 else n_classes
    found = minimize(
        make(rows, settings.fit_intercept, penalty, total),
        np.zeros(outputs * (n_columns + settings.fit_intercept)),
        method="L-BFGS-B",
        jac=True,
        options={
            "maxiter": settings.max_iter, "maxls": LINE_SEARCHES,
            "gtol": settings.tol, "ftol": LEAST_GAIN,
        },
    )  # fmt: skip
    n_iter = min(found.nit, settings.max_iter)
    if found.status != 0:
        warn_user(
            f"lbfgs failed to converge after {n_iter} iterations: {found.message}. Raise "
            f"`max_iter` (now {settings.max_iter}).",
            ConvergenceWarning,
        )
    coef = found.x.reshape((outputs, -1), order="F")
    if settings.fit_intercept:
        return Solution(coef[:, :-1], coef[:, -1], n_iter)
    return Solution(coef, np.zeros(outputs), n_iter)


def _two_classes(rows: PlainRows, intercept: bool, penalty: float, total: Any) -> Objective:
    X, truth, weights = rows.X, rows.codes.astype(np.float64), rows.weights
    loss, n_columns = HalfBinomialLoss(), X.shape[1]

    def objective(coef: Doubles) -> tuple[float, Doubles]:
        slope = coef[:n_columns]
        raw = X @ slope + (coef[-1] if intercept else 0.0)
        losses, change = loss.loss_gradient(truth, raw, weights)
        value = float(np.sum(losses) / total) + float(0.5 * penalty * (slope @ slope))
        change /= total
        gradient = np.empty_like(coef)
        gradient[:n_columns] = X.T @ change + penalty * slope
        if intercept:
            gradient[-1] = np.sum(change)
        return value, gradient

    return objective


def _many_classes(rows: PlainRows, intercept: bool, penalty: float, total: Any) -> Objective:
    X, truth, weights = rows.X, rows.codes.astype(np.float64), rows.weights
    n_classes, n_columns = int(rows.codes.max()) + 1, X.shape[1]
    loss = HalfMultinomialLoss(n_classes=n_classes)

    def objective(coef: Doubles) -> tuple[float, Doubles]:
        both = coef.reshape((n_classes, -1), order="F")
        slope = both[:, :n_columns]
        raw = X @ slope.T + (both[:, -1] if intercept else 0.0)
        losses, change = loss.loss_gradient(truth, raw, weights)
        value = float(np.sum(losses) / total) + float(0.5 * penalty * squared_norm(slope))
        change /= total
        gradient = np.empty(both.shape, order="F")
        gradient[:, :n_columns] = change.T @ X + penalty * slope
        if intercept:
            gradient[:, -1] = np.sum(change, axis=0)
        return value, gradient.ravel(order="F")

    return objective
