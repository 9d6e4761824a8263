"""Members within a budget of seconds: who is tried, on how many rows, and who is left out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from joblib import effective_n_jobs

from ensemblage.parallel import Fold
from ensemblage.pool._boosting import Boosting
from ensemblage.pool._held_out import Candidate, Failure, LeftOut, hold_out_members, try_part
from ensemblage.pool._members import RECIPES
from ensemblage.pool._pool_rows import PoolRows, thin
from ensemblage.pool._recipe import Recipe

MANY_ROWS = 10_000
"""Beyond, rows are held out once, and boosting comes first."""
PILOT_ROWS = 300
WARM_UP_ROWS = 30
LEAST_SHARE = 0.05
"""With less of the budget nothing new is begun."""
FEWEST_ROWS = 500
"""A member on fewer rows is not worth its time."""
KEPT_BACK = 0.12
"""Share of the budget for the fusion, and for what nobody foresees."""
BOOSTING_SHARE = 0.7
"""Share of the budget for boosting many rows; where it is used up, nothing is fitted again."""


class Clock:
    """Seconds that are left of a budget; fits to all rows that are still to come are set aside."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.perf_counter() + seconds
        self._set_aside = KEPT_BACK * seconds

    def left(self) -> float:
        """Give the seconds for what else is to be tried."""
        return self._end - time.perf_counter() - self._set_aside

    def set_aside(self, seconds: float) -> None:
        """Count on a fit to all rows at the end."""
        self._set_aside += seconds


class Limits(NamedTuple):
    """What there is to spend."""

    clock: Clock
    n_jobs: int | None

    @property
    def workers(self) -> int:
        """Fits at the same time."""
        return int(effective_n_jobs(self.n_jobs))


class Cost(NamedTuple):
    """Seconds that a member is expected to take: on the folds, and for the fit to all rows."""

    trials: float
    refit: float


def hold_out_in_time(
    recipes: Sequence[Recipe], rows: PoolRows, seeds: Sequence[int], limits: Limits
) -> tuple[list[Candidate], list[LeftOut]]:
    """Try members by what they are worth per second, as far as time allows.

    What is found is in the order of the recipes. One member there is in any case, however short
    the time.
    """
    found: dict[int, Candidate] = {}
    left_out: dict[int, LeftOut] = {}
    order = _by_value(recipes, rows)
    for number in order:
        held = _try_in_time(recipes[number], rows, seeds[number], limits)
        (left_out if isinstance(held, LeftOut) else found)[number] = held  # type: ignore[assignment]
    for number in () if found else order:
        least = recipes[number].limited(FEWEST_ROWS)
        held_out, _ = hold_out_members([least], rows, [seeds[number]], limits.n_jobs)
        if held_out:
            return held_out, [each for k, each in left_out.items() if k != number]
    return [found[number] for number in sorted(found)], [*left_out.values()]


def _by_value(recipes: Sequence[Recipe], rows: PoolRows) -> list[int]:
    """Order members: a user's own, then by value per second; at many rows boosting before all."""
    ranks = {name: rank for rank, name in enumerate(RECIPES)}

    def rank(number: int) -> int:
        recipe = recipes[number]
        return -2 if _comes_first(recipe, rows) else ranks.get(recipe.name, -1)

    return sorted(range(len(recipes)), key=rank)


def _comes_first(recipe: Recipe, rows: PoolRows) -> bool:
    return isinstance(recipe, Boosting) and len(rows.folds) == 1 and len(rows.y) > MANY_ROWS


def _try_in_time(recipe: Recipe, rows: PoolRows, seed: int, limits: Limits) -> Candidate | LeftOut:
    if isinstance(recipe, Boosting) and _comes_first(recipe, rows):
        return _boost(recipe, rows, seed, limits)
    planned = plan(recipe, rows, seed, limits)
    if isinstance(planned, LeftOut):
        return planned
    shorter, cost = planned
    held, failed = hold_out_members([shorter], rows, [seed], limits.n_jobs)
    limits.clock.set_aside(cost.refit)
    return held[0] if held else failed[0]


def _boost(recipe: Boosting, rows: PoolRows, seed: int, limits: Limits) -> Candidate | LeftOut:
    """Grow boosting to its end, if there is time for it; fit it to all rows if there is more."""
    clock = limits.clock
    seconds = min(BOOSTING_SHARE * clock.seconds, clock.left())
    held, failed = hold_out_members(
        [recipe.in_time(seconds, limits.workers)], rows, [seed], limits.n_jobs
    )
    if not held:
        return failed[0]
    grown = held[0].held
    again = grown.needed * grown.seconds * len(rows.y) / len(rows.folds[0].train)
    # one member is soon fused: what is kept back for that may be spent on all rows
    if grown.model is not None and again > clock.left() + KEPT_BACK * clock.seconds:
        return held[0]
    clock.set_aside(again)
    return held[0]._replace(held=grown._replace(model=None))


def plan(
    recipe: Recipe, rows: PoolRows, seed: int, limits: Limits
) -> tuple[Recipe, Cost] | LeftOut:
    """Find how many rows a member can learn in the time that is left, by a trial on few."""
    if limits.clock.left() <= LEAST_SHARE * limits.clock.seconds:
        return LeftOut(recipe.name, "the time was up")
    train, test = rows.folds[0]
    small, times = recipe.sample()
    n_pilot = min(PILOT_ROWS, len(train))
    pilot = Fold(train, thin(test, rows.y, PILOT_ROWS, seed))
    # what is compiled or imported at the first call says nothing of the next
    try_part(small.limited(WARM_UP_ROWS), recipe.view(rows), Fold(train, test[:1]), seed)
    start = time.perf_counter()
    tried = try_part(small.limited(n_pilot), recipe.view(rows), pilot, seed)
    if isinstance(tried, Failure):
        return LeftOut(recipe.name, f"it could not be fitted ({tried.reason})")
    rate = times * (time.perf_counter() - start) / recipe.effort(n_pilot)
    limit, room = min(len(rows.y), recipe.most_rows or len(rows.y)), limits.clock.left()
    shorter, cost = recipe, expected_cost(recipe, rows, rate, limits.workers)
    least = sum(cost)
    while sum(cost) > room:
        limit //= 2
        if limit < FEWEST_ROWS:
            reason = f"it needs about {least:.1f} s, and {max(room, 0):.1f} s are left"
            return LeftOut(recipe.name, reason)
        shorter = recipe.limited(limit)
        cost = expected_cost(shorter, rows, rate, limits.workers)
        least = min(least, sum(cost))
    return shorter, cost


def expected_cost(recipe: Recipe, rows: PoolRows, rate: float, workers: int) -> Cost:
    """Tell how long a member takes, if a fit takes ``rate`` times its effort."""
    whole = rate * recipe.effort(len(rows.y))
    parts = recipe.parts(rows)
    if parts[0] is None:
        return Cost(whole, 0.0)
    folds = [rate * recipe.effort(len(fold.train)) for fold in rows.folds]
    rounds = -(-len(folds) // workers)
    return Cost(max(folds) * rounds, whole / len(recipe.candidates))
