"""Tables of a network that are a crowd's: bootstraps cut and fit, and are pooled on one grid.

A bag is a :class:`ensemblage.bayes.Sample`, all rows on a bootstrap's bins, each with the weight
that it has in the bootstrap.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ensemblage.bayes import (
    Coder,
    Estimation,
    FittedNetwork,
    Grid,
    Learned,
    NodeTable,
    Sample,
    Structure,
    Training,
    code_sample,
    fit_prior,
)
from ensemblage.kernels import CLASS
from ensemblage.tables import MISSING, Column

Floats = NDArray[np.float64]

GRID_ENTRIES = 2**14
"""A table on the common grid has at most so many entries per class; bins are merged beyond."""


def draw_bag(training: Training, discretizer: str | None, max_entries: int, seed: int) -> Sample:
    """Draw a bootstrap, and cut the columns by it."""
    n_rows = len(training.weights)
    drawn = np.random.default_rng(seed).integers(n_rows, size=n_rows)
    weights = np.bincount(drawn, minlength=n_rows) * training.weights
    return code_sample(training._replace(weights=weights), discretizer, max_entries)


class CommonColumn(NamedTuple):
    """A column on the grid of all bags.

    The masses are the weight of the rows with each code, a little above zero if there is none;
    ``bag_codes`` say, for each bag, which of its codes the middle row of each code of the grid
    has. Where bins are merged, a code may lie in several of a bag's: ``shares`` then say how much
    of each of the bag's codes (rows) lies in each of the grid's (columns); None for the others.
    """

    coder: Coder
    masses: Floats
    bag_codes: list[NDArray[np.int64]]
    shares: list[Floats | None]


def common_cuts(bags: list[Sample], structure: Structure, max_entries: int) -> dict[int, Floats]:
    """Put all bags' cut points on one grid per numeric column, by node.

    Every other cut is left out of the widest column of a table that would be too large.
    """
    cuts: dict[int, Floats] = {}
    for node, coders in enumerate(zip(*(bag.coders for bag in bags), strict=True), CLASS + 1):
        numeric = [coder.cuts for coder in coders if coder.cuts is not None]
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
            cuts[widest] = cuts[widest][1::2]
    return cuts


def common_coders(training: Training, plain: Sample, cuts: dict[int, Floats]) -> dict[int, Coder]:
    """Make the coders of the common grid, by node.

    A number's mode is where the middle row of the plain mode lies.
    """
    coders = {}
    for node, (column, coder) in enumerate(
        zip(training.columns, plain.coders, strict=True), CLASS + 1
    ):
        coders[node] = coder
        if node in cuts:
            inside = column.as_numbers()[coder.code(column) == coder.mode]
            mode = int(np.searchsorted(cuts[node], np.median(inside))) if len(inside) else 0
            coders[node] = Coder(cuts[node], mode=mode)
    return coders


def common_columns(
    bags: list[Sample], training: Training, coders: dict[int, Coder]
) -> dict[int, CommonColumn]:
    """Count the rows on the common grid, and find it in each bag's, by node."""
    common = {}
    for j, (node, coder) in enumerate(coders.items()):
        column = training.columns[j]
        masses = coder.masses(column, training.weights)
        own = [bag.coders[j] for bag in bags]
        common[node] = CommonColumn(
            coder,
            masses + 0.5 / len(masses),
            _bag_codes(column, coder, own),
            [_overlaps(column, training.weights, bag, coder) for bag in own],
        )
    return common


def _bag_codes(column: Column, common: Coder, bags: list[Coder]) -> list[NDArray[np.int64]]:
    """Find the bags' codes of each code on the common grid."""
    if common.cuts is None:
        return [np.arange(bag.n_codes) for bag in bags]
    middles = _middles(column.as_numbers(), common.cuts)
    cuts = [bag.cuts for bag in bags if bag.cuts is not None]
    return [np.searchsorted(each, middles, side="left") for each in cuts]


def _middles(values: Floats, cuts: Floats) -> Floats:
    """Give the middle value inside each bin; where there is none, the bin's right edge."""
    ordered = np.sort(values[~np.isnan(values)])
    ends = np.append(np.searchsorted(ordered, cuts, side="right"), len(ordered))
    starts = np.append(0, ends[:-1])
    edges = np.append(cuts, np.inf)
    if len(ordered) == 0:
        return edges
    return np.where(ends > starts, ordered[np.minimum((starts + ends) // 2, ends - 1)], edges)


def _overlaps(column: Column, weights: Floats, bag: Coder, common: Coder) -> Floats | None:
    """Tell how much of each of a bag's bins lies in each common one, by the rows in both."""
    if bag.cuts is None or common.cuts is None or set(bag.cuts).issubset(common.cuts):
        return None
    inner, outer = bag.code(column), common.code(column)
    known = outer != MISSING
    joint = np.zeros((bag.n_codes, common.n_codes))
    np.add.at(joint, (inner[known], outer[known]), weights[known])
    joint += 0.5 / joint.size  # a bin without rows is shared out evenly
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def average_table(tables: list[NodeTable], common: dict[int, CommonColumn]) -> NodeTable:
    r"""Pool a node's tables, one from each bag, for all configurations of the common grid.

    A bag's probability of one of its bins is shared out among the common bins by the rows in
    both, whatever their class: :math:`P_b(u) = \sum_v P_b(v) m_{uv} / m_v`. The pool is
    :math:`\exp \frac1B \sum_b \log P_b`, made to add up to one. A parent's common bin is looked
    up where its middle row lies.
    """
    node, parents = tables[0].node, tables[0].parents
    others, masses = [common[parent] for parent in parents if parent != CLASS], common[node].masses
    grid = Grid.full([len(other.masses) for other in others])
    axes = np.indices((*grid.sizes, len(masses) + 1), sparse=True)
    total = np.zeros(1)
    for b, table in enumerate(tables):
        maps = [column.bag_codes[b] for column in others]
        given = [m[axis] for m, axis in zip(maps, axes[:-1], strict=True)]
        if common[node].shares[b] is None:
            own = common[node].bag_codes[b]
            within = np.bincount(own, weights=masses)[own]
            shares = np.append(np.log(masses / within), 0.0)
            own = np.append(own, table.n_categories)  # a value never seen
            total = total + table.log_probabilities([own[axes[-1]], *given]) + shares[:, None]
        else:
            total = total + _merged(table, given, common[node].shares[b])
    log_table = total.reshape(-1, len(masses) + 1, total.shape[-1]) / len(tables)
    log_table -= logsumexp(log_table[:, :-1], axis=1, keepdims=True)
    return NodeTable.make(node, parents, grid, log_table)


class LeftRows:
    """What bags say of the rows that they have not drawn, node by node, in the log mean."""

    def __init__(self, bags: list[Sample], priors: list[Floats]) -> None:
        self.bags = bags
        self.left = [bag.weights == 0 for bag in bags]
        self.total = sum(
            left[:, None] * prior for left, prior in zip(self.left, priors, strict=True)
        )

    def hear(self, tables: list[NodeTable]) -> None:
        """Add the tables of one node, one from each bag."""
        for bag, left, table in zip(self.bags, self.left, tables, strict=True):
            said = np.zeros_like(self.total)
            table.add_log_likelihood(bag.rows.nodes.codes, said)
            self.total += left[:, None] * said

    def mean(self) -> Floats:
        """Give the mean over the bags that have left a row; NaN where none has."""
        counts = np.sum(self.left, axis=0)[:, None]
        return np.where(counts > 0, self.total / np.maximum(counts, 1), np.nan)


def _merged(table: NodeTable, given: list[NDArray[np.int64]], shares: Any) -> Floats:
    """Look a bag's table up for merged bins: the sum over its own bins' parts of them."""
    own = np.arange(table.n_categories + 1)
    found = table.log_probabilities([own, *given])
    parts = np.einsum("...vc,vu->...uc", np.exp(found[..., :-1, :]), shares)
    return np.concatenate([np.log(parts), found[..., -1:, :]], axis=-2)


def pool_bags(
    bags: list[Sample],
    training: Training,
    plain: Sample,
    estimation: Estimation,
    structure: Structure,
) -> Learned:
    """Fit a structure's tables to each bag, and pool them into one network."""
    n_classes, max_entries = plain.rows.n_classes, plain.rows.max_entries
    cuts = common_cuts(bags, structure, min(max_entries, n_classes * GRID_ENTRIES))
    coders = common_coders(training, plain, cuts)
    common = common_columns(bags, training, coders)
    priors = [fit_prior(bag, estimation.smoothing) for bag in bags]
    prior = np.mean(priors, axis=0)
    left = LeftRows(bags, priors)
    fitted = [estimation.tables(training, bag, structure) for bag in bags]
    pooled = []
    for node in structure.features:
        tables = [table_of(node) for table_of in fitted]
        pooled.append(average_table(tables, common))
        left.hear(tables)
    return Learned(FittedNetwork([*coders.values()], pooled, prior - logsumexp(prior)), left.mean())
