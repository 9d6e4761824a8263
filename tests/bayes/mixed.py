"""Rows of all kinds of columns."""

import numpy as np


def mixed_rows(n_rows=120, seed=0):
    """Numeric, categorical and boolean columns with missing values, all informative."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n_rows) < 0.5, "no", "yes")
    yes = y == "yes"
    size = rng.normal(size=n_rows) + 2 * yes
    size[::11] = np.nan
    colour = np.where(rng.random(n_rows) < 0.7, np.where(yes, "red", "blue"), "green")
    colour = colour.astype(object)
    colour[::7] = None
    flag = rng.random(n_rows) < np.where(yes, 0.8, 0.3)
    return {"size": size, "colour": colour, "flag": flag}, y
