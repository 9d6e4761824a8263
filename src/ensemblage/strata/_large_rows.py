"""Strata ensembles of rows on disk or on a cluster."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ensemblage._core import draw_seeds, read_weights, set_seed
from ensemblage.blocks import Block, BlockSource, note_columns, open_blocks, pick_rows
from ensemblage.strata._gaussian import GaussianStrata
from ensemblage.strata._hiss import HISS

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]


CHOICE_ROWS = 20_000
"""On so many rows at most the number and size of strata are chosen."""
CLASS_ROWS = 50
"""So many rows of each class are taken in any case, where there are as many."""
SLACK = 1.2
"""Somewhat more rows than wanted are drawn, of which the first count."""


class LargeRows(NamedTuple):
    """Rows behind blocks, with their weights, and what is to be predicted, in memory."""

    source: BlockSource
    y: NDArray[Any]
    classes: NDArray[np.intp] | None
    """Numbers of the rows' classes, -1 without weight; None where numbers are predicted."""
    weighted: bool

    @classmethod
    def read(cls, ensemble: Any, X: Any, y: Any, sample_weight: Any) -> LargeRows:
        """Open the rows; check that everything is of as many, and what is to be predicted."""
        source = open_blocks(X)
        note_columns(ensemble, source, min_rows=2)
        y = column_or_1d(y, warn=True)
        check_consistent_length(source.placeholder, y)
        weighted = sample_weight is not None
        weights = read_weights(sample_weight, source.placeholder) if weighted else None
        rows = source.begin(weights)
        codes, target = ensemble._read_target(y, rows.weights)  # noqa: SLF001
        if weighted and target.is_classification:
            codes = np.where(rows.weights > 0, codes, -1)
        return cls(rows, y, codes if target.is_classification else None, weighted)

    def take(self, numbers: Indices) -> tuple[NDArray[Any], NDArray[Any]]:
        """Read some rows, by rising numbers, with what is to be predicted of them."""
        return pick_rows(self.source, numbers), self.y[numbers]


class FoundStrata(BaseEstimator):
    """A stratifier whose strata were found elsewhere: ``fit`` asks for memberships only.

    A row counts in the strata that it was drawn for, by ``drawn`` of shape (n_rows, n_strata).
    """

    def __init__(self, strata: Any, drawn: Any) -> None:
        self.strata = strata
        self.drawn = drawn

    def fit(self, X: Any, y: Any = None) -> Self:
        """Give the rows their memberships."""
        self.memberships_ = np.where(self.drawn, self.transform(X), 0.0)
        return self

    def transform(self, X: Any) -> Doubles:
        """Ask the strata for memberships."""
        return np.asarray(self.strata.transform(X), dtype=float)

    def log_affinity(self, X: Any) -> Doubles:
        """Ask the strata for log weights."""
        return np.asarray(self.strata.log_affinity(X), dtype=float)


def fit_large(
    ensemble: Any, X: Any, y: Any, sample_weight: Any, *, sources: Any, groups: Any
) -> None:
    """Fit an ensemble to rows behind blocks: strata on all of them, members on some of each."""
    if sources is not None or groups is not None:
        raise ValueError(
            "sources and groups are for rows in memory: leave them out where X is a file or a "
            "Dask collection."
        )
    rows = LargeRows.read(ensemble, X, y, sample_weight)
    choice_seed, strata_seed, row_seed = draw_seeds(ensemble.random_state, 3)
    settings, trials = _choose(ensemble, rows, choice_seed)
    found = _find_strata(ensemble.stratifier, rows, settings, strata_seed)
    drawn = rows_of_strata(found, rows, ensemble.max_member_rows, row_seed)
    others = rows_of_classes(rows.classes, np.random.default_rng(row_seed))
    numbers = np.unique(np.concatenate([*drawn, others]))
    inside = np.column_stack([np.isin(numbers, own) for own in drawn])
    in_memory = rows.take(numbers)
    strata = FoundStrata(FrozenEstimator(found), inside)
    ensemble._fit_trial(*in_memory, None, None, None, strata)  # noqa: SLF001
    found.memberships_ = strata.transform(in_memory[0])
    ensemble.stratifier_, ensemble.trials_ = found, trials
    ensemble.stratum_size_ = found.get_params().get("stratum_size")
    note_columns(ensemble, rows.source)


def _choose(ensemble: Any, rows: LargeRows, seed: int) -> tuple[dict[str, Any], list[Any]]:
    """Give the number and size of strata, chosen on some of the rows if that is asked for."""
    settings, trials = {"n_strata": ensemble.n_strata, "stratum_size": ensemble.stratum_size}, []
    if ensemble._asks_for_choice():  # noqa: SLF001
        tried = clone(ensemble).set_params(random_state=seed)
        tried.fit(*rows.take(some_rows(rows, CHOICE_ROWS, seed)))
        settings = {"n_strata": tried.n_strata_, "stratum_size": tried.stratum_size_}
        trials = tried.trials_
    return {name: value for name, value in settings.items() if value is not None}, trials


def _find_strata(stratifier: Any, rows: LargeRows, settings: dict[str, Any], seed: int) -> Any:
    """Fit a fresh stratifier to all rows, to be asked for new rows' memberships only."""
    fresh = set_seed(clone(HISS() if stratifier is None else stratifier), seed)
    if not isinstance(fresh, GaussianStrata):
        raise TypeError(
            f"stratifier={stratifier!r} takes rows in memory only. Rows on disk or on a cluster "
            "are divided by HISS or MixtureStrata; write them as a pipeline would make them."
        )
    fresh.set_params(**settings)
    weights = {"sample_weight": rows.source.weights} if rows.weighted else {}
    with rows.source as source:
        fresh.fit(source, rows.y, **weights)
    fresh.__dict__.pop("feature_names_in_", None)  # the ensemble hands it arrays
    return fresh


def some_rows(rows: LargeRows, most: int, seed: int) -> Indices:
    """Draw so many rows at most, each as likely as any other, and some of each class."""
    generator = np.random.default_rng(seed)
    present = np.flatnonzero(rows.source.weights) if rows.weighted else np.arange(len(rows.y))
    drawn = generator.choice(present, min(most, len(present)), replace=False)
    return np.union1d(drawn, rows_of_classes(rows.classes, generator))


def rows_of_classes(classes: Indices | None, generator: np.random.Generator) -> Indices:
    """Draw some rows of each class, so that no rare one is lost; of numbers none."""
    if classes is None:
        return np.empty(0, dtype=np.intp)
    own = [np.flatnonzero(classes == code) for code in range(int(classes.max()) + 1)]
    drawn = [generator.choice(each, min(CLASS_ROWS, len(each)), replace=False) for each in own]
    return np.concatenate(drawn)


def rows_of_strata(stratifier: Any, rows: LargeRows, most: int, seed: int) -> list[Indices]:
    r"""Draw so many rows of each stratum at most, without replacement, by their memberships.

    A row of membership m and weight w waits for :math:`e / (m w)`, with e from the exponential
    distribution; of each stratum those rows are taken that wait the least.
    """
    frozen = FrozenEstimator(stratifier)
    (sizes,) = rows.source.reduce(_stratum_sizes, frozen)
    shares = np.minimum(SLACK * most / sizes, 1.0)
    latest = np.where(shares < 1, -np.log1p(-np.minimum(shares, 1 - 1e-9)), np.inf)
    drawn = list(rows.source.map(_draw, frozen, latest, seed))
    taken: list[Indices] = []
    for k in range(len(sizes)):
        waits = np.concatenate([each.waits[k] for each in drawn])
        numbers = np.concatenate([each.numbers[k] for each in drawn])
        taken.append(numbers[np.argsort(waits, kind="stable")[:most]])
    return taken


class _Drawn(NamedTuple):
    """For each stratum, how long rows of a block wait, and their numbers."""

    waits: list[Doubles]
    numbers: list[Indices]


def _stratum_sizes(block: Block, stratifier: Any) -> tuple[Doubles]:
    return (block.weights @ np.asarray(stratifier.transform(block.rows), dtype=float),)


def _draw(block: Block, stratifier: Any, latest: Doubles, seed: int) -> _Drawn:
    shares = np.asarray(stratifier.transform(block.rows), dtype=float) * block.weights[:, None]
    waits = np.full(shares.shape, np.inf)
    lots = np.random.default_rng([seed, block.start]).exponential(size=shares.shape)
    np.divide(lots, shares, out=waits, where=shares > 0)
    early = [
        np.flatnonzero(np.isfinite(w) & (w <= last))
        for w, last in zip(waits.T, latest, strict=True)
    ]
    return _Drawn(
        [waits[own, k] for k, own in enumerate(early)], [block.start + own for own in early]
    )
