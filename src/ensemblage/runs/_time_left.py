"""How long the cells of a run will take, by what cells of their kind took."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import islice
from typing import NamedTuple

# What tells apart cells that take equally long.
PLACES = frozenset({"repeat", "fold", "seed", "start"})
ENOUGH = 0.1
"""Nothing is told before this share of the work is done: it would be a guess."""


class Cost(NamedTuple):
    """What a cell is expected to cost: like others of its kind; before one is done, the prior.

    Priors need no unit; only how they compare matters.
    """

    kind: str
    prior: float = 1.0


def usual_cost(params: Mapping[str, object]) -> Cost:
    """Take cells for alike that differ in repeat, fold or seed only."""
    own = {name: value for name, value in params.items() if name not in PLACES}
    return Cost(json.dumps(own, sort_keys=True, default=str))


class TimeLeft:
    """Adds up what waiting cells are expected to take, on so many workers.

    Parameters
    ----------
    costs : mapping of str to Cost
        Of each cell that is to be computed, by its key.
    width : int or None
        How many are computed at a time; None if that is not known, and then nothing is told.
    clock : callable, default=None
        Tells the time in seconds, so that cells at work count with what is left of them; without
        one they count whole.
    """

    def __init__(
        self,
        costs: Mapping[str, Cost],
        width: int | None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._waiting = dict(costs)
        self._width = width
        self._clock = clock
        self._begun: dict[str, float] = {}
        self._begin()
        self._seconds: dict[str, list[float]] = {}
        self._spent = 0.0
        self._expected = 0.0

    def add(self, key: str, seconds: float) -> None:
        """Note how long a cell took."""
        cost = self._waiting.pop(key)
        self._begun.pop(key, None)
        self._begin()
        self._seconds.setdefault(cost.kind, []).append(seconds)
        self._spent += seconds
        self._expected += cost.prior

    def left(self) -> float | None:
        """Give the seconds left, None while too little is known."""
        # a guess for kinds not seen yet: priors, in the measure of those that were
        scale = self._spent / self._expected if self._expected else 0.0
        means = {kind: sum(times) / len(times) for kind, times in self._seconds.items()}
        each = [
            max(0.0, means.get(cost.kind, scale * cost.prior) - self._worked_on(key))
            for key, cost in self._waiting.items()
        ]
        total = sum(each)
        if not self._width or not self._expected or self._spent < ENOUGH * (self._spent + total):
            return None
        # the last workers end no earlier than the longest cell
        return max(total / self._width, max(each, default=0.0))

    def _begin(self) -> None:
        """Note when the next cells begin: they are computed in their order, so many at a time."""
        if self._clock is not None and self._width:
            for key in islice(self._waiting, self._width):
                self._begun.setdefault(key, self._clock())

    def _worked_on(self, key: str) -> float:
        begun = self._begun.get(key)
        return 0.0 if begun is None or self._clock is None else self._clock() - begun
