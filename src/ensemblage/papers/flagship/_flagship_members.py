"""Everybody who speaks in the study, each tuned and held out once on the same inner folds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ensemblage.bayes import BayesNetClassifier
from ensemblage.fusion import member_outputs
from ensemblage.papers.flagship._flagship_rows import OuterFold
from ensemblage.parallel import draw_seeds
from ensemblage.pool import (
    Boosting,
    BoostingSettings,
    Candidate,
    LightGBMTrees,
    PoolRows,
    Recipe,
    hold_out_members,
    refit_member,
    resolve_pool,
)

Array = NDArray[np.float64]
T = TypeVar("T")

PLAIN = "plain network"
DEFAULT = "default boosting"
THIRTY = "boosting-30"
FINALISTS = 5
"""Drawn settings that are tried on all folds, the others on the first only."""


class Spoken(NamedTuple):
    """A member as held out and as fitted to all rows, what it says of new rows, and CPU seconds."""

    candidate: Candidate
    new: Array
    trial_seconds: float
    refit_seconds: float
    predict_seconds: float

    @property
    def held(self) -> Array:
        """What it says of rows that it has not learned, (n_rows, n_classes)."""
        return self.candidate.held.outputs


def timed(work: Callable[..., T], *given: Any) -> tuple[T, float]:
    """Give what a function gives, and how many seconds the processor took."""
    start = time.process_time()
    done = work(*given)
    return done, time.process_time() - start


def everybody(fold: OuterFold, seed: int, draws: int) -> dict[str, Spoken]:
    """Let the whole pool speak, then boosting of more settings and two members of usual kinds.

    Seeds are those that ``EnsemblageClassifier("full", random_state=seed)`` would draw.
    """
    recipes = [
        *resolve_pool("full"),
        Recipe(PLAIN, "generic", (BayesNetClassifier(calibration=None),), reads_tables=True),
        Recipe(DEFAULT, "generic", (LightGBMTrees(100, learning_rate=0.1),)),
    ]
    _, *seeds, last = draw_seeds(seed, 2 + len(recipes))
    found = {}
    for recipe, own in zip(recipes, seeds, strict=True):
        candidate, seconds = timed(_hold_out, recipe, fold.learned, own)
        found[recipe.name] = _refitted(candidate, fold, seconds)
    found[THIRTY] = _searched(found["boosting"], fold, last, draws)
    return found


def _hold_out(recipe: Recipe, rows: PoolRows, seed: int) -> Candidate:
    candidates, left_out = hold_out_members([recipe], rows, [seed], 1)
    if left_out:
        raise RuntimeError(f"{recipe.name}: {left_out[0].reason}.")
    return candidates[0]


def _refitted(candidate: Candidate, fold: OuterFold, trial_seconds: float) -> Spoken:
    recipe, seed, held = candidate
    learned, asked = (recipe.view(rows) for rows in fold)
    model, fit_seconds = timed(refit_member, recipe, learned, held, seed)
    new, predict_seconds = timed(member_outputs, model, asked.X, asked.n_outputs, recipe.response)
    return Spoken(candidate, new, trial_seconds, fit_seconds, predict_seconds)


def draw_settings(draws: int, seed: int) -> list[BoostingSettings]:
    """Draw settings of boosting from the usual ranges."""
    rng = np.random.default_rng(seed)
    return [
        BoostingSettings(
            learning_rate=float(np.exp(rng.uniform(np.log(0.08), np.log(0.3)))),
            max_leaves=int(rng.choice([4, 8, 15, 31, 63])),
            min_leaf=int(rng.choice([3, 5, 10, 20, 40])),
            columns=float(rng.uniform(0.3, 1.0)),
            l2=float(rng.choice([0.0, 0.1, 1.0, 10.0])),
        )
        for _ in range(draws)
    ]


def _searched(five: Spoken, fold: OuterFold, seed: int, draws: int) -> Spoken:
    """Tune the pool's boosting further; its own settings are among those to choose from."""
    drawn, seconds = timed(_best_drawn, five.candidate, fold.learned, seed, draws)
    rows, seconds = fold.learned, seconds + five.trial_seconds
    best = min((five.candidate, drawn), key=lambda each: _loss(each, rows))
    return _refitted(best, fold, seconds)


def _best_drawn(five: Candidate, rows: PoolRows, seed: int, draws: int) -> Candidate:
    """Try all drawn settings on one fold, and the best of them on all."""
    boosting = five.recipe
    if not isinstance(boosting, Boosting):
        raise TypeError(f"{boosting.name} is no boosting.")
    few = rows._replace(folds=rows.folds[:1])
    settings = draw_settings(draws, seed)
    tried = [_hold_out(replace(boosting, candidates=(each,)), few, seed) for each in settings]
    order = np.argsort([_loss(each, few) for each in tried], kind="stable")
    finalists = tuple(settings[k] for k in order[:FINALISTS])
    return _hold_out(replace(boosting, name=THIRTY, candidates=finalists), rows, seed)


def _loss(candidate: Candidate, rows: PoolRows) -> float:
    return candidate.recipe.loss(candidate.held.outputs, rows)
