"""Rows of three sources with a rule each, for tests of pools that know sources."""

import numpy as np

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 3))
SITES = np.array(["a", "b", "c"])[RNG.integers(0, 3, 240)]
RULE = X[:, 0] * np.where(SITES == "c", -1.0, 1.0) + np.where(SITES == "b", 1.0, 0.0)
Y = np.where(RULE + 0.5 * RNG.logistic(size=240) > 0, "ill", "well")
WARDS = np.array(["1", "2"])[np.arange(240) // 3 % 2]
VALUES = 10 * (RULE + np.where(WARDS == "1", 0.5, -0.5)) + RNG.normal(size=240)
