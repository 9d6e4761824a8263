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
    own = []
    for weight, which in zip(weights, sources, strict=True):
        own.append(weight / mean if which == source else BORROWED * weight / others)
    return slow_quantile(scores, own, coverage * (math.fsum(own) + 1))


def slow_new_threshold(scores, sources, weights, coverage):
    shares = []
    for weight, which in zip(weights, sources, strict=True):
        total = math.fsum(w for w, s in zip(weights, sources, strict=True) if s == which)
        shares.append(weight / total)
    return slow_quantile(scores, shares, coverage * math.fsum(shares))
