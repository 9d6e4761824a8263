"""Medians and shares of parts of the rows, one row at a time."""

import math


def quantile(values, weights, level):
    """Walk through the rows in the order of their values until the level's weight is passed."""
    rows = sorted(zip(values, weights, strict=True))
    goal, held = level * sum(weights), 0.0
    for i, (value, weight) in enumerate(rows):
        held += weight
        if math.isclose(held, goal, rel_tol=1e-9):
            later = [v for v, w in rows[i + 1 :] if w > 0]
            return (value + later[0]) / 2
        if held > goal:
            return value
    raise AssertionError


def spread(values, weights):
    return (quantile(values, weights, 0.75) - quantile(values, weights, 0.25)) / 1.3489795003921634


def deviation(values, weights):
    total = sum(weights)
    mean = sum(v * w for v, w in zip(values, weights, strict=True)) / total
    return math.sqrt(sum(w * (v - mean) ** 2 for v, w in zip(values, weights, strict=True)) / total)


def median_distance(values, weights):
    """Give how far the weighted median is from the plain one, in pooled spreads."""
    ones = [1.0] * len(values)
    gap = quantile(values, weights, 0.5) - quantile(values, ones, 0.5)
    for measure in (spread, deviation):
        pooled = math.sqrt((measure(values, weights) ** 2 + measure(values, ones) ** 2) / 2)
        if pooled > 0:
            return gap / pooled
    return 0.0


def share_distance(codes, code, weights):
    """Give Cohen's h between a weighted share and the plain one."""
    part = sum(w for c, w in zip(codes, weights, strict=True) if c == code) / sum(weights)
    everywhere = codes.count(code) / len(codes)
    return 2 * math.asin(math.sqrt(min(part, 1))) - 2 * math.asin(math.sqrt(everywhere))
