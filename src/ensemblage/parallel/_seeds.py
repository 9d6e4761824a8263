"""One seed per member, drawn before any work starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def draw_seeds(random_state: Any, count: int) -> list[int]:
    """Draw independent seeds that do not depend on how the work is shared out.

    They fit ``random_state`` of any scikit-learn estimator.
    """
    entropy = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=4)
    states = np.random.SeedSequence(entropy.astype(np.uint32)).generate_state(count)
    return [int(state >> 1) for state in states]


def spread_seeds(seeds: Sequence[int], counts: Sequence[int]) -> list[list[int]]:
    """Draw from many seeds: the same as :func:`draw_seeds` from each, but faster."""
    generator = np.random.RandomState(0)
    spread = []
    for seed, count in zip(seeds, counts, strict=True):
        generator.seed(seed)  # to make a new generator is what takes long
        spread.append(draw_seeds(generator, count))
    return spread


def seed_owners(estimator: Any) -> list[Any]:
    """List the estimators that have a ``random_state``, nested ones included, by parameter name."""
    params = {"": estimator, **estimator.get_params(deep=True)}
    names = sorted(
        name for name in params if name == "random_state" or name.endswith("__random_state")
    )
    return [params[name.removesuffix("random_state").removesuffix("__")] for name in names]


def set_seed(estimator: Any, seed: int) -> Any:
    """Set every ``random_state`` of an estimator, nested ones included, in place: pass a clone."""
    owners = seed_owners(estimator)
    for owner, own in zip(owners, draw_seeds(seed, len(owners)), strict=True):
        # set_params would collect all parameters again
        owner.random_state = own
    return estimator
