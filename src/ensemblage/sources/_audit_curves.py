"""What is drawn of left-out predictions: calibration, decision curves and risks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from ensemblage._core import PROBABILITY_FLOOR
from ensemblage.sources._audit_result import Curves
from ensemblage.sources._source_measures import logistic_fit, net_benefits

Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]

LARGEST_THRESHOLD = 0.5
N_THRESHOLDS = 50
"""Of decision curves."""
N_BINS = 20
"""Of the histogram of risks."""
N_POINTS = 30
"""Of a calibration curve."""
MIN_SPLINE_EVENTS = 20
"""Of the rarer outcome, below which a calibration curve is a line on the logit scale."""


def decision_thresholds(risk: Doubles) -> Doubles:
    """Give thresholds up to one half, or up to the largest risks."""
    top = min(LARGEST_THRESHOLD, max(float(np.quantile(risk, 0.995)), 0.02))
    return top * np.arange(1, N_THRESHOLDS + 1) / N_THRESHOLDS


def risk_edges(risk: Doubles) -> Doubles:
    """Give edges of bins from 0 to the largest risk, rounded up to a tenth."""
    return np.linspace(0, min(1.0, max(np.ceil(10 * risk.max()) / 10, 0.1)), N_BINS + 1)


def class_curves(risk: Doubles, events: Flags, thresholds: Doubles, edges: Doubles) -> Curves:
    """Compute what is drawn of the risks of some rows."""
    everyone = np.ones(len(risk))
    net_benefit, treat_all = (
        tuple(float(net_benefits(each, events, t).mean()) for t in thresholds)
        for each in (risk, everyone)
    )
    of_events, of_others = (
        tuple(np.histogram(risk[each], edges)[0].tolist()) for each in (events, ~events)
    )
    return Curves(calibration_curve(risk, events), net_benefit, treat_all, of_events, of_others)


def calibration_curve(risk: Doubles, events: Flags) -> tuple[tuple[float, float], ...]:
    """Give the observed rate by predicted risk: a spline on the logit, or a line with few events.

    The natural cubic spline has knots at the 10th, 50th and 90th percentiles (Harrell, 2015); the
    fit is by Firth's logistic regression.
    """
    p = np.clip(risk, PROBABILITY_FLOOR, 1 - PROBABILITY_FLOOR)
    line = logit(p)
    low, high = (float(each) for each in np.quantile(line, [0.02, 0.98]))
    if not high - low > 1e-6:
        return ((float(p.mean()), float(events.mean())),)
    rare = min(events.sum(), len(events) - events.sum())
    basis = _spline(line) if rare >= MIN_SPLINE_EVENTS else _line
    shift, scale = line.mean(), line.std()
    coefficients = logistic_fit(basis((line - shift) / scale), events)
    grid = np.linspace(low, high, N_POINTS)
    rates = expit(np.clip(basis((grid - shift) / scale) @ coefficients, -30, 30))
    return tuple(zip(expit(grid).tolist(), rates.tolist(), strict=True))


def value_curve(predicted: Doubles, y: Doubles) -> tuple[tuple[float, float], ...]:
    """Give the mean of a target by its prediction: a spline by least squares."""
    low, high = (float(each) for each in np.quantile(predicted, [0.02, 0.98]))
    scale = predicted.std()
    if not high - low > 1e-9 * max(abs(low), abs(high), 1e-300) or len(y) < 3:
        return ((float(predicted.mean()), float(y.mean())),)
    shift = predicted.mean()
    basis = _spline(predicted) if len(y) >= 2 * MIN_SPLINE_EVENTS else _line
    coefficients = np.linalg.lstsq(basis((predicted - shift) / scale), y, rcond=None)[0]
    grid = np.linspace(low, high, N_POINTS)
    values = basis((grid - shift) / scale) @ coefficients
    return tuple(zip(grid.tolist(), values.tolist(), strict=True))


def _line(x: Doubles) -> Doubles:
    return np.column_stack([np.ones(len(x)), x])


def _spline(x: Doubles) -> Callable[[Doubles], Doubles]:
    """Give the basis of a natural cubic spline of standardised values with three knots."""
    a, b, c = np.quantile((x - x.mean()) / x.std(), [0.1, 0.5, 0.9])
    if not a < b < c:
        return _line

    def basis(z: Doubles) -> Doubles:
        cubes = [np.maximum(z - knot, 0.0) ** 3 for knot in (a, b, c)]
        bent = cubes[0] - cubes[1] * (c - a) / (c - b) + cubes[2] * (b - a) / (c - b)
        return np.column_stack([np.ones(len(z)), z, bent / (c - a) ** 2])

    return basis
