"""One seed per member, drawn before any work starts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def draw_seeds(random_state: Any, count: int) -> list[int]:
    """Draw independent seeds that do not depend on how the work is shared out.

    Parameters
    ----------
    random_state : int, RandomState instance or None
        The user's ``random_state``.
    count : int
        How many seeds.

    Returns
    -------
    list of int
        Seeds that fit ``random_state`` of any scikit-learn estimator.
    """
    entropy = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=4)
    states = np.random.SeedSequence(entropy.tolist()).generate_state(count)
    return [int(state >> 1) for state in states]


def set_seed(estimator: Any, seed: int) -> Any:
    """Set every ``random_state`` among an estimator's parameters, nested ones included.

    Parameters
    ----------
    estimator : estimator
        Changed in place, so pass a clone.
    seed : int
        Where the nested seeds derive from.

    Returns
    -------
    estimator
        The same object.
    """
    params = estimator.get_params(deep=True)
    names = sorted(
        name for name in params if name == "random_state" or name.endswith("__random_state")
    )
    for name, own in zip(names, draw_seeds(seed, len(names)), strict=True):
        # set_params would collect all parameters again, and many small members are fitted
        owner = params[name.removesuffix("__random_state")] if "__" in name else estimator
        owner.random_state = own
    return estimator
