"""Strata ensembles for rows on disk or on a cluster: strata on all rows, members on a sample."""

from __future__ import annotations

from typing import Any, Self

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

MAX_SEARCH_ROWS = 20_000
"""Largest number of rows on which number and size of strata are chosen."""
MIN_CLASS_ROWS = 50
"""Smallest number of rows drawn of each class, if it has as many."""
OVERSAMPLING = 1.2
"""Expected number of rows drawn, relative to the number needed."""


class PrefittedStrata(BaseEstimator):
    """A stratifier fitted on other rows: ``fit`` only sets memberships.

    Memberships are zero in strata that a row was not drawn for; ``drawn`` is (n_rows, n_strata).
    """

    def __init__(self, strata: Any, drawn: Any) -> None:
        self.strata = strata
        self.drawn = drawn

    def fit(self, X: Any, y: Any = None) -> Self:
        self.memberships_ = np.where(self.drawn, self.transform(X), 0.0)
        return self

    def transform(self, X: Any) -> Doubles:
        return np.asarray(self.strata.transform(X), dtype=float)

    def log_affinity(self, X: Any) -> Doubles:
        return np.asarray(self.strata.log_affinity(X), dtype=float)


def fit_large(
    ensemble: Any, X: Any, y: Any, sample_weight: Any, *, sources: Any, groups: Any
) -> None:
    """Fit an ensemble to rows in blocks: strata on all rows, members on samples of strata."""
    if sources is not None or groups is not None:
        raise ValueError(
            "sources and groups require rows in memory: omit them if X is a file or a Dask "
            "collection."
        )
    source, y, classes = read_source(ensemble, X, y, sample_weight)
    search_seed, strata_seed, row_seed = draw_seeds(ensemble.random_state, 3)
    settings = {"n_strata": ensemble.n_strata, "stratum_size": ensemble.stratum_size}
    trials: list[Any] = []
    if ensemble._searches_sizes():  # noqa: SLF001
        some = sample_rows(source.weights, classes, search_seed)
        searched = clone(ensemble).set_params(random_state=search_seed)
        searched.fit(pick_rows(source, some), y[some])
        settings = {"n_strata": searched.n_strata_, "stratum_size": searched.stratum_size_}
        trials = searched.trials_
    fitted = _stratifier(ensemble, settings, strata_seed)
    with source:
        passed = {} if sample_weight is None else {"sample_weight": source.weights}
        fitted.fit(source, y, **passed)
    fitted.__dict__.pop("feature_names_in_", None)  # the ensemble passes arrays
    drawn = sample_strata(fitted, source, ensemble.max_member_rows, row_seed)
    others = sample_classes(classes, np.random.default_rng(row_seed))
    indices = np.unique(np.concatenate([*drawn, others]))
    inside = np.column_stack([np.isin(indices, own) for own in drawn])
    rows = pick_rows(source, indices)
    strata = PrefittedStrata(FrozenEstimator(fitted), inside)
    ensemble._fit_in_memory(rows, y[indices], fitted_stratifier=strata)  # noqa: SLF001
    fitted.memberships_ = strata.transform(rows)
    ensemble.stratifier_, ensemble.trials_ = fitted, trials
    ensemble.stratum_size_ = fitted.get_params().get("stratum_size")
    note_columns(ensemble, source)


def read_source(
    ensemble: Any, X: Any, y: Any, sample_weight: Any
) -> tuple[BlockSource, NDArray[Any], Indices | None]:
    """Open the rows; return them, the target, and class codes, -1 for rows without weight."""
    source = open_blocks(X)
    note_columns(ensemble, source, min_rows=2)
    y = column_or_1d(y, warn=True)
    check_consistent_length(source.placeholder, y)
    weights = None if sample_weight is None else read_weights(sample_weight, source.placeholder)
    source = source.begin(weights)
    codes, target = ensemble._target_type.read(y, source.weights)  # noqa: SLF001
    if not target.is_classification:
        return source, y, None
    return source, y, codes if weights is None else np.where(source.weights > 0, codes, -1)


def _stratifier(ensemble: Any, settings: dict[str, Any], seed: int) -> Any:
    """Unfitted stratifier for all rows."""
    given = ensemble.stratifier
    fresh = set_seed(clone(HISS() if given is None else given), seed)
    if not isinstance(fresh, GaussianStrata):
        raise TypeError(
            f"stratifier={given!r} takes rows in memory only. Use HISS or MixtureStrata for rows "
            "on disk or on a cluster, and apply other steps of a pipeline to the file first."
        )
    return fresh.set_params(
        **{name: value for name, value in settings.items() if value is not None}
    )


def sample_rows(weights: Doubles, classes: Indices | None, seed: int) -> Indices:
    """Draw at most MAX_SEARCH_ROWS rows at random, and some rows of each class."""
    generator = np.random.default_rng(seed)
    present = np.flatnonzero(weights)
    n_drawn = min(MAX_SEARCH_ROWS, len(present))
    drawn = generator.choice(present, n_drawn, replace=False)
    return np.union1d(drawn, sample_classes(classes, generator))


def sample_classes(classes: Indices | None, generator: np.random.Generator) -> Indices:
    """Draw some rows of each class, so that rare ones are included; none for a numeric target."""
    if classes is None:
        return np.empty(0, dtype=np.intp)
    own = [np.flatnonzero(classes == code) for code in range(int(classes.max()) + 1)]
    drawn = [generator.choice(each, min(MIN_CLASS_ROWS, len(each)), replace=False) for each in own]
    return np.concatenate(drawn)


def sample_strata(stratifier: Any, source: BlockSource, most: int, seed: int) -> list[Indices]:
    r"""Draw at most ``most`` rows of each stratum by membership, without replacement.

    Weighted sampling of Efraimidis and Spirakis: a row of membership m and weight w has the key
    :math:`e / (m w)`, with e from the exponential distribution; the smallest keys are taken.
    """
    frozen = FrozenEstimator(stratifier)
    (sizes,) = source.reduce(_stratum_sizes, frozen)
    shares = np.minimum(OVERSAMPLING * most / sizes, 1.0)
    limits = np.where(shares < 1, -np.log1p(-np.minimum(shares, 1 - 1e-9)), np.inf)
    drawn = list(source.map(_sample_keys, frozen, limits, seed))
    taken: list[Indices] = []
    for k in range(len(sizes)):
        keys = np.concatenate([block[k][0] for block in drawn])
        rows = np.concatenate([block[k][1] for block in drawn])
        taken.append(rows[np.argsort(keys, kind="stable")[:most]])
    return taken


def _stratum_sizes(block: Block, stratifier: Any) -> tuple[Doubles]:
    return (block.weights @ np.asarray(stratifier.transform(block.rows), dtype=float),)


def _sample_keys(
    block: Block, stratifier: Any, limits: Doubles, seed: int
) -> list[tuple[Doubles, Indices]]:
    """Keys up to the limit of each stratum, and the indices of their rows."""
    shares = np.asarray(stratifier.transform(block.rows), dtype=float) * block.weights[:, None]
    keys = np.full(shares.shape, np.inf)
    draws = np.random.default_rng([seed, block.start]).exponential(size=shares.shape)
    np.divide(draws, shares, out=keys, where=shares > 0)
    pairs = []
    for own, limit in zip(keys.T, limits, strict=True):
        early = np.flatnonzero(np.isfinite(own) & (own <= limit))
        pairs.append((own[early], block.start + early))
    return pairs
