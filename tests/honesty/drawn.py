"""Drawn datasets whose truth is known, and told values compared with true ones."""

import numpy as np

N_FRESH = 2000


def draw_classes(n_rows, draw, effect=0.0, n_columns=4):
    """Two classes of equal frequency; 0 is noise. Training rows, then fresh ones.

    Frequencies are fixed, since stratified folds tell the accuracy at those of the sample.
    """
    rng = np.random.default_rng([n_rows, draw])
    y = np.concatenate([rng.permutation(np.arange(n_rows) % 2), np.arange(N_FRESH) % 2])
    X = rng.normal(size=(len(y), n_columns))
    X[:, 0] += effect * y
    X[:, 1] += effect * (y - 0.5) * (X[:, 2] > 0)
    return (X[:n_rows], y[:n_rows]), (X[n_rows:], y[n_rows:])


def draw_values(n_rows, draw, effect=0.0, n_columns=4):
    """Draw a numeric target; training rows, then fresh ones.

    The noise of both has a mean of zero and a variance of one exactly: folds stratified by the
    target tell the error at the mean of the sample.
    """
    rng = np.random.default_rng([n_rows, draw])
    parts = []
    for size in (n_rows, N_FRESH):
        X, noise = rng.normal(size=(size, n_columns)), rng.normal(size=size)
        y = effect * X[:, 0] * np.sign(X[:, 1]) + (noise - noise.mean()) / noise.std()
        parts.append((X, y))
    return parts


def assert_honest(told, true, *, pessimism=0.0):
    """Told errors equal true ones within two standard errors of the difference over draws.

    Models of a cross-validation have fewer rows, and may have ``pessimism`` more error.
    """
    difference = np.subtract(told, true)
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    found = f"told {np.mean(told):.4f}, true {np.mean(true):.4f}, standard error {error:.4f}"
    assert -2 * error <= difference.mean() <= 2 * error + pessimism, found
