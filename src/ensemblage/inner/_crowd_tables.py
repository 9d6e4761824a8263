"""One table out of many: bootstraps refit bins and tables, and are averaged on one grid."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ensemblage.bayes._cells import Configurations
from ensemblage.bayes._coding import Coder, code_columns, fill_missing, learn_coders
from ensemblage.bayes._columns import MISSING, Column
from ensemblage.bayes._discretizer import bin_of
from ensemblage.bayes._tables import NodeTable, fit_prior, fit_table, look_up, make_table
from ensemblage.parallel import run_tasks

GRID_CELLS = 2**18
"""A node's table on the common grid has at most so many cells; its bins are merged beyond."""


class BagTables(NamedTuple):
    """What one bootstrap learns.

    Attributes
    ----------
    coders : list of Coder
        Its bins.
    n_categories : ndarray of shape (n_nodes,)
        Number of codes of each node on its bins.
    tables : list of dict
        Its ``NodeTable`` of each feature.
    prior : ndarray of shape (n_classes,)
        Its classes' log probabilities.
    """

    coders: list[Coder]
    n_categories: NDArray[np.int64]
    tables: list[NodeTable]
    prior: NDArray[np.float64]


def fit_bag(
    columns: list[Column],
    labels: NDArray[np.int32],
    n_classes: int,
    weights: NDArray[np.float64],
    parents: list[list[int]],
    settings: dict[str, Any],
    seed: int,
) -> BagTables:
    """Refit bins and tables of a given structure to one bootstrap.

    Parameters
    ----------
    columns : list of Column
        The features as they were read.
    labels : ndarray of shape (n_rows,)
        Class codes.
    n_classes : int
        Number of class codes.
    weights : ndarray of shape (n_rows,)
        Weight of each row.
    parents : list of list of int
        The structure.
    settings : dict
        ``discretizer``, ``smoothing``, ``max_cells`` and ``names``.
    seed : int
        For the bootstrap.

    Returns
    -------
    BagTables
        What this bootstrap learned.
    """
    n_rows = len(labels)
    drawn = np.random.default_rng(seed).integers(n_rows, size=n_rows)
    bag = np.bincount(drawn, minlength=n_rows) * weights
    coders = learn_coders(columns, labels, n_classes, bag, settings["discretizer"])
    codes = fill_missing(code_columns(columns, coders), coders)
    codes[0] = labels
    sizes = np.array([n_classes, *(len(coder.labels) for coder in coders)], dtype=np.int64)
    cells = Configurations(codes, sizes, settings["names"], settings["max_cells"])
    tables = [
        fit_table(cells, node, parents[node], bag, settings["smoothing"])
        for node in range(1, len(parents))
    ]
    return BagTables(coders, sizes, tables, fit_prior(labels, n_classes, bag, settings["smoothing"]))


def common_cuts(
    bags: list[BagTables], parents: list[list[int]], n_classes: int, max_cells: int
) -> list[NDArray[np.float64] | None]:
    """Put all bags' cut points on one grid per column, merged where a table would be too large.

    Parameters
    ----------
    bags : list of BagTables
        The crowd.
    parents : list of list of int
        The structure.
    n_classes : int
        Number of classes.
    max_cells : int
        Cap on the cells of a node's table.

    Returns
    -------
    list of ndarray or None
        Cut points of each column; None for a column of categories.
    """
    cuts: list[NDArray[np.float64] | None] = []
    for coders in zip(*(bag.coders for bag in bags), strict=True):
        found = [coder.cuts for coder in coders if coder.cuts is not None]
        cuts.append(np.unique(np.concatenate(found)) if found else None)
    fixed = [int(n) for n in bags[0].n_categories[1:]]
    for node in range(1, len(parents)):
        family = [node, *(p for p in parents[node] if p != 0)]
        while True:
            sizes = {j: fixed[j - 1] if cuts[j - 1] is None else len(cuts[j - 1]) + 1 for j in family}
            cells = n_classes * int(np.prod(list(sizes.values()), dtype=object))
            cuttable = [j for j in family if cuts[j - 1] is not None and sizes[j] > 2]
            if cells <= max_cells or not cuttable:
                break
            widest = max(cuttable, key=lambda j: sizes[j])
            cuts[widest - 1] = cuts[widest - 1][::2]
    return cuts


def _bag_codes(cuts: NDArray[np.float64] | None, coder: Coder) -> NDArray[np.int64]:
    """Find the bag's code of each code on the common grid."""
    if cuts is None or coder.cuts is None:
        return np.arange(len(coder.labels))
    # a bin's right edge belongs to it, so the edge tells which of the bag's bins it lies in
    return np.searchsorted(coder.cuts, np.append(cuts, np.inf), side="left")


def average_table(
    bags: list[BagTables],
    node: int,
    parents: list[int],
    cuts: list[NDArray[np.float64] | None],
    masses: list[NDArray[np.float64]],
) -> NodeTable:
    r"""Pool a node's tables over the bags, on the common grid.

    Parameters
    ----------
    bags : list of BagTables
        The crowd.
    node : int
        The feature.
    parents : list of int
        Its parents.
    cuts : list of ndarray or None
        The common grid.
    masses : list of ndarray
        Weight of the rows in each bin or category of each column, on the common grid.

    Returns
    -------
    dict
        A ``NodeTable`` of all configurations.

    Notes
    -----
    A bag's probability of one of its bins is shared out among the common bins inside by the
    rows in them, whatever their class: :math:`P_b(u) = P_b(v) m_u / m_v`. The pool is
    :math:`\exp \frac1B \sum_b \log P_b`, made to add up to one.
    """
    others = [p for p in parents if p != 0]
    shape = [len(masses[p - 1]) for p in others]
    n_own = len(masses[node - 1])
    axes = np.indices((*shape, n_own + 1), sparse=True)
    total = np.zeros(1)
    for bag in bags:
        maps = [_bag_codes(cuts[p - 1], bag.coders[p - 1]) for p in (*others, node)]
        within = np.bincount(maps[-1], weights=masses[node - 1])[maps[-1]]
        shares = np.append(np.log(masses[node - 1] / within), 0.0)
        maps[-1] = np.append(maps[-1], bag.n_categories[node])
        codes = [m[axis] for m, axis in zip(maps, axes, strict=True)]
        found = look_up(bag.tables[node - 1], bag.n_categories, codes[-1], codes[:-1])
        total = total + found + shares[:, None]
    log_table = total.reshape(-1, n_own + 1, total.shape[-1]) / len(bags)
    log_table -= logsumexp(log_table[:, :-1], axis=1, keepdims=True)
    configurations = np.indices(shape, dtype=np.int32).reshape(len(shape), len(log_table)).T
    steps = [np.arange(n, dtype=np.int32) for n in np.cumprod(shape, dtype=np.int64)]
    return make_table(parents, np.ascontiguousarray(configurations), steps, log_table)


def common_coders(
    columns: list[Column],
    coders: list[Coder],
    cuts: list[NDArray[np.float64] | None],
    weights: NDArray[np.float64],
) -> tuple[list[Coder], list[NDArray[np.float64]]]:
    """Code the columns on the common grid.

    Parameters
    ----------
    columns : list of Column
        The features as they were read.
    coders : list of Coder
        The plain bins, whose mode stands in for a missing value.
    cuts : list of ndarray or None
        The common grid.
    weights : ndarray of shape (n_rows,)
        Weight of each row.

    Returns
    -------
    coders : list of Coder
        On the common grid; the mode is where the middle row of the plain mode lies.
    masses : list of ndarray
        Weight of the rows in each bin or category, a little above zero if there is none.
    """
    common, masses = [], []
    for column, coder, grid in zip(columns, coders, cuts, strict=True):
        new = Coder(coder.cuts, coder.categories, coder.mode)
        if grid is not None:
            inside = np.flatnonzero(coder.code(column) == coder.mode)
            new = Coder(grid, None)
            if len(inside):
                middle = np.median(column.numbers[inside])  # type: ignore[index]
                new.mode = int(bin_of(np.array([middle]), grid)[0])
        codes = new.code(column)
        known = (codes != MISSING) & (codes < len(new.labels))
        mass = np.bincount(codes[known], weights=weights[known], minlength=len(new.labels))
        common.append(new)
        masses.append(mass + 0.5 / len(mass))
    return common, masses


def fit_crowd(
    columns: list[Column],
    coders: list[Coder],
    labels: NDArray[np.int32],
    n_classes: int,
    weights: NDArray[np.float64],
    parents: list[list[int]],
    settings: dict[str, Any],
    seeds: list[int],
    n_jobs: int | None = None,
) -> tuple[list[Coder], list[NodeTable], NDArray[np.float64]]:
    """Refit a structure's bins and tables on bootstraps and pool them into one network.

    Parameters
    ----------
    columns : list of Column
        The features as they were read.
    coders : list of Coder
        The plain bins.
    labels : ndarray of shape (n_rows,)
        Class codes.
    n_classes : int
        Number of class codes.
    weights : ndarray of shape (n_rows,)
        Weight of each row.
    parents : list of list of int
        The structure.
    settings : dict
        ``discretizer``, ``smoothing``, ``max_cells`` and ``names``.
    seeds : list of int
        One per bootstrap.
    n_jobs : int, default=None
        Bootstraps fitted at the same time.

    Returns
    -------
    coders : list of Coder
        The common grid.
    tables : list of dict
        Pooled ``NodeTable`` of each feature.
    prior : ndarray of shape (n_classes,)
        Pooled log probabilities of the classes.
    """
    shared = (columns, labels, n_classes, weights, parents, settings)
    bags = run_tasks(fit_bag, [(*shared, seed) for seed in seeds], n_jobs)
    cap = min(settings["max_cells"], GRID_CELLS)
    cuts = common_cuts(bags, parents, n_classes, cap)
    common, masses = common_coders(columns, coders, cuts, weights)
    tables = [
        average_table(bags, node, parents[node], cuts, masses) for node in range(1, len(parents))
    ]
    prior = np.mean([bag.prior for bag in bags], axis=0)
    return common, tables, prior - logsumexp(prior)
