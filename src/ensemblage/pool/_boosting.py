"""Boosting: a few settings grown until held-out rows no longer gain, at rounds chosen on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from ensemblage.fusion import take_rows
from ensemblage.parallel import Fold
from ensemblage.pool._lightgbm_trees import LightGBMTrees, Watched
from ensemblage.pool._pool_rows import Array, PoolRows
from ensemblage.pool._recipe import Recipe, fit_fresh, log_loss

STAGES = (10, 15, 20, 30, 40, 60, 80, 110, 160, 220, 320, 450, 640, 900)
"""Numbers of rounds to choose from."""
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


def has_lightgbm() -> bool:
    """Tell whether LightGBM is installed."""
    return find_spec("lightgbm") is not None


class Engine(NamedTuple):
    """Who grows the trees: how a boosting is made, and how one is told where to stop."""

    make: Callable[[BoostingSettings, int], Any]
    watch: Callable[[Any, Watched], dict[str, Any]]


def _make_lightgbm(settings: BoostingSettings, n_rounds: int) -> Any:
    return LightGBMTrees(n_rounds, **settings._asdict())


def _make_histograms(settings: BoostingSettings, n_rounds: int) -> Any:
    return HistGradientBoostingClassifier(
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


@dataclass(frozen=True)
class Boosting(Recipe):
    """Candidates are settings; each is judged at several numbers of rounds."""

    engine: str = "lightgbm"
    stages: tuple[int, ...] = STAGES

    @property
    def response(self) -> str:
        """Method that the member is asked for."""
        return "predict_proba"

    def build(self, chosen: int) -> Any:
        """Give boosting with the settings and the rounds of that number."""
        settings, rounds = list(product(self.candidates, self.stages))[chosen]
        return ENGINES[self.engine].make(settings, rounds)

    def loss(self, outputs: Array, rows: PoolRows) -> float:
        """Mean log loss as it is: a temperature would favour too many rounds."""
        known = rows.held_out
        return log_loss(outputs[known], rows.y[known], rows.weights_at(known))

    def speak_elsewhere(self, rows: PoolRows, fold: Fold, seed: int) -> Array:
        """Grow each of the settings on a fold; ask about the other rows after each stage."""
        return np.concatenate([self._stages(each, rows, fold, seed) for each in self.candidates])

    def _stages(self, settings: BoostingSettings, rows: PoolRows, fold: Fold, seed: int) -> Array:
        """Probabilities after each stage, (n_stages, n_test, n_classes)."""
        engine, stages = ENGINES[self.engine], list(self.stages)
        asked, y = take_rows(rows.X, fold.test), rows.y[fold.test]
        outputs = np.zeros((len(stages), len(y), rows.n_classes))
        classes = np.unique(rows.y[fold.train])
        if len(classes) == 1:
            outputs[:, :, classes] = 1.0
            return outputs
        known = np.isin(y, classes)
        weights = rows.weights_at(fold.test)
        watched = Watched(
            asked[known], y[known], None if weights is None else weights[known], PATIENCE
        )
        model = engine.make(settings, stages[-1])
        passed = engine.watch(model, watched) if known.any() else {}
        grown = fit_fresh(model, rows, fold.train, seed, **passed)
        outputs[:, :, classes] = staged_probabilities(grown, asked, stages)
        return outputs


def staged_probabilities(model: Any, X: Any, stages: list[int]) -> Array:
    """Ask a boosting after so many rounds each; one that stopped earlier repeats its last word."""
    if isinstance(model, LightGBMTrees):
        return model.staged_proba(X, stages)
    staged: list[Array] = []
    for done, last in enumerate(model.staged_predict_proba(X), 1):
        if done == stages[len(staged)]:
            staged.append(last)
    return np.stack(staged + [last] * (len(stages) - len(staged)))
