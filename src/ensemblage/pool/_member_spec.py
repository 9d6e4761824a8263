"""Training data with shared folds; a member's candidates, tuning and refit."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv

from ensemblage._core import Fold, fit_parameter, make_folds, set_seed, take_rows
from ensemblage.fusion import common_response_method, regressor_response_method
from ensemblage.pool._targets import PoolTarget, mean_loss
from ensemblage.strata import fit_with_out_of_fold

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]


MOST_HELD_OUT = 10_000


class PoolRows(NamedTuple):
    """Validated rows; ``y`` are class numbers, or numbers as the ``target`` is.

    ``weights`` are None where none were given.

    ``grouped`` tells that rows belong together, so that no copy of a group may be on both sides of
    a fold, and none of a row's kin may have been seen by what speaks of it. ``numbers`` are the
    rows' positions in what the user gave. ``table`` are the same rows with words as words; None
    where ``X`` is all that there is.
    """

    X: Any
    y: NDArray[Any]
    target: PoolTarget
    weights: Doubles | None
    folds: list[Fold]
    grouped: bool = False
    numbers: Indices | None = None
    table: Any = None

    def weights_at(self, rows: Indices) -> Doubles | None:
        """Give the weights of some rows; None where none were given."""
        return None if self.weights is None else self.weights[rows]

    @property
    def n_outputs(self) -> int:
        """Numbers that a member says of a row: one per class, or mean and variance."""
        return self.target.n_outputs

    @property
    def labels(self) -> Indices:
        """What folds and draws keep the shares of: classes, or tenths of numbers."""
        return self.target.stratification_labels(self.y)

    @property
    def prior(self) -> Doubles:
        """What is said of a row of which nothing is known, (n_outputs,)."""
        return self.target.prior(self.y, self.weights)

    @property
    def held_out(self) -> Indices:
        """Rows that are in the test part of a fold, sorted."""
        return np.unique(np.concatenate([fold.test for fold in self.folds]))

    @property
    def all_held_out(self) -> bool:
        """Whether several folds test every row once, as an ensemble's own outputs need it."""
        tested = np.concatenate([fold.test for fold in self.folds])
        return len(self.folds) > 1 and np.array_equal(np.sort(tested), np.arange(len(self.y)))


def shared_folds(y: Indices, cv: Any, seed: int, groups: Any = None) -> list[Fold]:
    """Make the folds that a user's ``cv`` asks for.

    A class may have fewer rows than there are folds: it is missing from some of them then.
    """
    if not isinstance(cv, Integral):
        splits = check_cv(cv, y, classifier=True).split(np.zeros(len(y)), y, groups)
        return [Fold(np.asarray(train), np.asarray(test)) for train, test in splits]
    n_folds = int(min(int(cv), max(2, np.bincount(y).max())))
    return make_folds(y, n_folds, seed, groups)


def one_hold_out(y: Indices, seed: int, groups: Any = None) -> list[Fold]:
    """Hold a tenth of the rows out once, or as many as will do to learn a fusion from."""
    tenth = make_folds(y, 10, seed, groups)[0].test
    test = thin(tenth, y, MOST_HELD_OUT, seed)
    return [Fold(np.setdiff1d(np.arange(len(y)), tenth if groups is not None else test), test)]


def thin(rows: Indices, y: Indices, limit: int | None, seed: int) -> Indices:
    """Draw so many of some rows, sorted, with the classes' shares; two or more of each class."""
    if limit is None or len(rows) <= limit:
        return rows
    order = np.random.default_rng(seed).permutation(len(rows))
    labels = y[rows[order]]
    # a row's rank among those of its class, as a share of that class
    ranks = np.empty(len(rows))
    counts = np.bincount(labels)
    for label in np.flatnonzero(counts):
        own = np.flatnonzero(labels == label)
        ranks[own] = np.where(np.arange(len(own)) < 2, -1.0, np.arange(len(own)) / len(own))
    kept = np.argsort(ranks, kind="stable")[:limit]
    return np.sort(rows[order[kept]])


NUMBERS, TABLE = "numbers", "table"
"""What members see."""


class Attempt(NamedTuple):
    """What a recipe's candidates say of the test rows of one fold, or of all rows.

    ``outputs`` are (n_candidates, n_test, n_outputs). A member that is its own judge, such as a
    forest out of bag, is fitted to all rows already: ``model``. One that grows tells in how many
    ``rounds`` each candidate has.
    """

    outputs: Doubles
    seconds: float
    model: Any = None
    rounds: tuple[int, ...] = ()


class HeldOut(NamedTuple):
    """A member as chosen, and what it says of rows that it has not seen.

    ``outputs`` are (n_samples, n_outputs), NaN for a row that no fold tests; ``chosen`` is the
    number of the candidate, and ``needed`` the share of its seconds that it would take again.
    """

    outputs: Doubles
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
            return regressor_response_method(self.candidates[0])
        return common_response_method(self.candidates)

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

    def speak_elsewhere(self, rows: PoolRows, fold: Fold, seed: int) -> Doubles:
        """Fit each candidate to a fold, and ask it about the other rows."""
        asked = take_rows(rows.X, fold.test)
        fitted = (fit_fresh(each, rows, fold.train, seed) for each in self.candidates)
        return np.stack([rows.target.outputs(each, asked, self.response) for each in fitted])

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

    def loss(self, outputs: Doubles, rows: PoolRows) -> float:
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


def calibrated(outputs: Doubles, rows: PoolRows, known: Indices) -> Doubles:
    """Calibrate a member alone: its temperature, or its spread; (len(known), n_outputs)."""
    said = outputs[known][None]
    alone = rows.target.alone()
    alone.fit(
        said,
        rows.y[known],
        numeric=not rows.target.is_classification,
        sample_weight=rows.weights_at(known),
    )
    return alone.combine(said)


def held_out_loss(outputs: Doubles, rows: PoolRows) -> float:
    """Mean log loss of a member alone on rows that it has not seen, once it is calibrated."""
    known = rows.held_out
    losses = rows.target.row_losses(calibrated(outputs, rows, known), rows.y[known])
    return mean_loss(losses, rows.weights_at(known))


@dataclass(frozen=True)
class OutOfBag(Recipe):
    """A forest: each row is judged by the trees whose bootstrap left it out.

    Where rows belong together that would not be honest, and folds are used.
    """

    def sample(self) -> tuple[Self, float]:
        """Give a tenth of the forest."""
        (forest,) = self.candidates
        n_trees = max(1, forest.n_trees // 10)
        fewer = clone(forest).set_params(n_trees=n_trees)
        return replace(self, candidates=(fewer,)), forest.n_trees / n_trees

    def parts(self, rows: PoolRows) -> Sequence[Fold | None]:
        """List all rows at once, or the folds."""
        alone = rows.all_held_out and self.sees_all(rows) and not rows.grouped
        return [None] if alone else rows.folds

    def attempt(self, rows: PoolRows, part: Fold | None, seed: int) -> Attempt:
        """Fit to all rows, and ask each tree about the others."""
        if part is not None:
            return super().attempt(rows, part, seed)
        start = time.perf_counter()
        (forest,) = self.candidates
        judged = clone(forest).set_params(judged=True)
        model = fit_fresh(judged, rows, np.arange(len(rows.y)), seed)
        outputs = rows.target.out_of_bag(model.out_of_bag_, rows.prior)
        del model.out_of_bag_
        return Attempt(outputs[None], time.perf_counter() - start, model)


@dataclass(frozen=True)
class OwnFolds(Recipe):
    """An ensemble on strata: its members are held out by its own folds, only its gate again."""

    def parts(self, rows: PoolRows) -> Sequence[Fold | None]:
        """List all rows at once, or the folds."""
        return [None] if rows.all_held_out and self.sees_all(rows) else rows.folds

    def attempt(self, rows: PoolRows, part: Fold | None, seed: int) -> Attempt:
        """Fit to all rows with the shared folds, and cross-fit the gate."""
        if part is not None:
            return super().attempt(rows, part, seed)
        start = time.perf_counter()
        (ensemble,) = self.candidates
        model = set_seed(clone(ensemble), seed).set_params(cv=rows.folds)
        outputs = fit_with_out_of_fold(model, rows.X, rows.y, sample_weight=rows.weights)
        model.set_params(cv=len(rows.folds))  # folds need not be kept
        lacking = np.isnan(outputs).any(axis=1)  # in a fold without which a class is missing
        outputs[lacking] = rows.prior
        return Attempt(outputs[None], time.perf_counter() - start, model)
