"""Members tried at the same time, each apart from the others: one that fails is left out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from ensemblage.parallel import Fold, draw_seeds, run_tasks
from ensemblage.pool._pool_rows import PoolRows
from ensemblage.pool._recipe import Attempt, HeldOut, Recipe


class Failure(NamedTuple):
    """Why a member could not be fitted."""

    reason: str


class Candidate(NamedTuple):
    """A member before the fusion: how it is made, its seed, and what it says of unseen rows."""

    recipe: Recipe
    seed: int
    held: HeldOut


class LeftOut(NamedTuple):
    """A member that is not in the pool, and why: the end of a sentence."""

    name: str
    reason: str


def try_part(recipe: Recipe, rows: PoolRows, part: Fold | None, seed: int) -> Attempt | Failure:
    """Try a recipe on a part of the rows; an error is a result like any other."""
    try:
        with threadpool_limits(1), _quietly():
            return recipe.attempt(rows, part, seed)
    except Exception as error:
        return Failure(_first_line(error))


def refit_member(recipe: Recipe, rows: PoolRows, held: HeldOut, seed: int) -> Any:
    """Fit a chosen member to all rows; give a failure in its place if it cannot."""
    try:
        with threadpool_limits(1), _quietly():
            return recipe.refit(rows, held, seed)
    except Exception as error:
        return Failure(_first_line(error))


def hold_out_members(
    recipes: Sequence[Recipe], rows: PoolRows, seeds: Sequence[int], n_jobs: int | None
) -> tuple[list[Candidate], list[LeftOut]]:
    """Try all members on the shared folds; give those that can be pooled, and the others."""
    tasks, owners = [], []
    for number, (recipe, seed) in enumerate(zip(recipes, seeds, strict=True)):
        parts = recipe.parts(rows)
        for part, part_seed in zip(parts, draw_seeds(seed, len(parts)), strict=True):
            tasks.append((recipe, recipe.view(rows), part, part_seed))
            owners.append(number)
    results = run_tasks(try_part, tasks, n_jobs)
    candidates, left_out = [], []
    for number, (recipe, seed) in enumerate(zip(recipes, seeds, strict=True)):
        own = [each for each, owner in zip(results, owners, strict=True) if owner == number]
        failed = [each for each in own if isinstance(each, Failure)]
        if failed:
            left_out.append(LeftOut(recipe.name, f"it could not be fitted ({failed[0].reason})"))
            continue
        candidates.append(Candidate(recipe, seed, recipe.choose(rows, own)))
    return candidates, left_out


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


class _quietly(warnings.catch_warnings):  # noqa: N801  reads as a verb
    """Keep to itself what members warn of while they are tried: most of them are not taken."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
