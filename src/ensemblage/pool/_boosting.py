"""Boosting: a few settings grown until held-out rows no longer gain, at rounds chosen on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import product
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from ensemblage.fusion import take_rows
from ensemblage.parallel import Fold
from ensemblage.pool._lightgbm_trees import (
    GrownTrees,
    LightGBMTrees,
    LightGBMTreesRegressor,
    Watched,
)
from ensemblage.pool._pool_rows import Array, PoolRows
from ensemblage.pool._pool_targets import mean_loss
from ensemblage.pool._recipe import Attempt, HeldOut, Recipe, everything, fit_fresh

STAGES = (10, 15, 20, 30, 40, 60, 80, 110, 160, 220, 320, 450, 640, 900)
"""Numbers of rounds to choose from."""
FINE_STAGES = tuple(range(10, 1501, 10))
"""The same, where one setting is grown as long as time allows."""
PATIENCE = 40
"""Rounds without a gain after which no more are grown."""


class BoostingSettings(NamedTuple):
    """What a boosting is tuned by; ``columns`` is the share of them that each tree sees."""

    learning_rate: float
    max_leaves: int
    min_leaf: int
    columns: float
    l2: float


FIVE = (
    BoostingSettings(0.05, 31, 20, 1.0, 0.0),
    BoostingSettings(0.05, 8, 10, 0.5, 1.0),
    BoostingSettings(0.05, 15, 5, 0.3, 1.0),
    BoostingSettings(0.1, 4, 5, 0.8, 0.0),
    BoostingSettings(0.05, 63, 5, 0.5, 10.0),
)
QUICK = BoostingSettings(0.1, 31, 20, 0.8, 1.0)
"""For many rows, of which one setting is as good as another."""


def has_lightgbm() -> bool:
    """Tell whether LightGBM is installed."""
    return find_spec("lightgbm") is not None


class Engine(NamedTuple):
    """Who grows the trees: how a boosting is made, and how one is told where to stop."""

    make: Callable[[BoostingSettings, int, bool], Any]
    watch: Callable[[Any, Watched], dict[str, Any]]


def _make_lightgbm(settings: BoostingSettings, n_rounds: int, numbers: bool) -> Any:
    kind = LightGBMTreesRegressor if numbers else LightGBMTrees
    return kind(n_rounds, **settings._asdict())


def _make_histograms(settings: BoostingSettings, n_rounds: int, numbers: bool) -> Any:
    kind = HistGradientBoostingRegressor if numbers else HistGradientBoostingClassifier
    return kind(
        learning_rate=settings.learning_rate,
        max_iter=n_rounds,
        max_leaf_nodes=settings.max_leaves,
        min_samples_leaf=settings.min_leaf,
        max_features=settings.columns,
        l2_regularization=settings.l2,
        early_stopping=False,
    )


def _watch_histograms(model: Any, watched: Watched) -> dict[str, Any]:
    model.set_params(early_stopping=True, n_iter_no_change=watched.patience, tol=0.0)
    names = {"X_val": watched.X, "y_val": watched.y, "sample_weight_val": watched.weights}
    return {name: value for name, value in names.items() if value is not None}


ENGINES = {
    "lightgbm": Engine(_make_lightgbm, lambda _, watched: {"watched": watched}),
    "sklearn": Engine(_make_histograms, _watch_histograms),
}


class Grown(NamedTuple):
    """One setting on a fold: its outputs after each stage, (n_stages, n_test, n_outputs)."""

    outputs: Array
    rounds: int
    model: Any


@dataclass(frozen=True)
class Boosting(Recipe):
    """Candidates are settings; each is judged at several numbers of rounds."""

    engine: str = "lightgbm"
    stages: tuple[int, ...] = STAGES
    threads: int | None = None
    seconds: float | None = None

    def in_time(self, seconds: float, threads: int) -> Boosting:
        """Give boosting of one setting that is grown for so many seconds on so many threads."""
        return replace(
            self, candidates=(QUICK,), stages=FINE_STAGES, seconds=seconds, threads=threads
        )

    @property
    def response(self) -> str:
        """Method that the member is asked for."""
        return "predict" if self.numbers else "predict_proba"

    def build(self, chosen: int) -> Any:
        """Give boosting with the settings and the rounds of that number."""
        settings, rounds = list(product(self.candidates, self.stages))[chosen]
        return self._make(settings, rounds)

    def _make(self, settings: BoostingSettings, rounds: int) -> Any:
        model = ENGINES[self.engine].make(settings, rounds, self.numbers)
        return model if self.engine == "sklearn" else model.set_params(n_jobs=self.threads)

    def attempt(self, rows: PoolRows, part: Fold | None, seed: int) -> Attempt:
        """Try the settings on a fold; where that was a matter of time, keep what has grown."""
        start = perf_counter()
        train, test = part or everything(rows)
        fold = Fold(self.learned(rows, train, seed), test)
        grown = [self._grow(each, rows, fold, seed) for each in self.candidates]
        outputs = np.concatenate([each.outputs for each in grown])
        model = None if self.seconds is None else grown[0].model
        rounds = tuple(each.rounds for each in grown)
        return Attempt(outputs, perf_counter() - start, model, rounds)

    def may_be_chosen(self, attempts: Sequence[Attempt]) -> NDArray[np.bool_]:
        """Rule out stages that half of the folds have not reached: they repeat their last word.

        That is near their best, so that too many rounds would seem harmless.
        """
        reached = np.median([attempt.rounds for attempt in attempts], axis=0)
        allowed = np.array(self.stages) <= reached[:, None]
        allowed[:, 0] = True
        return allowed.ravel()

    def choose(self, rows: PoolRows, attempts: Sequence[Attempt]) -> HeldOut:
        """Take the best settings and rounds; what was kept is cut to these rounds."""
        held = super().choose(rows, attempts)
        setting, stage = divmod(held.chosen, len(self.stages))
        needed = min(1.0, self.stages[stage] / max(1, attempts[0].rounds[setting]))
        if not isinstance(held.model, GrownTrees):
            return held._replace(model=None, needed=needed)
        return held._replace(model=held.model.cut(self.stages[stage]), needed=needed)

    def loss(self, outputs: Array, rows: PoolRows) -> float:
        """Mean loss as it is: a temperature would favour too many rounds."""
        known = rows.held_out
        losses = rows.target.plain_losses(outputs[known], rows.y[known])
        return mean_loss(losses, rows.weights_at(known))

    def _grow(self, settings: BoostingSettings, rows: PoolRows, fold: Fold, seed: int) -> Grown:
        """Grow one setting until the other rows of the fold no longer gain."""
        asked, y = take_rows(rows.X, fold.test), rows.y[fold.test]
        classes, weights = np.unique(rows.y[fold.train]), rows.weights_at(fold.test)
        if len(classes) == 1:
            constant = rows.target.constant_member(rows.y[fold.train])
            said = rows.target.ask(constant, asked, self.response)
            return Grown(np.stack([said] * len(self.stages)), self.stages[-1], None)
        known = np.isin(y, classes) if rows.target.of_classes else np.ones(len(y), dtype=bool)
        known_weights = None if weights is None else weights[known]
        watched = Watched(asked[known], y[known], known_weights, PATIENCE, self.seconds)
        model = self._make(settings, self._most_rounds(settings, rows, fold))
        passed = ENGINES[self.engine].watch(model, watched) if known.any() else {}
        model = fit_fresh(model, rows, fold.train, seed, **passed)
        staged = staged_answers(model, asked, list(self.stages))
        return Grown(rows.target.staged(staged, classes), n_rounds(model), model)

    def _most_rounds(self, settings: BoostingSettings, rows: PoolRows, fold: Fold) -> int:
        """Limit the rounds: scikit-learn's boosting cannot be stopped by the clock."""
        if self.engine == "lightgbm" or self.seconds is None:
            return self.stages[-1]
        start = perf_counter()
        fit_fresh(self._make(settings, 5), rows, fold.train, 0)
        return int(np.clip(5 * self.seconds / (perf_counter() - start), 10, self.stages[-1]))


def n_rounds(model: Any) -> int:
    """Count the rounds that a boosting has grown."""
    trees = isinstance(model, GrownTrees)
    return int(model.booster_.current_iteration() if trees else model.n_iter_)


def staged_answers(model: Any, X: Any, stages: list[int]) -> Array:
    """Ask a boosting after so many rounds each; one that stopped earlier repeats its last word."""
    if isinstance(model, GrownTrees):
        return model.staged(X, stages)
    ask = getattr(model, "staged_predict_proba", None) or model.staged_predict
    staged: list[Array] = []
    for done, last in enumerate(ask(X), 1):
        if done == stages[len(staged)]:
            staged.append(last)
    return np.stack(staged + [last] * (len(stages) - len(staged)))
