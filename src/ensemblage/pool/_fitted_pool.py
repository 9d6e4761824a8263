"""A pool from its recipes to its fitted members: held out, fused, fitted to all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ensemblage.fusion import DensityPool, Fusion, LogPool
from ensemblage.messages import expect, expect_fitted
from ensemblage.pool._budget import Clock, Limits, hold_out_in_time
from ensemblage.pool._held_out import Candidate, LeftOut, hold_out_members
from ensemblage.pool._held_out_record import HeldOutRecord, keep_held_out
from ensemblage.pool._leaderboard import Leaderboard
from ensemblage.pool._pool_rows import Array, PoolRows
from ensemblage.pool._pooling import Member, Verdict, fit_counting, fuse, standings
from ensemblage.pool._recipe import NUMBERS, TABLE, Recipe


class PoolPlan(NamedTuple):
    """What a pool is to be made of: recipes with their seeds, a fusion, and the time for it."""

    recipes: Sequence[Recipe]
    seeds: Sequence[int]
    fusion: Fusion
    clock: Clock | None
    n_jobs: int | None


class Learned(NamedTuple):
    """A pool that has learned to fuse its members, those who count fitted to all rows."""

    verdict: Verdict
    members: list[Member]
    left_out: list[LeftOut]

    @property
    def fusion(self) -> Fusion:
        """Give the fusion of those who count."""
        fusion = self.verdict.fusion
        if isinstance(fusion, LogPool | DensityPool):
            return fusion.only(self.verdict.counting)
        return fusion


@dataclass(frozen=True)
class FittedPool:
    """Members that have a say, what each is asked for and sees of a row, and how they fuse."""

    names: list[str]
    estimators: list[Any]
    responses: list[str]
    views: list[str]
    fusion: Fusion
    leaderboard: Leaderboard
    held_out: HeldOutRecord

    def __check_state__(self) -> None:
        """Refuse members that do not belong together."""
        rules = {"estimators": "list (members)", "names": "words (members)"}
        expect_fitted(self, {**rules, "responses": "words (members)", "views": "words (members)"})
        whole = all(hasattr(each, "get_params") for each in self.estimators)
        expect(whole and hasattr(self.fusion, "combine"), "a member or the fusion is none")
        expect(set(self.views) <= {NUMBERS, TABLE}, "views are not known")
        expect(isinstance(self.leaderboard, Leaderboard), "leaderboard is none")


def learn_pool(plan: PoolPlan, rows: PoolRows) -> Learned:
    """Try the members, learn to fuse them, and fit those who count; who fails is left out."""
    _, _, fusion, clock, n_jobs = plan
    recipes, seeds, too_wide = _narrow_enough(plan, rows)
    if clock is None:
        candidates, left_out = hold_out_members(recipes, rows, seeds, n_jobs)
    else:
        candidates, left_out = hold_out_in_time(recipes, rows, seeds, Limits(clock, n_jobs))
    left_out = too_wide + left_out
    verdict = fuse(_any(candidates, left_out), rows, fusion)
    members, failed = fit_counting(verdict, rows, n_jobs)
    while failed:
        left_out += failed.values()
        verdict = fuse(_any(verdict.without([*failed]), left_out), rows, fusion)
        members, failed = fit_counting(verdict, rows, n_jobs)
    return Learned(verdict, members, left_out)


def _narrow_enough(plan: PoolPlan, rows: PoolRows) -> tuple[list[Recipe], list[int], list[LeftOut]]:
    """Part the members that take so many columns, with their seeds, from those that do not."""
    members = list(zip(plan.recipes, plan.seeds, strict=True))
    left_out = [
        LeftOut(
            recipe.name,
            f"its time grows with the square of the columns, and there are more than "
            f"{recipe.most_columns}; name it in a list, pool=[...], to have it all the same",
        )
        for recipe, _ in members
        if recipe.too_wide(rows)
    ]
    kept = [each for each in members if not each[0].too_wide(rows)]
    return [recipe for recipe, _ in kept], [seed for _, seed in kept], left_out


def describe_pool(learned: Learned, rows: PoolRows, pooled: Array) -> FittedPool:
    """Keep the members that have a say; ``pooled`` are held-out outputs of the whole pool."""
    verdict, members, left_out = learned
    sentences = tuple(f"{each.name} is left out: {each.reason}." for each in left_out)
    return FittedPool(
        [each.name for each in members],
        [each.model for each in members],
        [each.response for each in members],
        [each.sees for each in members],
        learned.fusion,
        Leaderboard(tuple(standings(verdict, members, rows, pooled)), sentences),
        keep_held_out(verdict, pooled, rows),
    )


def _any(candidates: list[Candidate], left_out: list[LeftOut]) -> list[Candidate]:
    """Give the candidates back, or say why there are none."""
    if candidates:
        return candidates
    reasons = "; ".join(f"{each.name}: {each.reason}" for each in left_out)
    raise ValueError(f"No member of the pool could be fitted. {reasons}.")
