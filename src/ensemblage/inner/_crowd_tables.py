"""One table out of many: bootstraps refit bins and tables, and are averaged on one grid.

A bag is a :class:`ensemblage.bayes.Sample`: all rows on a bootstrap's bins, each with the weight
that it has in the bootstrap.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ensemblage.bayes import (
    Candidates,
    Coder,
    FittedNetwork,
    Grid,
    NodeTable,
    Sample,
    Structure,
    Training,
    code_sample,
    fit_prior,
    fit_table,
)

Floats = NDArray[np.float64]

GRID_ENTRIES = 2**14
"""A table on the common grid has at most so many entries per class; bins are merged beyond."""


def draw_bag(training: Training, discretizer: str | None, max_entries: int, seed: int) -> Sample:
    """Draw a bootstrap, and cut the columns by it."""
    n_rows = len(training.weights)
    drawn = np.random.default_rng(seed).integers(n_rows, size=n_rows)
    weights = np.bincount(drawn, minlength=n_rows) * training.weights
    return code_sample(training._replace(weights=weights), discretizer, max_entries)


class VoicesMeasure:
    """A measure in which each view has a measure of its own, for instance on other bins."""

    def __init__(self, voices: list[Any]) -> None:
        self.voices = voices
        self.n_items = voices[0].n_items
        self._views: list[Floats] = []
        self._key: Floats | None = None

    def score_views(self, candidates: Candidates, views: Floats) -> Floats:
        """Let each voice score the candidates on its view: (n_views, n_extras)."""
        if views is not self._key:  # a voice knows its view again by identity
            self._key, self._views = views, list(views)
        pairs = zip(self.voices, self._views, strict=True)
        return np.stack([voice(candidates, view) for voice, view in pairs])


class CommonColumn(NamedTuple):
    """A column on the grid of all bags.

    The masses are the weight of the rows with each code, a little above zero if there is none.
    """

    coder: Coder
    masses: Floats


def common_cuts(bags: list[Sample], structure: Structure, max_entries: int) -> dict[int, Floats]:
    """Put all bags' cut points on one grid per numeric column, by node.

    Every other cut is left out of the widest column of a table that would be too large.
    """
    cuts: dict[int, Floats] = {}
    for node in structure.features:
        found = [bag.coder(node).cuts for bag in bags]
        numeric = [one for one in found if one is not None]
        if numeric:
            cuts[node] = np.unique(np.concatenate(numeric))
    n_categories, n_classes = bags[0].rows.nodes.n_categories, bags[0].rows.n_classes
    for node in structure.features:
        family = (node, *structure.others(node))
        while True:
            sizes = {j: len(cuts[j]) + 1 if j in cuts else int(n_categories[j]) for j in family}
            entries = n_classes * int(np.prod(list(sizes.values()), dtype=object))
            cuttable = [j for j in family if j in cuts and sizes[j] > 2]
            if entries <= max_entries or not cuttable:
                break
            widest = max(cuttable, key=lambda j: sizes[j])
            cuts[widest] = cuts[widest][::2]
    return cuts


def common_columns(
    training: Training, plain: Sample, cuts: dict[int, Floats]
) -> dict[int, CommonColumn]:
    """Code the columns on the common grid, by node.

    A number's mode is where the middle row of the plain mode lies.
    """
    common = {}
    for node, column in enumerate(training.columns, start=1):
        coder = plain.coder(node)
        if node in cuts:
            inside = column.as_numbers()[coder.code(column) == coder.mode]
            mode = int(np.searchsorted(cuts[node], np.median(inside))) if len(inside) else 0
            coder = Coder(cuts[node], mode=mode)
        masses = coder.masses(column, training.weights)
        common[node] = CommonColumn(coder, masses + 0.5 / len(masses))
    return common


def _bag_codes(common: Coder, bag: Coder) -> NDArray[np.int64]:
    """Find the bag's code of each code on the common grid."""
    if common.cuts is None or bag.cuts is None:
        return np.arange(bag.n_codes)
    # a bin's right edge belongs to it, so the edge tells which of the bag's bins it lies in
    return np.searchsorted(bag.cuts, np.append(common.cuts, np.inf), side="left")


def average_table(
    bags: list[Sample], tables: list[NodeTable], common: dict[int, CommonColumn]
) -> NodeTable:
    r"""Pool a node's tables, one from each bag, for all configurations of the common grid.

    A bag's probability of one of its bins is shared out among the common bins inside by the
    rows in them, whatever their class: :math:`P_b(u) = P_b(v) m_u / m_v`. The pool is
    :math:`\exp \frac1B \sum_b \log P_b`, made to add up to one.
    """
    node, *others = tables[0].family
    sizes, masses = [len(common[parent].masses) for parent in others], common[node].masses
    axes = np.indices((*sizes, len(masses) + 1), sparse=True)
    total = np.zeros(1)
    for bag, table in zip(bags, tables, strict=True):
        *maps, own = (_bag_codes(common[j].coder, bag.coder(j)) for j in (*others, node))
        within = np.bincount(own, weights=masses)[own]
        shares = np.append(np.log(masses / within), 0.0)
        own = np.append(own, table.n_categories)  # a value never seen
        *given, codes = (m[axis] for m, axis in zip((*maps, own), axes, strict=True))
        total = total + table.log_probabilities([codes, *given]) + shares[:, None]
    log_table = total.reshape(-1, len(masses) + 1, total.shape[-1]) / len(bags)
    log_table -= logsumexp(log_table[:, :-1], axis=1, keepdims=True)
    return NodeTable.make(node, tables[0].parents, Grid.full(sizes), log_table)


def pool_bags(
    bags: list[Sample], training: Training, plain: Sample, smoothing: float, structure: Structure
) -> FittedNetwork:
    """Fit a structure's tables to each bag, and pool them into one network."""
    n_classes, max_entries = plain.rows.n_classes, plain.rows.max_entries
    cuts = common_cuts(bags, structure, min(max_entries, n_classes * GRID_ENTRIES))
    common = common_columns(training, plain, cuts)
    pooled = []
    for node in structure.features:
        tables = [fit_table(bag, node, structure.parents[node], smoothing) for bag in bags]
        pooled.append(average_table(bags, tables, common))
    prior = np.mean([fit_prior(bag, smoothing) for bag in bags], axis=0)
    coders = [column.coder for column in common.values()]
    return FittedNetwork(coders, pooled, prior - logsumexp(prior))
