"""Thresholds of prediction sets, row by row."""

import math

BORROWED = 20.0


def slow_quantile(scores, weights, needed):
    for score in sorted(set(scores)):
        below = math.fsum(w for s, w in zip(scores, weights, strict=True) if s <= score)
        if below >= needed * (1 - 1e-12):
            return score
    return math.inf


def slow_source_threshold(scores, sources, weights, source, coverage):
    mean = math.fsum(weights) / len(weights)
    others = math.fsum(w for w, s in zip(weights, sources, strict=True) if s != source)
    own, of_new_row = [], 0.0
    for weight, which in zip(weights, sources, strict=True):
        unit = 1.0 if which == source else BORROWED * mean / others
        own.append(unit * weight / mean)
        of_new_row += own[-1] * unit
    total = math.fsum(own)
    return slow_quantile(scores, own, coverage * (total + of_new_row / total))


def slow_new_threshold(scores, sources, weights, coverage):
    shares = []
    for weight, which in zip(weights, sources, strict=True):
        total = math.fsum(w for w, s in zip(weights, sources, strict=True) if s == which)
        shares.append(weight / total)
    return slow_quantile(scores, shares, coverage * math.fsum(shares))
