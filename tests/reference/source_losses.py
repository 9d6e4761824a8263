"""Partial pooling's loss, row by row as its formula reads."""

import numpy as np


def source_loss(rows, labels, sources, weights, coefs):
    """Minus the weighted log likelihood; class 0 of two has the logit 0."""
    total = 0.0
    for x, y, s, w in zip(rows, labels, sources, weights, strict=True):
        logits = coefs[s] @ x
        if len(logits) == 1:
            logits = np.array([0.0, logits[0]])
        total -= w * (logits[y] - np.log(np.exp(logits).sum()))
    return total
