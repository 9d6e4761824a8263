"""How a member of the pool comes about: tried on folds, chosen, and fitted to all rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ensemblage.fusion import common_response, number_response, take_rows
from ensemblage.parallel import Fold, fit_parameter, set_seed
from ensemblage.pool._pool_rows import Array, Indices, PoolRows, thin
from ensemblage.pool._pool_targets import mean_loss

NUMBERS, TABLE = "numbers", "table"
"""What members see."""


class Attempt(NamedTuple):
    """What a recipe's candidates say of the test rows of one fold, or of all rows.

    ``outputs`` are (n_candidates, n_test, n_outputs). A member that is its own judge, such as a
    forest out of bag, is fitted to all rows already: ``model``. One that grows tells in how many
    ``rounds`` each candidate has.
    """

    outputs: Array
    seconds: float
    model: Any = None
    rounds: tuple[int, ...] = ()


class HeldOut(NamedTuple):
    """A member as chosen, and what it says of rows that it has not seen.

    ``outputs`` are (n_samples, n_outputs), NaN for a row that no fold tests; ``chosen`` is the
    number of the candidate, and ``needed`` the share of its seconds that it would take again.
    """

    outputs: Array
    chosen: int
    seconds: float
    model: Any = None
    needed: float = 1.0


@dataclass(frozen=True)
class Recipe:
    """A member: candidates that are tried on the shared folds, the best of which is fitted.

    The time of a fit is that of its rows and of ``fixed`` further ones, to the power of ``growth``.
    It learns ``most_rows`` at most, drawn at random; None for all. Of more than ``most_columns`` it
    is left out. One that ``reads_tables`` gets words as words. One of ``numbers`` is a regressor.
    """

    name: str
    place: str
    candidates: tuple[Any, ...]
    growth: float = 1.0
    fixed: int = 1_000
    most_rows: int | None = None
    most_columns: int | None = None
    reads_tables: bool = False
    numbers: bool = False

    def effort(self, n_rows: int) -> float:
        """Tell how much work a fit to so many rows is, in a unit of its own."""
        n_learned = min(n_rows, self.most_rows or n_rows)
        return float((n_learned + self.fixed) ** self.growth)

    def sample(self) -> tuple[Self, float]:
        """Give a recipe of the same kind that takes less time, and how many times less."""
        return replace(self, candidates=self.candidates[:1]), float(len(self.candidates))

    @property
    def response(self) -> str:
        """Method that the member is asked for."""
        if self.numbers:
            return number_response(self.candidates[0])
        return common_response(self.candidates)

    def limited(self, rows: int) -> Self:
        """Give the recipe of a member that learns so many rows at most."""
        return replace(self, most_rows=min(rows, self.most_rows or rows))

    def sees_all(self, rows: PoolRows) -> bool:
        """Tell whether the member learns all rows."""
        return self.most_rows is None or self.most_rows >= len(rows.y)

    def too_wide(self, rows: PoolRows) -> bool:
        """Tell whether there are more columns than the member takes."""
        n_columns = np.shape(self.view(rows).X)[1]
        return self.most_columns is not None and n_columns > self.most_columns

    def view(self, rows: PoolRows) -> PoolRows:
        """Give the rows as the member sees them."""
        return rows._replace(X=rows.table if self.sees(rows) == TABLE else rows.X, table=None)

    def sees(self, rows: PoolRows) -> str:
        """Tell whether the member sees the table or the numbers that were made of it."""
        return TABLE if self.reads_tables and rows.table is not None else NUMBERS

    def parts(self, rows: PoolRows) -> Sequence[Fold | None]:
        """List what can be tried at the same time: folds; None stands for all rows at once."""
        return rows.folds

    def attempt(self, rows: PoolRows, part: Fold | None, seed: int) -> Attempt:
        """Try the candidates on a fold, or what this kind of member does instead."""
        start = time.perf_counter()
        train, test = part or everything(rows)
        outputs = self.speak_elsewhere(rows, Fold(self.learned(rows, train, seed), test), seed)
        return Attempt(outputs, time.perf_counter() - start)

    def speak_elsewhere(self, rows: PoolRows, fold: Fold, seed: int) -> Array:
        """Fit each candidate to a fold, and ask it about the other rows."""
        asked = take_rows(rows.X, fold.test)
        fitted = (fit_fresh(each, rows, fold.train, seed) for each in self.candidates)
        return np.stack([rows.target.ask(each, asked, self.response) for each in fitted])

    def choose(self, rows: PoolRows, attempts: Sequence[Attempt]) -> HeldOut:
        """Take the candidate with the least loss on all held-out rows, once it is calibrated."""
        n_candidates = len(attempts[0].outputs)
        outputs = np.full((n_candidates, len(rows.y), rows.n_outputs), np.nan)
        for part, attempt in zip(self.parts(rows), attempts, strict=True):
            test = slice(None) if part is None else part.test
            outputs[:, test] = attempt.outputs
        losses = [self.loss(each, rows) for each in outputs] if n_candidates > 1 else [0.0]
        best = int(np.argmin(np.where(self.may_be_chosen(attempts), losses, np.inf)))
        seconds = sum(attempt.seconds for attempt in attempts)
        return HeldOut(outputs[best], best, seconds, attempts[0].model)

    def may_be_chosen(self, attempts: Sequence[Attempt]) -> NDArray[np.bool_]:
        """Tell of which candidates the loss can be believed."""
        return np.ones(len(attempts[0].outputs), dtype=bool)

    def loss(self, outputs: Array, rows: PoolRows) -> float:
        """Judge a candidate by what it says of rows that it has not seen."""
        return held_out_loss(outputs, rows)

    def build(self, chosen: int) -> Any:
        """Give the candidate of that number, not fitted."""
        return self.candidates[chosen]

    def refit(self, rows: PoolRows, held: HeldOut, seed: int) -> Any:
        """Fit the chosen candidate to all rows, unless that is what was held out."""
        if held.model is not None:
            return held.model
        learned = self.learned(rows, np.arange(len(rows.y)), seed)
        return fit_fresh(self.build(held.chosen), rows, learned, seed)

    def learned(self, rows: PoolRows, train: Indices, seed: int) -> Indices:
        """Give those of some rows that the member learns."""
        return thin(train, rows.labels, self.most_rows, seed)


def everything(rows: PoolRows) -> Fold:
    """Give all rows on both sides."""
    every = np.arange(len(rows.y))
    return Fold(every, every)


def fit_fresh(estimator: Any, rows: PoolRows, train: Indices, seed: int, **passed: Any) -> Any:
    """Fit a copy to some rows; if these are all alike, a member that always says so."""
    y = rows.y[train]
    if (y == y[0]).all():
        return rows.target.constant_member(y)
    member = set_seed(clone(estimator), seed)
    weights = rows.weights_at(train)
    if weights is not None:
        passed[fit_parameter(member, "sample_weight") or "sample_weight"] = weights
    return member.fit(take_rows(rows.X, train), y, **passed)


def calibrated(outputs: Array, rows: PoolRows, known: Indices) -> Array:
    """Calibrate a member alone: its temperature, or its spread; (len(known), n_outputs)."""
    said = outputs[known][None]
    alone = rows.target.alone()
    alone.fit(said, rows.y[known], sample_weight=rows.weights_at(known))
    return alone.combine(said)


def held_out_loss(outputs: Array, rows: PoolRows) -> float:
    """Mean log loss of a member alone on rows that it has not seen, once it is calibrated."""
    known = rows.held_out
    losses = rows.target.row_losses(calibrated(outputs, rows, known), rows.y[known])
    return mean_loss(losses, rows.weights_at(known))
