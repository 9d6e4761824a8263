"""Noisy partitions of rows with known clusters."""

import numpy as np

TRUTH = np.repeat(np.arange(3), 20)


def noisy_partitions(truth, n_partitions=15, share=0.3, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    wrong = rng.random((n_partitions, len(truth))) < share
    guess = rng.integers(0, truth.max() + 1, size=wrong.shape)
    found = np.where(wrong, guess, truth)
    found = np.stack([rng.permutation(truth.max() + 1)[labels] for labels in found])
    return np.where(rng.random(wrong.shape) < missing, -1, found)
